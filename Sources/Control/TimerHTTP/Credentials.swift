// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import NIOHTTP1

/// The credentials of a request that comes from the web server.
package enum Credentials: Hashable, Sendable {
    case none
    /// The key of a session, from a cookie.
    case session(String)
    /// The token of a program, from the header `Authorization`.
    case token(String)

    /// The header with the key of a session.
    package static let sessionHeader = "Timerd-Session"

    /// The fewest characters of a token: 32 hexadecimal digits have 128 bits.
    package static let tokenLengthMin = 32
    package static let tokenLengthMax = 256

    /// The length of a key in characters: 32 random bytes in base64url.
    package static let keyLength = 43

    /// Whether this has the form of a key; other texts are not looked up.
    package static func isKey(_ text: some StringProtocol) -> Bool {
        text.utf8.count == keyLength
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                    || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            }
    }
}

extension Credentials {
    /// What the web server sends; nothing if it sends several.
    package init(_ headers: HTTPHeaders) {
        let keys = headers[Self.sessionHeader]
        let authorizations = headers["Authorization"]
        switch (keys.count, authorizations.count) {
        case (1, 0) where Self.isKey(keys[0]): self = .session(keys[0])
        case (0, 1): self = Self.bearer(authorizations[0]).map { .token($0) } ?? .none
        default: self = .none
        }
    }

    /// The token in an `Authorization` header (RFC 6750).
    package static func bearer(_ text: String) -> String? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, words[0].lowercased() == "bearer",
            (tokenLengthMin...tokenLengthMax).contains(words[1].utf8.count),
            words[1].utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return nil }
        return String(words[1])
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import TimerHTTP

/// Tokens with which programs, such as Prometheus, read through the web server without a session. systemd passes them
/// as the credential `web-tokens` (systemd.exec(5), LoadCredential=): one on each line; lines that begin with `#` are
/// comments.
package struct ProgramTokens: Sendable {
    /// The name of the credential, in `$CREDENTIALS_DIRECTORY`.
    static let credential = "web-tokens"
    static let countMax = 100
    /// The most bytes of the credential: it may have `countMax` tokens and comments.
    static let bytesMax = 64 << 10

    /// Why a token is not used, without the token itself.
    package struct Fault: Error, CustomStringConvertible {
        package let description: String
    }

    private let tokens: Set<String>

    package init() { tokens = [] }

    /// - Throws: what is wrong with the first line that is wrong. The token itself is not in it.
    init(_ text: String) throws(Fault) {
        var tokens: Set<String> = []
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let token = line.drop { $0 == " " }
            guard !token.isEmpty, token.first != "#" else { continue }
            guard
                (Credentials.tokenLengthMin...Credentials.tokenLengthMax).contains(
                    token.utf8.count),
                token.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
            else {
                throw Fault(
                    description:
                        "line \(number + 1) of the credential \(Self.credential) is not a token: \(Credentials.tokenLengthMin) to "
                        + "\(Credentials.tokenLengthMax) characters without spaces, such as those of `openssl rand -hex 32`"
                )
            }
            tokens.insert(String(token))
        }
        guard tokens.count <= Self.countMax else {
            throw Fault(
                description:
                    "the credential \(Self.credential) has \(tokens.count) tokens; at most \(Self.countMax)"
            )
        }
        self.tokens = tokens
    }

    /// Those that the service manager passed; none if it passed none.
    ///
    /// - Parameter directory: the directory of credentials; nil if the service manager passed none.
    package static func passed(
        in directory: String? = getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) }
    ) throws(Fault) -> ProgramTokens {
        guard let directory else { return ProgramTokens() }
        let path = "\(directory)/\(credential)"
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else {
            guard errno == ENOENT else {
                throw Fault(description: "\(path): cannot be read: \(systemError())")
            }
            return ProgramTokens()
        }
        defer { close(file) }
        guard let bytes = Descriptor.read(file, upTo: bytesMax) else {
            throw Fault(description: "\(path): cannot be read: \(systemError())")
        }
        guard bytes.count <= bytesMax else {
            throw Fault(
                description:
                    "\(path): has more than \(bytesMax >> 10) KiB; remove tokens or comments")
        }
        return try ProgramTokens(String(decoding: bytes, as: UTF8.self))
    }

    /// A program with this token, which may read; nil if there is no such token.
    func peer(of token: String) -> Peer? {
        guard tokens.contains(token) else { return nil }
        var peer = Peer(pid: 0, uid: UInt32.max)
        peer.name = "a program"
        peer.origin = .program
        return peer
    }
}

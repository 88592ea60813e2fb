// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Tokens with which programs, such as Prometheus, read through the web server without a session. systemd passes them
/// as the credential `web-tokens` (systemd.exec(5), LoadCredential=): one on each line; lines that begin with `#` are
/// comments.
struct ProgramTokens: Sendable {
    /// The name of the credential.
    static let credential = "web-tokens"
    /// The fewest characters of a token: 32 hexadecimal digits have 128 bits.
    static let lengthMin = 32
    static let lengthMax = 256
    static let countMax = 100

    /// Why a token is not used.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private let tokens: Set<String>

    init() { tokens = [] }

    /// - Throws: what is wrong with the first line that is wrong. The token itself is not in it.
    init(_ text: String) throws(Fault) {
        var tokens: Set<String> = []
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let token = line.drop { $0 == " " }
            guard !token.isEmpty, token.first != "#" else { continue }
            guard (Self.lengthMin...Self.lengthMax).contains(token.utf8.count),
                token.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
            else {
                throw Fault(
                    description:
                        "line \(number + 1) of the credential \(Self.credential) is not a token: \(Self.lengthMin) to "
                        + "\(Self.lengthMax) characters without spaces, such as those of `openssl rand -hex 32`"
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
    static func passed() throws(Fault) -> ProgramTokens {
        guard let directory = getenv("CREDENTIALS_DIRECTORY") else { return ProgramTokens() }
        let path = "\(String(cString: directory))/\(credential)"
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else {
            guard errno == ENOENT else {
                throw Fault(description: "\(path): cannot be read: \(systemError())")
            }
            return ProgramTokens()
        }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        var count = 0
        while count < bytes.count {
            let more = bytes.withUnsafeMutableBytes {
                read(file, $0.baseAddress! + count, $0.count - count)
            }
            guard more > 0 || more < 0 && errno == EINTR else { break }
            count += max(0, more)
        }
        return try ProgramTokens(String(decoding: bytes.prefix(count), as: UTF8.self))
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

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerRunnerProtocol

/// The address of a webhook or a ping. It usually contains a secret, so it is never printed.
struct MessageAddress {
    /// The most bytes of an address; a longer one is refused.
    static let bytesMax = 4096

    /// What is wrong with an address, as the end of a sentence. It contains nothing of the address.
    struct Fault: Error, Hashable {
        let description: String
    }

    /// `https` or `http`.
    let scheme: String
    /// The user information, the host and the port.
    let authority: Substring
    let path: Substring
    /// The parameters of the query.
    let parameters: [Substring]

    /// Parses an address.
    ///
    /// Only the characters of RFC 3986 are accepted, so that nothing in it can end its line in the
    /// configuration of curl(1). Without TLS, only this machine can be addressed.
    init(_ text: String) throws(Fault) {
        guard text.utf8.count <= Self.bytesMax else {
            throw Fault(description: "has more than \(Self.bytesMax) bytes")
        }
        guard text.utf8.allSatisfy(Self.isAllowed) else {
            throw Fault(description: "has a character that a URL cannot have")
        }
        guard !text.contains("#") else { throw Fault(description: "has a fragment (#…)") }
        let lower = text.lowercased()
        guard let scheme = ["https", "http"].first(where: { lower.hasPrefix("\($0)://") }) else {
            throw Fault(description: "does not begin with https://")
        }
        let rest = text.dropFirst(scheme.count + 3)
        let end = rest.firstIndex { "/?".contains($0) } ?? rest.endIndex
        let question = rest[end...].firstIndex(of: "?") ?? rest.endIndex
        self.scheme = scheme
        authority = rest[..<end]
        path = rest[end..<question]
        parameters = rest[question...].dropFirst().split(separator: "&")
        let host = try Self.host(of: authority).lowercased()
        guard scheme == "https" || Self.isLoopback(host) else {
            throw Fault(
                description: "is not encrypted: http:// can be used only for this machine")
        }
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7f && !"\"\\<>^`{|}".utf8.contains(byte)
    }

    private static func host(of authority: Substring) throws(Fault) -> Substring {
        var host = authority
        if let at = host.lastIndex(of: "@") { host = host[host.index(after: at)...] }
        if let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") {
            let port = host[colon...].dropFirst()
            guard (1...5).contains(port.utf8.count), let number = Int(port),
                (1...65_535).contains(number), port.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 })
            else { throw Fault(description: "has an invalid port") }
            host = host[..<colon]
        }
        let isNumeric = host.hasPrefix("[") && host.hasSuffix("]") && host.utf8.count > 4
        let letters = isNumeric ? host.dropFirst().dropLast() : host
        let isValid = letters.utf8.allSatisfy { byte in
            switch byte {
            case 48...57, 65...90, 97...122: true
            case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
            default: isNumeric && byte == UInt8(ascii: ":")
            }
        }
        guard !letters.isEmpty, isValid else { throw Fault(description: "has no valid host") }
        return host
    }

    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { part in
                part.utf8.allSatisfy { $0 >= 48 && $0 <= 57 } && UInt8(part) != nil
            }
    }

    /// The address, extended by the path and the query of a request, which must have been checked. A parameter of
    /// the address counts before one of the request with the same name, except for those that the service shows as
    /// an example.
    func url(for request: MessageRequest.Request, to service: MessageService) -> String {
        var path = path
        // The path of the request begins with a slash.
        if !request.path.isEmpty, path.hasSuffix("/") { path = path.dropLast() }
        let kept = parameters.filter { !service.examples.contains(Self.name(of: $0)) }
        let names = Set(kept.map { Self.name(of: $0) })
        let added = request.query.split(separator: "&").filter {
            !names.contains(Self.name(of: $0))
        }
        let query = (kept + added).joined(separator: "&")
        return "\(scheme)://\(authority)\(path)\(request.path)\(query.isEmpty ? "" : "?")\(query)"
    }

    private static func name(of parameter: Substring) -> String {
        decoded(parameter.prefix { $0 != "=" })
    }

    /// The parts of the address that are removed from what the receiver answers: everything except
    /// the host may be secret.
    var secrets: [String] {
        var parts: [Substring] = path.split(separator: "/") + [path]
        parts += parameters.map { $0.drop { $0 != "=" }.dropFirst() } + parameters
        if let at = authority.lastIndex(of: "@") {
            parts.append(authority[..<at])
            parts += authority[..<at].split(separator: ":")
        }
        let all = parts.map { String($0) } + parts.map { Self.decoded($0) } + basicCredentials
        return Set(all).filter { $0.utf8.count >= Redaction.lengthMin }.sorted {
            ($1.utf8.count, $0) < ($0.utf8.count, $1)
        }
    }

    /// The user information as it is in the header field `Authorization` of a request (RFC 7617), which a receiver may
    /// repeat: in base64 (RFC 4648), also with the characters for addresses, and without padding.
    private var basicCredentials: [String] {
        guard let at = authority.lastIndex(of: "@") else { return [] }
        // The first colon ends the name of the user; each part is decoded on its own.
        let parts = authority[..<at].split(
            separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let user = parts.first.map { Self.decoded($0) } ?? ""
        let password = parts.count > 1 ? Self.decoded(parts[1]) : ""
        let bytes = Array("\(user):\(password)".utf8)
        let codes = [Self.base64(bytes, "+/"), Self.base64(bytes, "-_")]
        return codes
            + codes.map { "\($0)\(String(repeating: "=", count: (4 - $0.utf8.count % 4) % 4))" }
    }

    /// The bytes in base64 without padding, with these characters for 62 and 63.
    private static func base64(_ bytes: [UInt8], _ last: String) -> String {
        let digits = Array(
            ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + last).utf8)
        var code: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var value = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            value <<= UInt32(8 * (3 - group.count))
            for place in 0...group.count {
                code.append(digits[Int(value >> UInt32(18 - 6 * place) & 63)])
            }
        }
        return String(decoding: code, as: UTF8.self)
    }

    /// The text without percent-encoding, as a program may print it.
    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Removes secrets from the output of a program.
struct Redaction {
    /// Shorter texts are no secrets, and would be found in almost any output.
    static let lengthMin = 4
    /// What is printed in place of a secret.
    static let replacement = Array("[removed]".utf8)

    /// The texts, the longest first, in lower-case letters.
    private let texts: [[UInt8]]

    init(_ texts: [String] = []) {
        self.texts = texts.map { $0.utf8.map(Self.lowercased) }.filter { !$0.isEmpty }
            .sorted { $0.count > $1.count }
    }

    /// The output without the secrets. Letter case is ignored.
    ///
    /// - Parameter isCut: whether the beginning of the output is missing, so that it may begin
    ///   within a secret.
    /// - Complexity: O(*n* · *m*) in the number of bytes and the length of all secrets.
    func apply(to output: [UInt8], isCut: Bool) -> [UInt8] {
        guard let longest = texts.first?.count else { return output }
        let output = isCut ? Array(output.dropFirst(longest)) : output
        // The mark is not redacted, even if one of its words is a part of the address: the scheduler
        // finds the HTTP status by it.
        guard let mark = Self.mark(in: output) else { return clean(output) }
        return clean(Array(output[..<mark.lowerBound])) + output[mark]
            + clean(Array(output[mark.upperBound...]))
    }

    /// The last `statusMark` at the beginning of a line; nil if there is none.
    private static func mark(in output: [UInt8]) -> Range<Int>? {
        let mark = Array(MessageResult.statusMark.utf8)
        var start = output.count - mark.count
        while start >= 0 {
            let isAtLine = start == 0 || output[start - 1] == UInt8(ascii: "\n")
            if isAtLine, output[start..<start + mark.count].elementsEqual(mark) {
                return start..<start + mark.count
            }
            start -= 1
        }
        return nil
    }

    private func clean(_ output: [UInt8]) -> [UInt8] {
        var clean: [UInt8] = []
        clean.reserveCapacity(output.count)
        var index = 0
        while index < output.count {
            if let found = texts.first(where: { Self.matches($0, output, at: index) }) {
                clean += Self.replacement
                index += found.count
            } else {
                clean.append(output[index])
                index += 1
            }
        }
        return clean
    }

    private static func matches(_ text: [UInt8], _ output: [UInt8], at start: Int) -> Bool {
        guard output.count - start >= text.count else { return false }
        for offset in text.indices where lowercased(output[start + offset]) != text[offset] {
            return false
        }
        return true
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (65...90).contains(byte) ? byte | 0x20 : byte
    }
}

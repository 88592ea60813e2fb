// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// How the values of keys about notifications are read.
extension TomlNode {
    private static let addressesMax = 100
    private static let notifiersMax = 20

    /// One address of a mail, or an array of them.
    func mailAddresses() throws(Fault) -> [String] {
        guard case .array(let nodes) = value else { return [try mailAddress()] }
        guard !nodes.isEmpty else { throw Fault(mark, "must have at least one address") }
        guard nodes.count <= Self.addressesMax else {
            throw Fault(mark, "has \(nodes.count) addresses; at most \(Self.addressesMax)")
        }
        return try nodes.readEach { (node) throws(Fault) in try node.mailAddress() }
    }

    /// An address as sendmail takes it. It becomes a part of a header, so it has nothing that could
    /// end it or add another address.
    func mailAddress() throws(Fault) -> String {
        let text = try string()
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw Fault(
                mark,
                "is not ASCII; use an address that is, with xn--… for such a domain")
        }
        let isPlain = text.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7f && !",;:<>()[]\\\"".utf8.contains($0)
        }
        let at = text.utf8.count { $0 == UInt8(ascii: "@") }
        guard isPlain, (1...254).contains(text.utf8.count), at <= 1, !text.hasPrefix("-"),
            !text.hasPrefix("@"), !text.hasSuffix("@")
        else {
            throw Fault(
                mark, "is not an address such as \"root\" or \"ops@example.org\"")
        }
        return text
    }

    func programPath() throws(Fault) -> String {
        let text = try string()
        guard text.hasPrefix("/"), (2...4095).contains(text.utf8.count), !text.utf8.contains(0)
        else { throw Fault(mark, "is not an absolute path, beginning with /") }
        return text
    }

    func contentType() throws(Fault) -> String {
        let text = try string()
        guard (3...200).contains(text.utf8.count), text.utf8.contains(UInt8(ascii: "/")),
            text.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
        else {
            throw Fault(
                mark, "is not a media type such as \"text/plain; charset=UTF-8\"")
        }
        return text
    }

    /// The most bytes of a URL in the configuration.
    private static let urlBytesMax = 2000

    /// A URL of https, or of http to this machine. Elsewhere http would show its secret to the
    /// network.
    func url() throws(Fault) -> String {
        let text = try string()
        guard text.utf8.count <= Self.urlBytesMax else {
            throw Fault(mark, "is too long; at most \(Self.urlBytesMax) bytes")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && !"\"\\<>^`{|}".utf8.contains($0) }),
            let host = Self.host(of: text)
        else {
            throw Fault(
                mark,
                "is not a URL such as \"https://example.org/hook\", with its special characters encoded"
            )
        }
        let isLocal =
            host == "localhost" || host == "[::1]"
            || (host.hasPrefix("127.") && host.split(separator: ".").count == 4
                && host.utf8.allSatisfy { ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2e })
        guard text.lowercased().hasPrefix("https://") || isLocal else {
            throw Fault(mark, "http:// is only for this machine (localhost); use https://")
        }
        return text
    }

    /// The address of a proxy. Many can read the configuration, so it has no password.
    func proxy() throws(Fault) -> String {
        let text = try string()
        let schemes = ["http://", "https://", "socks5://", "socks5h://"]
        let lower = text.lowercased()
        let isPlace = { (byte: UInt8) in
            switch byte {
            case 48...57, 65...90, 97...122: true
            default: ".:-_[]".utf8.contains(byte)
            }
        }
        guard let scheme = schemes.first(where: { lower.hasPrefix($0) }),
            text.utf8.count <= Self.urlBytesMax
        else {
            throw Fault(mark, "is not an address such as \"http://proxy.example.org:3128\"")
        }
        var place = text.dropFirst(scheme.count)
        guard !place.contains("@") else {
            throw Fault(mark, "must have no user and no password: many can read the configuration")
        }
        if place.hasSuffix("/") { place.removeLast() }
        guard !place.isEmpty, place.utf8.allSatisfy(isPlace) else {
            throw Fault(mark, "is not an address such as \"http://proxy.example.org:3128\"")
        }
        return text
    }

    /// The host of a URL of http or https, in small letters, without the port; nil if it has none.
    private static func host(of url: String) -> String? {
        let lower = url.lowercased()
        guard let scheme = ["https://", "http://"].first(where: { lower.hasPrefix($0) }) else {
            return nil
        }
        let authority = lower.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
        let place =
            authority.split(
                separator: "@", omittingEmptySubsequences: false
            ).last ?? authority
        let host =
            place.hasPrefix("[")
            ? place.prefix { $0 != "]" } + "]" : place.prefix { $0 != ":" }
        return host.isEmpty || host == "[]" ? nil : String(host)
    }

    func notificationKinds() throws(Fault) -> Set<NotificationKind> {
        guard case .array(let nodes) = value else {
            throw Fault(
                mark, "must be an array such as [\"failure\", \"recovery\"], not \(value.kind)")
        }
        guard !nodes.isEmpty else { throw Fault(mark, "must have at least one word") }
        return Set(
            try nodes.readEach { (node) throws(Fault) in
                try node.choice(of: NotificationKind.configurable.map { ($0.rawValue, $0) })
            })
    }

    /// The names of notifiers; an error if one is there twice.
    func notifierNames() throws(Fault) -> [Notifier.Name] {
        guard case .array(let nodes) = value else {
            throw Fault(mark, "must be an array such as [\"ops\"], not \(value.kind)")
        }
        guard nodes.count <= Self.notifiersMax else {
            throw Fault(mark, "has \(nodes.count) names; at most \(Self.notifiersMax)")
        }
        var names: [Notifier.Name] = []
        _ = try nodes.readEach { (node) throws(Fault) in
            let name = try Notifier.Name.read(try node.string(), at: node.mark)
            guard !names.contains(name) else {
                throw Fault(node.mark, "\"\(name)\" is there twice")
            }
            names.append(name)
        }
        return names
    }
}

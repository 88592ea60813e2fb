// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension CrontabReading {
    /// The notifier that mails the output of a run, as cron does; nil if there is no recipient.
    ///
    /// - Parameter entry: the line, which may name its user; nil: that of the owner.
    func notifier(
        for entry: CrontabEntry?, on kinds: [String] = ["output"]
    ) -> [TomlEntry]? {
        let user = (hasUser ? entry?.user : nil) ?? source.owner
        return notifier(to: special["MAILTO"] ?? user, on: kinds)
    }

    /// The notifier that mails the output of a run to these addresses; nil if there are none.
    func notifier(to recipients: String, on kinds: [String] = ["output"]) -> [TomlEntry]? {
        let recipients = Self.addresses(recipients)
        let addresses = recipients.filter(Self.isAddress).prefix(Self.addressesMax)
        guard !addresses.isEmpty else { return nil }
        var keys = [
            TomlEntry(
                "mail", addresses.count == 1 ? .string(addresses[0]) : .strings(Array(addresses))),
            TomlEntry("on", .strings(kinds)),
            // Cron sends a mail for each run with output.
            TomlEntry("per-hour", .integer(10_000)),
        ]
        if let from = special["MAILFROM"], !from.isEmpty, Self.isAddress(from) {
            keys.append(TomlEntry("mail-from", .string(from)))
        }
        if let type = special["CONTENT_TYPE"], Self.isContentType(type) {
            keys.append(TomlEntry("mail-content-type", .string(type)))
        }
        return keys
    }

    /// How many addresses a notifier can have.
    static let addressesMax = 100

    static func addresses(_ text: String) -> [String] {
        text.split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
    }

    /// Whether timerd takes this for a mail address.
    static func isAddress(_ text: String) -> Bool {
        let isWord = text.utf8.allSatisfy { byte in
            (48...57).contains(byte) || (97...122).contains(byte | 0x20)
                || "._@+-=%".utf8.contains(byte)
        }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        return isWord && text.utf8.first != UInt8(ascii: "-") && text.utf8.count <= 254
            && parts.count <= 2 && parts.allSatisfy { !$0.isEmpty }
    }

    private static func isContentType(_ text: String) -> Bool {
        text.contains("/") && text.utf8.allSatisfy { (0x20...0x7e).contains($0) }
            && text.utf8.count <= 200
    }
}

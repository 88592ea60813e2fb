// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What cron does with a file of /etc/cron.d because of its name (cron(8)).
public enum CronFileName: Hashable, Sendable {
    case read
    /// It does not, as everyone expects: a placeholder, a hidden file, or a copy that an editor or
    /// the package manager made.
    case copy
    /// It does not, although the file can be a crontab, such as `backup.sh`.
    case ignored

    public init(_ name: String, _ flavour: CronFlavour) {
        let isCopy =
            name.hasPrefix(".") || name.hasPrefix("#") || name.hasSuffix("~")
            || name.contains(".dpkg-") || name.contains(".ucf-")
            || Self.copies.contains { name.hasSuffix($0) }
        switch flavour {
        case .debian: self = Self.isPlain(name) ? .read : isCopy ? .copy : .ignored
        case .cronie:
            let isSkipped =
                name.hasPrefix(".") || name.hasPrefix("#") || name.hasSuffix("~")
                || [".rpmsave", ".rpmorig", ".rpmnew"].contains { name.hasSuffix($0) }
            self = isSkipped ? .copy : .read
        case .systemdCron:
            let isSkipped = name.hasPrefix(".") || name.contains("~") || name.contains(".dpkg-")
            self = isSkipped ? .copy : .read
        }
    }

    /// How people and package managers name files that are switched off.
    private static let copies = [
        ".rpmsave", ".rpmorig", ".rpmnew", ".bak", ".old", ".orig", ".save", ".swp", ".disabled",
        ".off",
    ]

    /// Whether run-parts(8) runs, and Debian's cron reads, a file of this name.
    public static func isPlain(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                (48...57).contains(byte) || (97...122).contains(byte | 0x20) || byte == 95
                    || byte == 45
            }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostFiles

/// A file system that the machine mounts, other than the root, from fstab(5) or a unit of type `mount`.
public struct ImportedMount: Hashable, Sendable {
    /// Where it is mounted, absolute.
    public var path: String
    /// Whether it is mounted at the boot, or when it is accessed.
    public var isAutomatic: Bool

    public init(_ path: String, isAutomatic: Bool) {
        (self.path, self.isAutomatic) = (path, isAutomatic)
    }

    /// The mount of a unit; nil if it is none, or the root.
    public init?(_ unit: UnitName, isAutomatic: Bool) {
        guard unit.type == "mount", unit.description != "-.mount" else { return nil }
        self.init("/" + UnitName.unescaped(unit.stem), isAutomatic: isAutomatic)
    }

    /// Whether a path is on it, or at least below it.
    func holds(_ other: String) -> Bool { other == path || other.hasPrefix("\(path)/") }

    /// The mounts of an fstab(5), without swap spaces and the root.
    /// - Complexity: O(*n*).
    public static func list(fstab: String) -> [ImportedMount] {
        fstab.split(whereSeparator: \.isNewline).compactMap { line in
            let fields = line.split { $0 == " " || $0 == "\t" }
            guard fields.count >= 3, !fields[0].hasPrefix("#"), fields[2] != "swap" else {
                return nil
            }
            var path = fields[1].withoutOctalEscapes
            while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
            guard path.hasPrefix("/"), path != "/" else { return nil }
            let options = fields.count > 3 ? fields[3].split(separator: ",") : []
            return ImportedMount(
                path,
                isAutomatic: !options.contains("noauto") || options.contains("x-systemd.automount"))
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import TimerImport

/// Finds the files of units as systemd.unit(5) says, below a root directory.
struct UnitSearch {
    /// The directories of the system manager; the first one that has a file counts.
    static let directories = [
        "/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system",
        "/usr/lib/systemd/system", "/lib/systemd/system",
    ]
    /// The most bytes of a unit file.
    private static let bytesMax = 1 << 20
    /// The most links that lead from a name to a file, as in the kernel.
    private static let linksMax = 40

    /// The root directory in which units are searched, such as `/mnt`; empty for this system.
    let root: String
    /// Directories of files that were named by their paths, which come first.
    var first: [String] = []
    /// The paths of files that were named by their paths, by the names of their units.
    var named: [UnitName: String] = [:]

    init(root: String?) {
        var root = root ?? ""
        while root.utf8.last == UInt8(ascii: "/") { root.removeLast() }
        self.root = root
    }

    private var search: [String] { first + Self.directories.map { root + $0 } }

    /// The directories that are searched, for a message.
    private var searched: String { search.joined(separator: ", ") }

    /// The files of a unit: its own or those of its template, and its drop-ins.
    func load(_ name: UnitName) -> SystemdImport.Loaded {
        let path = named[name] ?? [name, name.template].lazy.compactMap { $0.flatMap(find) }.first
        guard let path else { return .missing(searched: searched) }
        var files: [UnitFile] = []
        switch read(path) {
        case .masked: return .masked(path: path)
        case .fault(let reason): return .unreadable(path: path, reason: reason)
        case .bytes(let bytes): files.append(UnitFile(path: path, bytes: bytes))
        }
        for path in dropIns(of: name) {
            switch read(path) {
            case .masked: continue
            case .fault(let reason): return .unreadable(path: path, reason: reason)
            case .bytes(let bytes): files.append(UnitFile(path: path, bytes: bytes))
            }
        }
        return .files(files, isEnabled: named[name] == nil ? isEnabled(name) : nil)
    }

    /// All timers, by their names: templates only as the instances that are enabled.
    func timers() -> [UnitName] {
        let files = search.flatMap { directory in
            Self.entries(directory).compactMap { entry -> UnitName? in
                guard let name = UnitName(entry), name.type == "timer", !name.isTemplate,
                    !isAlias("\(directory)/\(entry)", name)
                else { return nil }
                return name
            }
        }
        let instances = links().compactMap { path in
            UnitName(Self.lastPart(path)).flatMap { name in
                name.type == "timer" && name.template.flatMap(find) != nil ? name : nil
            }
        }
        return Set(files + instances).sorted { $0.description < $1.description }
    }

    /// The units of type `mount`, other than those that systemd makes of fstab(5).
    func mounts() -> [ImportedMount] {
        let names = search.flatMap { directory in Self.entries(directory).compactMap(UnitName.init)
        }
        let enabled = Set(links().map(Self.lastPart))
        return Set(names).sorted { $0.description < $1.description }.compactMap { name in
            ImportedMount(
                name,
                isAutomatic: [name, name.withType("automount")].contains { unit in
                    unit.map { enabled.contains($0.description) } == true
                })
        }
    }

    // MARK: - Names

    private func find(_ name: UnitName) -> String? {
        search.lazy.map { "\($0)/\(name)" }.first { path in
            var status = stat()
            return lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
        }
    }

    /// Whether the file is a link that gives another unit a second name.
    private func isAlias(_ path: String, _ name: UnitName) -> Bool {
        guard let target = Self.link(at: path), let other = UnitName(Self.lastPart(target)) else {
            return false
        }
        return other != name && other.type == name.type
    }

    /// The drop-ins of a unit by the order in which they apply: by their names, and of those with the
    /// same name the one in the most specific directory.
    private func dropIns(of name: UnitName) -> [String] {
        var paths: [String: String] = [:]
        for directory in name.dropInDirectories {
            for parent in search {
                for entry in Self.entries("\(parent)/\(directory)") where entry.hasSuffix(".conf") {
                    if paths[entry] == nil { paths[entry] = "\(parent)/\(directory)/\(entry)" }
                }
            }
        }
        return paths.sorted { Array($0.key.utf8).lexicographicallyPrecedes(Array($1.key.utf8)) }
            .map(\.value)
    }

    /// The links in directories such as timers.target.wants, which enable units.
    private func links() -> [String] {
        search.flatMap { directory in
            Self.entries(directory).filter { $0.hasSuffix(".wants") || $0.hasSuffix(".requires") }
                .flatMap { wants in
                    Self.entries("\(directory)/\(wants)").map { "\(directory)/\(wants)/\($0)" }
                }
        }
    }

    private func isEnabled(_ name: UnitName) -> Bool {
        links().contains { Self.lastPart($0) == name.description }
    }

    private static func lastPart(_ path: String) -> String {
        path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    }

    /// The names in a directory, sorted; none if it cannot be read.
    private static func entries(_ directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
                    String(validatingCString: $0)
                }
            }
            if let name, !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
    }

    // MARK: - Files

    private enum Content {
        case bytes([UInt8])
        case masked
        case fault(String)
    }

    /// The target of a link; nil if it is none.
    private static func link(at path: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { readlink(path, $0.baseAddress!, $0.count) }
        }
        guard count > 0 else { return nil }
        return String(validating: buffer[..<count], as: UTF8.self)
    }

    /// Follows links, of which absolute ones lead into the root directory, and reads the file.
    private func read(_ path: String) -> Content {
        var path = path
        for _ in 0..<Self.linksMax {
            guard let target = Self.link(at: path) else { return contents(of: path) }
            if target == "/dev/null" { return .masked }
            let parent = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
            path = target.hasPrefix("/") ? root + target : parent + target
        }
        return .fault("too many links")
    }

    private func contents(of path: String) -> Content {
        // Without O_NONBLOCK, opening a FIFO would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return .fault(String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return .fault("not a regular file")
        }
        guard let bytes = Descriptor.read(descriptor, upTo: Self.bytesMax) else {
            return .fault(String(cString: strerror(errno)))
        }
        guard bytes.count <= Self.bytesMax else {
            return .fault("is larger than \(Self.bytesMax >> 20) MiB; is it the right file?")
        }
        return UnitFile.isMask(bytes) ? .masked : .bytes(bytes)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The directories in which a change can be a change of the configuration: the directories of its
/// files, those of links that lead to them, and all directories above, because they can be moved
/// away.
///
/// They are only watched. `ConfigFiles` decides what is read and whether it is safe, so paths are
/// enough here.
struct ConfigPlaces {
    /// The changes of one directory that can change the configuration.
    struct Place: Equatable {
        var mask = ConfigPlaces.moved
        /// The names of files, links and directories.
        var names: Set<String> = []
        /// Whether each file counts that timerd reads from `jobs.d`.
        var isJobs = false
        /// Whether any change in it counts, and not only its own move or deletion.
        var isNeeded: Bool { isJobs || !names.isEmpty }
    }

    /// The directory itself is moved away or deleted.
    static let moved = flags(IN_MOVE_SELF, IN_DELETE_SELF)
    /// A name in it leads to something else.
    static let renamed = flags(IN_CREATE, IN_MOVED_TO, IN_MOVED_FROM, IN_DELETE)
    /// A file in it has another content or other permissions.
    static let written = flags(IN_CLOSE_WRITE, IN_MODIFY, IN_ATTRIB) | renamed
    /// The most links of one path, as in Linux itself (path_resolution(7)).
    private static let linksMax = 40
    /// The most links in `jobs.d` that are followed: as many files as are read from it.
    private static let filesMax = 1000

    private static func flags(_ flags: Int32...) -> UInt32 {
        flags.reduce(0) { $0 | UInt32(bitPattern: $1) }
    }

    /// The directories by their paths, which contain no links.
    private(set) var places: [String: Place] = [:]

    /// Looks where the files are now.
    ///
    /// - Parameters:
    ///   - main: the path of the main file.
    ///   - others: the paths of the files of dates.
    /// - Complexity: O(*n*) in the number of files.
    init(of main: String, and others: [String] = []) {
        let slash = main.lastIndex(of: "/")
        let folder = slash.map { String(main[...$0]) } ?? ""
        follow(main)
        for other in others { follow(other) }
        guard let jobs = follow("\(folder)jobs.d"), let listing = opendir(jobs) else { return }
        defer { closedir(listing) }
        places[jobs, default: Place()].isJobs = true
        places[jobs]?.mask |= Self.written
        var links = 0
        while let entry = readdir(listing), links < Self.filesMax {
            guard entry.pointee.d_type == UInt8(DT_LNK) else { continue }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard Self.isJobsFile(name) else { continue }
            links += 1
            follow("\(jobs)/\(name)")
        }
    }

    /// Whether timerd reads a file of this name in `jobs.d`. It ignores what editors and package
    /// managers write beside their files, such as `a.toml~`, `.a.toml.swp` and `a.toml.dpkg-new`.
    static func isJobsFile(_ name: String) -> Bool {
        name.hasSuffix(".toml") && !name.hasPrefix(".")
    }

    /// Adds all directories on the way of a path.
    ///
    /// - Returns: the directory that it leads to; nil if it does not lead to one.
    @discardableResult
    private mutating func follow(_ path: String) -> String? {
        var directory = "/"
        var parts = Self.parts(path.hasPrefix("/") ? path : "\(Self.workingDirectory)/\(path)")
        var links = 0
        add("/")
        while let part = parts.popLast() {
            if part == ".." {
                directory = Self.parent(of: directory)
                continue
            }
            let entry = directory == "/" ? "/\(part)" : "\(directory)/\(part)"
            var status = stat()
            guard lstat(entry, &status) == 0 else {
                add(directory, part, parts.isEmpty ? Self.written : Self.renamed)
                return nil
            }
            switch status.st_mode & S_IFMT {
            case S_IFLNK:
                add(directory, part, Self.renamed)
                links += 1
                guard links <= Self.linksMax, let target = Self.target(of: entry) else {
                    return nil
                }
                if target.hasPrefix("/") { directory = "/" }
                parts += Self.parts(target)
            case S_IFDIR:
                // The last directory, `jobs.d`, may be deleted and created again.
                if parts.isEmpty { add(directory, part, Self.renamed) }
                directory = entry
                add(entry)
            default:
                add(directory, part, Self.written)
                return nil
            }
        }
        return directory
    }

    private mutating func add(_ directory: String, _ name: String? = nil, _ mask: UInt32 = 0) {
        var place = places[directory] ?? Place()
        place.mask |= mask
        if let name { place.names.insert(name) }
        places[directory] = place
    }

    /// The parts of a path, the first one last.
    private static func parts(_ path: String) -> [String] {
        path.split(separator: "/").reversed().map(String.init).filter { $0 != "." }
    }

    private static func parent(of directory: String) -> String {
        guard let slash = directory.lastIndex(of: "/"), slash > directory.startIndex else {
            return "/"
        }
        return String(directory[..<slash])
    }

    private static func target(of link: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let length = bytes.withUnsafeMutableBytes { buffer in
            buffer.withMemoryRebound(to: CChar.self) {
                readlink(link, $0.baseAddress!, $0.count)
            }
        }
        guard length > 0, length < bytes.count else { return nil }
        return String(decoding: bytes[..<length], as: UTF8.self)
    }

    private static var workingDirectory: String {
        guard let path = getcwd(nil, 0) else { return "" }
        defer { free(path) }
        return String(cString: path)
    }
}

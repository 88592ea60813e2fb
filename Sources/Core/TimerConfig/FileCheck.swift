// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Whose rights count when a file is looked at.
struct FileRights: Hashable, Sendable {
    var uid: uid_t
    var groups: Set<gid_t>

    /// The rights of this process.
    static var own: FileRights {
        var groups = [gid_t](repeating: 0, count: 65_536)
        let count = getgroups(Int32(groups.count), &groups)
        return FileRights(
            uid: geteuid(), groups: Set(groups.prefix(Int(max(0, count)))).union([getegid()]))
    }

    /// Whether a file or directory may be executed or entered, by its mode; nil if that does not decide it.
    func mayExecute(_ status: stat, _ path: String) -> Bool? {
        let mode = status.st_mode
        let isDirectory = mode & S_IFMT == S_IFDIR
        if uid == 0 { return isDirectory || mode & 0o111 != 0 }
        return has(0o1, status, path)
    }

    /// Whether a file may be read, by its mode; nil if that does not decide it.
    func mayRead(_ status: stat, _ path: String) -> Bool? {
        uid == 0 ? true : has(0o4, status, path)
    }

    /// Whether the mode has a bit for this user.
    private func has(_ bit: mode_t, _ status: stat, _ path: String) -> Bool? {
        if uid == status.st_uid { return status.st_mode & (bit << 6) != 0 }
        // An access control list says more than the mode.
        guard clinux_has_access_list(path) == 0 else { return nil }
        return status.st_mode & (groups.contains(status.st_gid) ? bit << 3 : bit) != 0
    }
}

/// What there is to say of a program, a file or a directory that a job needs.
enum FileCheck: Hashable, Sendable {
    case good
    /// It is not there: a sentence.
    case missing(String)
    /// It is something else than it should be.
    case bad(String)
    /// The job's user has no right to it. In the sentence `%` stands for the user.
    case closed(String)
    /// It cannot be looked at, for this reason.
    case unknown(String)

    /// Looks at a program by its absolute path.
    ///
    /// - Parameters:
    ///   - rights: those of the job's user; nil: not known.
    ///   - hidden: directories in which nothing is looked at.
    init(program path: String, with rights: FileRights?, hidden: [String]) {
        self.init(path, rights, hidden) { status in
            guard status.st_mode & S_IFMT == S_IFREG else {
                return .bad("\"\(path)\" is not a program")
            }
            guard status.st_mode & 0o111 != 0 else {
                return .bad("\"\(path)\" is not executable; chmod +x it")
            }
            return rights?.mayExecute(status, path) == false
                ? .closed("% may not execute \"\(path)\"; change its mode, owner or group") : .good
        } missing: {
            "there is no program \"\(path)\""
        }
    }

    /// Looks at a file that the runner reads for a run, by its absolute path. The runner refuses
    /// one that could be changed by others, or by a second name.
    init(file path: String, with rights: FileRights?, hidden: [String]) {
        self.init(path, rights, hidden) { status in
            guard status.st_mode & S_IFMT == S_IFREG else {
                return .bad("\"\(path)\" is not a regular file")
            }
            guard status.st_mode & 0o022 == 0 else {
                return .bad("others may write to \"\(path)\"; chmod go-w it")
            }
            guard status.st_nlink == 1 else {
                return .bad("\"\(path)\" has \(status.st_nlink) names (hard links); copy it")
            }
            if let link = Self.link(onWayTo: path) {
                return .bad("\(link) is a symbolic link, and none may be in \"\(path)\"")
            }
            return rights?.mayRead(status, path) == false
                ? .closed("% may not read \"\(path)\"; change its mode, owner or group") : .good
        } missing: {
            "there is no file \"\(path)\""
        }
    }

    /// The first part of a path that is a symbolic link.
    private static func link(onWayTo path: String) -> String? {
        var end = path.startIndex
        while end < path.endIndex {
            end = path[path.index(after: end)...].firstIndex(of: "/") ?? path.endIndex
            let part = String(path[..<end])
            var status = stat()
            if lstat(part, &status) == 0, status.st_mode & S_IFMT == S_IFLNK { return part }
        }
        return nil
    }

    /// Looks at a directory by its absolute path.
    init(directory path: String, with rights: FileRights?, hidden: [String]) {
        self.init(path, rights, hidden) { status in
            guard status.st_mode & S_IFMT == S_IFDIR else {
                return .bad("\"\(path)\" is not a directory")
            }
            return rights?.mayExecute(status, path) == false
                ? .closed("% may not enter \"\(path)\"; change its mode, owner or group") : .good
        } missing: {
            "\"\(path)\" is not there"
        }
    }

    private init(
        _ path: String, _ rights: FileRights?, _ hidden: [String],
        _ judge: (stat) -> FileCheck, missing: () -> String
    ) {
        guard !hidden.contains(where: { path.hasPrefix($0 + "/") || path == $0 }) else {
            self = .good
            return
        }
        var status = stat()
        guard stat(path, &status) == 0 else {
            let code = errno
            if code == ENOENT || code == ENOTDIR {
                self = .missing(missing())
            } else {
                self = .unknown(
                    "\"\(path)\" cannot be examined: \(String(cString: strerror(code)))"
                        + (geteuid() == 0 ? "" : "; check it as root, or as the user of the job"))
            }
            return
        }
        if let rights, let closed = Self.closedDirectory(onWayTo: path, with: rights) {
            self = .closed(
                "% may not enter \(closed), and so cannot reach \"\(path)\"; change the mode, owner or group of \(closed)"
            )
        } else {
            self = judge(status)
        }
    }

    /// The first directory above what a path leads to that is closed to a user. Links are followed: they have no rights
    /// of their own, but the directories that they are in have.
    private static func closedDirectory(onWayTo path: String, with rights: FileRights) -> String? {
        guard rights.uid != 0 else { return nil }
        var ways = [path]
        if let resolved = realpath(path, nil) {
            defer { free(resolved) }
            ways.append(String(cString: resolved))
        }
        for way in ways {
            var end = way.startIndex
            while let slash = way[end...].dropFirst().firstIndex(of: "/") {
                end = slash
                let folder = String(way[..<slash])
                var status = stat()
                guard stat(folder, &status) == 0 else { continue }
                if rights.mayExecute(status, folder) == false { return folder }
            }
        }
        return nil
    }
}

extension String {
    /// The sentence about the user of a job.
    func replacingUser(with name: String?) -> String {
        guard hasPrefix("%") else { return self }
        return (name.map { "user \"\($0)\"" } ?? "the user of the job") + dropFirst()
    }
}

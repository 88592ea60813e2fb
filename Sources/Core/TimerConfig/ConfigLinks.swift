// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Opens a path with symbolic links, as ConfigMaps of Kubernetes and stow(8) create them. Each part
/// is opened from the descriptor of the one before, so that no checked directory can be replaced
/// meanwhile. Everything on the path must be as safe as the file.
struct ConfigLinks {
    /// The most links of one path, as in Linux itself (path_resolution(7)).
    static let linksMax = 40

    /// O_PATH of open(2), which Glibc declares only with _GNU_SOURCE. It has this value on all
    /// architectures that Swift supports.
    static let pathOnly: Int32 = 0o10_000_000

    let ownerUID: UInt32

    /// Why the path is not followed to its end.
    enum Fault: Error {
        /// The errno of a call that failed.
        case system(Int32)
        /// A sentence without its subject.
        case unsafe(String)
    }

    /// Opens the file that the path leads to, which is no link. The caller must check whether that
    /// file can be trusted.
    ///
    /// - Returns: a descriptor, which the caller must close.
    func open(_ path: String, _ flags: Int32) throws(Fault) -> Int32 {
        var walk = Walk(links: self)
        defer { walk.end() }
        return try walk.open(path, flags)
    }

    /// The state of one walk along a path.
    private struct Walk {
        let links: ConfigLinks
        private var directory: Int32 = -1
        /// The directories so far, as they are written, for messages.
        private var walked = ""
        /// The parts of the path that remain, the next one last.
        private var parts: [String] = []
        private var count = 0

        init(links: ConfigLinks) { self.links = links }

        mutating func end() { if directory >= 0 { close(directory) } }

        mutating func open(_ path: String, _ flags: Int32) throws(Fault) -> Int32 {
            try take(path)
            while let part = parts.popLast() {
                let entry = openat(directory, part, ConfigLinks.pathOnly | O_NOFOLLOW | O_CLOEXEC)
                guard entry >= 0 else { throw .system(errno) }
                var status = stat()
                guard fstat(entry, &status) == 0 else {
                    defer { close(entry) }
                    throw .system(errno)
                }
                switch status.st_mode & S_IFMT {
                case S_IFLNK:
                    defer { close(entry) }
                    try follow(entry, named: part, of: status.st_uid)
                case _ where parts.isEmpty:
                    close(entry)
                    return try openLast(part, flags)
                case S_IFDIR: try enter(entry, named: part)
                default:
                    close(entry)
                    throw .system(ENOTDIR)
                }
            }
            return try openLast(".", flags)
        }

        /// Adds the parts of a path, which starts at the present directory or at the root.
        private mutating func take(_ path: String) throws(Fault) {
            let isAbsolute = path.hasPrefix("/")
            if isAbsolute || directory < 0 {
                let start = Glibc.open(
                    isAbsolute ? "/" : ".", ConfigLinks.pathOnly | O_DIRECTORY | O_CLOEXEC)
                guard start >= 0 else { throw .system(errno) }
                walked = ""
                try enter(start, named: isAbsolute ? "" : ".")
            }
            parts += path.split(separator: "/").reversed().map(String.init).filter { $0 != "." }
        }

        private mutating func enter(_ descriptor: Int32, named name: String) throws(Fault) {
            if directory >= 0 { close(directory) }
            directory = descriptor
            walked += walked.isEmpty || walked.hasSuffix("/") ? name : "/\(name)"
            if walked.isEmpty { walked = "/" }
            if let fault = links.fault(ofDirectory: descriptor) {
                throw .unsafe("is a symbolic link that leads through \(walked), which \(fault)")
            }
        }

        private mutating func follow(
            _ link: Int32, named name: String, of owner: UInt32
        ) throws(Fault) {
            count += 1
            guard count <= ConfigLinks.linksMax else { throw .system(ELOOP) }
            guard owner == 0 || owner == links.ownerUID else {
                throw .unsafe(
                    "leads over the symbolic link \(walked)/\(name), which belongs to uid \(owner), who is "
                        + "neither root nor the daemon's user; chown -h it")
            }
            var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
            let length = readlinkat(link, "", &bytes, bytes.count)
            guard length > 0, length < bytes.count else {
                throw .system(length < 0 ? errno : ENOENT)
            }
            try take(
                String(decoding: bytes[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }

        private func openLast(_ name: String, _ flags: Int32) throws(Fault) -> Int32 {
            let found = openat(directory, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            guard found >= 0 else { throw .system(errno) }
            return found
        }
    }

    /// Why users other than root and the daemon's user could change where a path through this
    /// directory leads. In a directory with the sticky bit, users cannot replace the files of
    /// others. On a file system that is mounted read-only, as ConfigMaps are, no user can change
    /// anything.
    func fault(ofDirectory descriptor: Int32) -> String? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return "cannot be examined" }
        guard status.st_uid == 0 || status.st_uid == ownerUID else {
            return "belongs to uid \(status.st_uid), who is neither root nor the daemon's user"
        }
        guard status.st_mode & 0o022 != 0, status.st_mode & S_ISVTX == 0,
            !Self.isReadOnly(descriptor)
        else { return nil }
        return "may be written to by others than its owner; chmod go-w it"
    }

    /// Whether a file is on a file system that is mounted read-only.
    static func isReadOnly(_ descriptor: Int32) -> Bool {
        var status = statvfs()
        return fstatvfs(descriptor, &status) == 0 && status.f_flag & UInt(ST_RDONLY) != 0
    }
}

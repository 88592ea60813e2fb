// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Opens a path that leads over symbolic links, as ConfigMaps of Kubernetes and stow(8) make them. It walks
/// part by part, each from the descriptor of the one before: what was examined cannot be exchanged meanwhile,
/// and everything on the way is as safe as the file must be.
struct ConfigLinks {
    /// The most links of one path, as in Linux itself (path_resolution(7)).
    static let linksMax = 40

    /// O_PATH of open(2), which Glibc shows with _GNU_SOURCE alone: the same on every machine there is a Swift for.
    static let pathOnly: Int32 = 0o10_000_000

    let ownerUID: UInt32

    /// Why the path is not opened.
    enum Fault: Error {
        /// The error that the system gave.
        case system(Int32)
        /// A sentence without its subject.
        case unsafe(String)
    }

    /// Opens what the path leads to, itself no link. Whether that is a file that may be believed is for the
    /// caller to examine.
    ///
    /// - Returns: a descriptor, which is the caller's to close.
    func open(_ path: String, _ flags: Int32) throws(Fault) -> Int32 {
        var walk = Walk(links: self)
        defer { walk.end() }
        return try walk.open(path, flags)
    }

    /// One walk, with the directory it has come to.
    private struct Walk {
        let links: ConfigLinks
        private var directory: Int32 = -1
        /// The directory as it is written, for messages.
        private var walked = ""
        /// The parts that are left, the next one last.
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

        /// Goes on along a path from the directory that has been come to, or from the root.
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

    /// What lets others than root and the daemon's user change where the way through a directory leads. In one
    /// with the sticky bit nobody changes what is another's; on a file system that is mounted read-only,
    /// as ConfigMaps are, nobody changes anything.
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

    /// Whether a file lies on a file system that is mounted read-only here.
    static func isReadOnly(_ descriptor: Int32) -> Bool {
        var status = statvfs()
        return fstatvfs(descriptor, &status) == 0 && status.f_flag & UInt(ST_RDONLY) != 0
    }
}

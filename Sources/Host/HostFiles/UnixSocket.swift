// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import Glibc

/// Creates and connects unix sockets.
public enum UnixSocket {
    /// The peer that may connect, in addition to the owner and root.
    public enum AllowedPeer: Hashable, Sendable {
        /// The members of this group, if it exists.
        case group(String)
        /// The members of this group, if it exists, and if this process is one of them or root.
        case groupOfOurs(String)
        /// The user with this id.
        case user(UInt32)
    }

    /// Binds a socket at the path. From the first instant only the owner can connect, because the
    /// daemon's umask is 077; then the allowed peer gets access, if it exists and this process has
    /// the permission.
    ///
    /// The socket of a daemon that has ended is replaced. Any other file, and a socket on which a
    /// process listens, is not changed and an error.
    public static func bind(
        at path: String, allowing peer: AllowedPeer
    ) throws(Directory.Failure) -> Int32 {
        let parts = path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        guard let name = parts.last else {
            throw Directory.Failure(description: "--socket: \"\(path)\" names no file")
        }
        let parent = (path.hasPrefix("/") ? "/" : "") + parts.dropLast().joined(separator: "/")
        let directory = try Directory.open(parent.isEmpty ? "." : parent)
        try removeStale(name, in: directory)
        let socket = Glibc.socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0
        )
        guard socket >= 0 else {
            throw Directory.Failure(description: "cannot make a socket: \(systemError())")
        }
        // The path uses the descriptor, so it does not depend on the directory's path or its
        // length.
        let result = withAddress("/proc/self/fd/\(directory.descriptor)/\(name)") {
            Glibc.bind(socket, $0, $1)
        }
        guard result == 0 else {
            let code = errno
            close(socket)
            throw Directory.Failure(
                description: "\(path): cannot be bound: \(systemError(code)); "
                    + "choose another path with --socket")
        }
        allow(peer, to: name, in: directory)
        return socket
    }

    /// Binds a datagram socket with this name as a sign that this process is running: while it is
    /// open, every user who can search the directory can connect to it, and no data can be sent. An
    /// existing file with this name is removed, so the directory must be locked.
    public static func bindMark(
        _ name: String, in directory: Directory
    ) throws(Directory.Failure) -> Int32 {
        unlinkat(directory.descriptor, name, 0)
        let socket = Glibc.socket(
            AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        let path = "/proc/self/fd/\(directory.descriptor)/\(name)"
        guard socket >= 0, withAddress(path, { Glibc.bind(socket, $0, $1) }) == 0,
            shutdown(socket, Int32(SHUT_RDWR)) == 0,
            fchmodat(directory.descriptor, name, 0o666, 0) == 0
        else {
            let code = errno
            if socket >= 0 { close(socket) }
            throw Directory.Failure(
                description: "\(directory.path)/\(name): cannot be bound: \(systemError(code))")
        }
        return socket
    }

    private static func removeStale(
        _ name: String, in directory: Directory
    ) throws(Directory.Failure) {
        var status = stat()
        guard fstatat(directory.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return }
        let path = "\(directory.path)/\(name)"
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw Directory.Failure(
                description: "\(path): exists and is not a socket; move it away")
        }
        let probe = Glibc.socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0
        )
        defer { close(probe) }
        let answered = withAddress("/proc/self/fd/\(directory.descriptor)/\(name)") {
            Glibc.connect(probe, $0, $1)
        }
        guard answered != 0, errno == ECONNREFUSED else {
            throw Directory.Failure(
                description: "\(path): another daemon listens there; stop it, or choose another "
                    + "path with --socket")
        }
        unlinkat(directory.descriptor, name, 0)
    }

    /// Whether a datagram socket is bound at this path, such as one of `bindMark`.
    public static func isBound(datagram path: String) -> Bool {
        let socket = Glibc.socket(
            AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return false }
        defer { close(socket) }
        return withAddress(path) { Glibc.connect(socket, $0, $1) } == 0
    }

    /// Connects to a listening socket, without waiting.
    /// - Returns: the connection, not blocking; or nil with errno set.
    public static func connect(to path: String) -> Int32? {
        let socket = Glibc.socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0
        )
        guard socket >= 0 else { return nil }
        guard withAddress(path, { Glibc.connect(socket, $0, $1) }) == 0 else {
            let code = errno
            close(socket)
            errno = code
            return nil
        }
        return socket
    }

    /// The path at which a socket is bound, as it was given to bind(2); nil if it has none.
    public static func path(of socket: Int32) -> String? {
        var address = sockaddr_un()
        var size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(socket, $0, &size)
            }
        }
        let start = MemoryLayout<sockaddr_un>.offset(of: \sockaddr_un.sun_path) ?? 0
        guard result == 0, address.sun_family == sa_family_t(AF_UNIX), Int(size) > start else {
            return nil
        }
        let path = withUnsafeBytes(of: &address.sun_path) { bytes in
            bytes.prefix(min(Int(size) - start, bytes.count)).prefix { $0 != 0 }.map { $0 }
        }
        return path.isEmpty ? nil : String(decoding: path, as: UTF8.self)
    }

    /// Sets the socket's group or owner to the allowed peer; without this, only the owner and root
    /// can connect.
    private static func allow(_ peer: AllowedPeer, to name: String, in directory: Directory) {
        let flags = AT_SYMLINK_NOFOLLOW
        switch peer {
        case .user(let user):
            guard geteuid() == 0 else { return }
            fchownat(directory.descriptor, name, user, getegid(), flags)
        case .group(let group), .groupOfOurs(let group):
            if case .group = peer, geteuid() != 0 { return }
            guard let gid = UserDatabase.group(named: group).entry?.gid,
                fchownat(directory.descriptor, name, geteuid(), gid, flags) == 0
            else { return }
            fchmodat(directory.descriptor, name, 0o660, 0)
        }
    }

    /// Calls `body` with the address of the socket at this path, for connect(2) or bind(2).
    /// - Returns: what `body` returns; -1 with the errno ENAMETOOLONG if the path is too long.
    public static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { space in
            guard path.utf8.count < space.count else { return false }
            space.copyBytes(from: path.utf8)
            return true
        }
        guard fits else {
            errno = ENAMETOOLONG
            return -1
        }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

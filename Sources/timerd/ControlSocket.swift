// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A unix socket of our own, bound and ready to listen on.
enum ControlSocket {
    /// Binds a socket at the path. Its mode is the owner's alone from the first instant, since the daemon's
    /// umask is 077; then members of `group`, if there is such a group and we may, are let in.
    ///
    /// A socket left there by a daemon that died is replaced; anything else, and a socket somebody listens
    /// on, is left alone.
    static func bind(at path: String, group: String) throws(Directory.Failure) -> Int32 {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
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
        // By the descriptor, whatever the directory's path leads to meanwhile, and however long it is.
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
        admit(group, to: name, in: directory)
        return socket
    }

    private static func removeStale(
        _ name: String, in directory: Directory
    ) throws(Directory.Failure) {
        var status = stat()
        guard fstatat(directory.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return }
        let path = "\(directory.path)/\(name)"
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw Directory.Failure(description: "\(path): is there and is no socket; move it away")
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

    /// Who is not in the group cannot even connect; without the group, nobody but the owner and root can.
    private static func admit(_ group: String, to name: String, in directory: Directory) {
        guard geteuid() == 0 else { return }
        var entry = Glibc.group()
        var found: UnsafeMutablePointer<Glibc.group>?
        var buffer = [CChar](repeating: 0, count: 65_536)
        guard getgrnam_r(group, &entry, &buffer, buffer.count, &found) == 0, found != nil else {
            return
        }
        let flags = AT_SYMLINK_NOFOLLOW
        guard fchownat(directory.descriptor, name, geteuid(), entry.gr_gid, flags) == 0 else {
            return
        }
        fchmodat(directory.descriptor, name, 0o660, 0)
    }

    private static func withAddress(
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

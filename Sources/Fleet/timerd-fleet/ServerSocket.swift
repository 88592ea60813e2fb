// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles

/// The socket that the scheduler connects to.
enum ServerSocket {
    /// The socket that systemd passes, or one at this path.
    ///
    /// - Throws: `StartFailure`, also if there is neither.
    static func open(_ path: String?, for user: UInt32) throws(StartFailure) -> Int32 {
        if let socket = try passed() { return socket }
        if let path { return try listen(at: path, for: user) }
        throw StartFailure(
            "systemd passes no socket; name one with --socket, such as /run/timerd-fleet/fleet.sock"
        )
    }

    /// The socket that systemd has opened (systemd.socket(5)); nil if there is none. Its variables are
    /// removed. libsystemd, which would do the same, has seven further libraries.
    ///
    /// - Throws: `StartFailure` if it is no listening unix socket, or one of several.
    private static func passed() throws(StartFailure) -> Int32? {
        func take(_ name: String) -> Int? {
            defer { unsetenv(name) }
            return getenv(name).flatMap { Int(String(cString: $0)) }
        }
        let (process, count) = (take("LISTEN_PID"), take("LISTEN_FDS"))
        unsetenv("LISTEN_FDNAMES")
        guard let count, count > 0, process == Int(getpid()) else { return nil }
        let first: Int32 = 3
        guard count == 1, option(SO_DOMAIN, of: first) == AF_UNIX,
            option(SO_ACCEPTCONN, of: first) == 1
        else {
            throw StartFailure(
                "the service manager must pass one listening unix socket; correct "
                    + "timerd-fleet.socket")
        }
        _ = fcntl(first, F_SETFD, FD_CLOEXEC)
        _ = fcntl(first, F_SETFL, fcntl(first, F_GETFL, 0) | O_NONBLOCK)
        return first
    }

    private static func option(_ name: Int32, of descriptor: Int32) -> Int32 {
        var value: Int32 = -1
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, name, &value, &size)
        return value
    }

    /// Listens at a path.
    ///
    /// - Throws: `StartFailure`.
    private static func listen(at path: String, for user: UInt32) throws(StartFailure) -> Int32 {
        let socket: Int32
        do throws(Directory.Failure) {
            socket = try UnixSocket.bind(at: path, allowing: .user(user))
        } catch {
            throw StartFailure("\(error)")
        }
        guard Glibc.listen(socket, 16) == 0 else {
            throw StartFailure("\(path): cannot listen", errno)
        }
        return socket
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A directory, opened once: everything below it is reached by its descriptor, whatever its path leads to
/// later.
public final class Directory: Sendable {
    /// As it was named.
    public let path: String
    /// An open descriptor of it, as long as this value lives.
    public let descriptor: Int32

    /// Why a directory cannot be used.
    public struct Failure: Error, Hashable, CustomStringConvertible {
        /// The place, what is wrong, and what to do next.
        public let description: String

        /// A failure as described.
        public init(description: String) { self.description = description }
    }

    private init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Opens the directory, or makes it, and checks that nobody but its owner and root may write to it.
    ///
    /// - Parameter followLink: whether the last part of the path may be a symbolic link, as systemd makes
    ///   the state directory of a dynamic user one. Links on the way to it are root's business.
    public static func open(_ path: String, followLink: Bool = false) throws(Failure) -> Directory {
        var made = ""
        // As bytes go: a combining character behind a slash would be one character with it.
        for part in path.utf8.split(separator: UInt8(ascii: "/")).dropLast() {
            made +=
                (made.isEmpty && path.utf8.first != UInt8(ascii: "/") ? "" : "/")
                + String(Substring(part))
            // Whatever is wrong with a part, opening the whole path says it better.
            mkdir(made, 0o755)
        }
        mkdir(path, 0o700)
        return try adopt(path, at: AT_FDCWD, name: path, followLink: followLink)
    }

    /// Opens the directory of this name in this one, or makes it, with the same check.
    public func subdirectory(_ name: String) throws(Failure) -> Directory {
        mkdirat(descriptor, name, 0o700)
        return try Self.adopt("\(path)/\(name)", at: descriptor, name: name, followLink: false)
    }

    private static func adopt(
        _ path: String, at parent: Int32, name: String, followLink: Bool
    ) throws(Failure) -> Directory {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (followLink ? 0 : O_NOFOLLOW)
        let descriptor = openat(parent, name, flags)
        guard descriptor >= 0 else {
            switch errno {
            case ENOTDIR, ELOOP:
                throw Failure(description: "\(path): not a directory; move it away")
            default: throw Failure(description: "\(path): cannot be opened: \(systemError())")
            }
        }
        let directory = Directory(path: path, descriptor: descriptor)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw Failure(description: "\(path): cannot be examined: \(systemError())")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw Failure(
                description: "\(path): belongs to uid \(status.st_uid); "
                    + "give it to the daemon's user (chown \(geteuid()) \(path))")
        }
        guard status.st_mode & 0o022 == 0 else {
            throw Failure(description: "\(path): others may write to it; chmod go-w \(path)")
        }
        return directory
    }

    /// The path with every link resolved, for those who cannot take a descriptor.
    public func resolvedPath() throws(Failure) -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes {
            readlink(
                "/proc/self/fd/\(descriptor)", $0.baseAddress!.assumingMemoryBound(to: CChar.self),
                $0.count)
        }
        guard count > 0, count < buffer.count else {
            throw Failure(description: "\(path): has no path any more")
        }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// Opens a file in this directory, never through a link.
    ///
    /// - Throws: `Failure` if it cannot be opened, or is not a plain file with one name, of this process's
    ///   user or root, that nobody else may write to. Nothing is open then.
    public func open(_ name: String, flags: Int32, mode: UInt32 = 0o600) throws(Failure) -> Int32 {
        let file = openat(descriptor, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode)
        guard file >= 0 else {
            throw Failure(
                description: errno == ELOOP
                    ? "\(path)/\(name): \(Self.notPlain)"
                    : "\(path)/\(name): cannot be opened: \(systemError())")
        }
        var status = stat()
        let fault = fstat(file, &status) == 0 ? Self.fault(in: status) : systemError()
        if let fault {
            close(file)
            throw Failure(description: "\(path)/\(name): \(fault)")
        }
        return file
    }

    /// Checks a file that somebody opens who takes nothing but a path: what `open` checks, and that it is no
    /// link. One that is not there is fine.
    public func check(_ name: String) throws(Failure) {
        var status = stat()
        guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            guard errno != ENOENT else { return }
            throw Failure(description: "\(path)/\(name): cannot be examined: \(systemError())")
        }
        guard let fault = Self.fault(in: status) else { return }
        throw Failure(description: "\(path)/\(name): \(fault)")
    }

    private static let notPlain = "not a plain file of its own; move it away"

    /// What is wrong with a file that is to be this process's own. A second name may be a file somebody wants
    /// to have written to.
    private static func fault(in status: stat) -> String? {
        guard status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1 else {
            return notPlain
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            return "belongs to uid \(status.st_uid); find out who put it there, and move it away"
        }
        guard status.st_mode & 0o022 == 0 else {
            return "others may write to it; find out whether they did, and chmod go-w it"
        }
        return nil
    }

    /// How long a process that was killed may still hold its lock, and how often the lock is tried, in microseconds.
    private static let lockPatience: useconds_t = 3_000_000
    private static let lockPause: useconds_t = 20_000

    /// Takes the directory for this process alone until it ends, so that no two daemons keep one state. Waits up to
    /// three seconds: a process that was just killed or is just ending holds its lock a moment longer, and so does
    /// a child that it had forked and that has not reached its exec, which has copies of all descriptors (flock(2)).
    ///
    /// - Parameters:
    ///   - name: the file the lock is on.
    ///   - program: whoever holds it if not this process, and the option that chooses another directory.
    public func lock(
        _ name: String = "timerd.lock", of program: String = "timerd", option: String = "--state"
    ) throws(Failure) {
        let file = try open(name, flags: O_RDWR | O_CREAT)
        var left = Self.lockPatience
        while flock(file, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            if code == EWOULDBLOCK || code == EINTR, left > 0 {
                usleep(Self.lockPause)
                left -= min(left, Self.lockPause)
                continue
            }
            close(file)
            throw Failure(
                description: code == EWOULDBLOCK
                    ? "\(path): another \(program) is using it; stop that one, or choose another "
                        + option
                    : "\(path)/\(name): cannot be locked: \(systemError(code))")
        }
        // The descriptor stays open as long as the process: closing it would free the lock.
    }
}

/// The sentence for the current errno, or another one's.
func systemError(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }

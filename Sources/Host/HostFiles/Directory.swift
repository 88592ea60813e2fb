// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A directory that is opened once: everything below it is opened relative to its descriptor, so
/// that later changes of its path have no effect.
public final class Directory: Sendable {
    /// The path as given.
    public let path: String
    /// An open descriptor of it, closed with this object.
    public let descriptor: Int32

    /// The reason why a directory cannot be used.
    public struct Failure: Error, Hashable, CustomStringConvertible {
        /// The place, what is wrong, and what to do next.
        public let description: String

        public init(description: String) { self.description = description }
    }

    private init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Opens or creates the directory, and checks that only its owner and root can write to it.
    ///
    /// - Parameter followLink: whether the last part of the path may be a symbolic link, because
    ///   systemd makes the state directory of a dynamic user one. Links in the rest of the path are
    ///   not checked, because they are the responsibility of root.
    public static func open(_ path: String, followLink: Bool = false) throws(Failure) -> Directory {
        makeParents(of: path)
        return try remake(path, followLink: followLink)
    }

    /// The same, but the directory that contains it must be there: a deleted parent means that none of it is wanted.
    public static func remake(_ path: String, followLink: Bool = false) throws(Failure) -> Directory
    {
        mkdir(path, 0o700)
        return try adopt(path, at: AT_FDCWD, name: path, followLink: followLink)
    }

    private static func makeParents(of path: String) {
        var made = ""
        // This splits bytes, because a combining character after a slash would form one `Character`
        // with it.
        for part in path.utf8.split(separator: UInt8(ascii: "/")).dropLast() {
            made +=
                (made.isEmpty && path.utf8.first != UInt8(ascii: "/") ? "" : "/")
                + String(Substring(part))
            // Errors are ignored here, because opening the whole path reports them better.
            mkdir(made, 0o755)
        }
    }

    /// Opens or creates the subdirectory of this name, with the same check.
    public func subdirectory(_ name: String) throws(Failure) -> Directory {
        mkdirat(descriptor, name, 0o700)
        return try Self.adopt("\(path)/\(name)", at: descriptor, name: name, followLink: false)
    }

    /// Opens a directory that is there, through a link as well, with the same check.
    public static func existing(_ path: String) throws(Failure) -> Directory {
        try adopt(path, at: AT_FDCWD, name: path, followLink: true)
    }

    /// Opens the directory of this name in this one, which is there, with the same check.
    public func existingSubdirectory(_ name: String) throws(Failure) -> Directory {
        try Self.adopt("\(path)/\(name)", at: descriptor, name: name, followLink: false)
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

    /// The path with every link resolved, for callers that cannot use a descriptor.
    public func resolvedPath() throws(Failure) -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes {
            readlink(
                "/proc/self/fd/\(descriptor)", $0.baseAddress!.assumingMemoryBound(to: CChar.self),
                $0.count)
        }
        guard count > 0, count < buffer.count else {
            throw Failure(description: "\(path): was removed or its path is too long")
        }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// Opens a file in this directory, never through a symbolic link.
    ///
    /// - Throws: `Failure` if it cannot be opened, or is not a regular file with one name that is
    ///   owned by this process's user or root and that no other user can write to. No file is open
    ///   then.
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

    /// Checks a file that a library will open by its path: the same checks as in `open`, and that
    /// it is not a link. The file need not exist.
    public func check(_ name: String) throws(Failure) {
        var status = stat()
        guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            guard errno != ENOENT else { return }
            throw Failure(description: "\(path)/\(name): cannot be examined: \(systemError())")
        }
        guard let fault = Self.fault(in: status) else { return }
        throw Failure(description: "\(path)/\(name): \(fault)")
    }

    private static let notPlain = "not a regular file with a single name; move it away"

    /// What is wrong with a file that must belong to this process. A file with a second name may be
    /// one that another user wants this process to overwrite.
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

    /// How long to wait for the lock of a killed process, and the interval between attempts, in
    /// microseconds.
    private static let lockTimeout: useconds_t = 3_000_000
    private static let lockPause: useconds_t = 20_000

    /// Locks the directory for this process until it ends, so that no two daemons use the same
    /// state. It waits up to three seconds: a process that was just killed or is exiting holds its
    /// lock a moment longer, and so does a forked child that has not executed its program yet,
    /// which has copies of all descriptors (flock(2)).
    ///
    /// - Parameters:
    ///   - name: the file to lock.
    ///   - program: the program that can hold the lock, for the error.
    ///   - option: the option that chooses another directory, for the error.
    public func lock(
        _ name: String = "timerd.lock", of program: String = "timerd", option: String = "--state"
    ) throws(Failure) {
        let file = try open(name, flags: O_RDWR | O_CREAT)
        var left = Self.lockTimeout
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
        // The descriptor stays open until the process ends: closing it would release the lock.
    }
}

/// The message for an errno; nil: the current one, if no other call came in between.
public func systemError(_ code: Int32? = nil) -> String {
    String(cString: strerror(code ?? errno))
}

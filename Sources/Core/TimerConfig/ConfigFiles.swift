// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles

/// The files of a configuration. The checks apply to the open descriptor that is read. A link is
/// followed only if everything on its path is as safe as the file must be.
struct ConfigFiles {
    /// The most bytes of a file; a larger one is refused as a whole.
    static let bytesMax = 8 << 20
    /// The most files in `jobs.d`.
    static let filesMax = 1000
    /// The most definitions of one-off jobs, each in a file of its own.
    static let oneOffsMax = 100_000

    let main: String
    let ownerUID: UInt32

    /// A file in the directory `jobs.d` or `one-off.d`.
    struct Other {
        let path: String
        let name: String
        let directory: DirectoryHandle
    }

    /// A directory, which is closed with the last reference.
    final class DirectoryHandle {
        let descriptor: Int32

        init(descriptor: Int32) { self.descriptor = descriptor }

        deinit { close(descriptor) }
    }

    /// The path of the main file without its name: empty, or with a slash at the end.
    private var prefix: String { Self.prefix(of: main) }

    private static func prefix(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    }

    /// What is different for the files of a configuration and for those that they name.
    private struct Kind {
        /// A larger file is refused.
        var bytesMax: Int
        /// What to do about a file that is larger, or not there.
        var tooLarge: String
        var missing: String

        static let configuration = Kind(
            bytesMax: ConfigFiles.bytesMax, tooLarge: "? Split it into jobs.d if it is",
            missing: "write one, or name another with --config")
        static let dates = Kind(
            bytesMax: DatesFile.bytesMax, tooLarge: "?",
            missing: "write it; an empty one has no dates")
    }

    /// Reads the main file.
    func readMain() throws(ConfigError) -> [UInt8] { try read(main, as: .configuration) }

    /// Reads a file of dates.
    func readDates(_ path: String) throws(ConfigError) -> [UInt8] { try read(path, as: .dates) }

    /// A hash of the contents of a file of dates, or of the reason why it cannot be read.
    func hash(ofDates path: String) -> Int {
        do throws(ConfigError) { return ConfigContents.hash(try readDates(path)) } catch {
            return error.hashValue
        }
    }

    /// Reads a file. Users who can write to its directory could replace it, so the directory is
    /// checked as well.
    private func read(_ main: String, as kind: Kind) throws(ConfigError) -> [UInt8] {
        let prefix = Self.prefix(of: main)
        let name = String(main.dropFirst(prefix.count))
        let parent = ["": ".", "/": "/"][prefix] ?? String(prefix.dropLast())
        let directory: DirectoryHandle
        do throws(ConfigLinks.Fault) {
            directory = DirectoryHandle(
                descriptor: try open(
                    parent, at: AT_FDCWD, path: parent, ConfigLinks.pathOnly | O_DIRECTORY))
        } catch {
            throw ConfigError(file: main, message: Self.message(error, kind))
        }
        if let fault = ConfigLinks(ownerUID: ownerUID).fault(ofDirectory: directory.descriptor) {
            throw ConfigError(file: parent, message: fault)
        }
        // With this path, the error for a directory says that it is one.
        return try read(
            name.isEmpty ? "." : name, at: directory.descriptor, path: main, as: kind)
    }

    func read(_ other: Other) throws(ConfigError) -> [UInt8] {
        try read(
            other.name, at: other.directory.descriptor, path: other.path, as: .configuration)
    }

    /// Whether the file still exists in its directory.
    func isThere(_ file: Other) -> Bool {
        var status = stat()
        return fstatat(file.directory.descriptor, file.name, &status, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// The files in `jobs.d`, sorted by name; none if the directory does not exist.
    func others() -> ([Other], ConfigError?) { files(in: "jobs.d", most: Self.filesMax) }

    /// The definitions of one-off jobs, sorted by name; none if their directory does not exist.
    func oneOffs() -> ([Other], ConfigError?) {
        files(in: ConfigReader.oneOffDirectory, most: Self.oneOffsMax)
    }

    /// The definition of one of them, which may not exist.
    func oneOff(_ name: String) throws(ConfigError) -> Other {
        let path = prefix + ConfigReader.oneOffDirectory
        let descriptor: Int32
        do throws(ConfigLinks.Fault) {
            descriptor = try open(path, at: AT_FDCWD, path: path, O_RDONLY | O_DIRECTORY)
        } catch { throw ConfigError(file: path, message: Self.message(error)) }
        let handle = DirectoryHandle(descriptor: descriptor)
        if let fault = fault(of: descriptor, kind: S_IFDIR, "a directory") {
            throw ConfigError(file: path, message: fault)
        }
        return Other(path: "\(path)/\(name)", name: name, directory: handle)
    }

    private func files(in directory: String, most: Int) -> ([Other], ConfigError?) {
        let path = prefix + directory
        let descriptor: Int32
        do throws(ConfigLinks.Fault) {
            descriptor = try open(path, at: AT_FDCWD, path: path, O_RDONLY | O_DIRECTORY)
        } catch {
            switch error {
            case .system(ENOENT) where !Self.isLink(path): return ([], nil)
            case .system(ENOENT):
                return ([], ConfigError(file: path, message: "is a symbolic link to nothing"))
            case .system(ENOTDIR):
                return ([], ConfigError(file: path, message: "is not a directory"))
            case .system, .unsafe:
                return ([], ConfigError(file: path, message: Self.message(error)))
            }
        }
        let handle = DirectoryHandle(descriptor: descriptor)
        if let fault = fault(of: descriptor, kind: S_IFDIR, "a directory") {
            return ([], ConfigError(file: path, message: fault))
        }
        let names: [String]
        do throws(ConfigError) { names = try Self.names(in: descriptor, path: path) } catch {
            return ([], error)
        }
        guard names.count <= most else {
            let message = "has \(names.count) files; \(most) at most, so none is read"
            return ([], ConfigError(file: path, message: message))
        }
        let others = names.sorted().map {
            Other(path: "\(path)/\($0)", name: $0, directory: handle)
        }
        return (others, nil)
    }

    /// The names in a directory that end in `.toml` and are not hidden, unsorted. If a name is not
    /// UTF-8, wrong bytes are replaced, so that the file is not found and the error is reported.
    private static func names(
        in descriptor: Int32, path: String
    ) throws(ConfigError) -> [String] {
        func fail() -> ConfigError {
            ConfigError(file: path, message: "cannot be listed: \(reason())")
        }
        // closedir(3) closes the descriptor, so it gets a copy. A copy by dup(2) would be inherited
        // by jobs.
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw fail() }
        guard let listing = fdopendir(copy) else {
            defer { close(copy) }
            throw fail()
        }
        defer { closedir(listing) }
        var names: [String] = []
        errno = 0
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(".toml"), !name.hasPrefix(".") { names.append(name) }
            errno = 0
        }
        // At the end of the directory errno does not change. Without this check, an incomplete list
        // would remove jobs silently.
        guard errno == 0 else { throw fail() }
        return names
    }

    private func read(
        _ name: String, at directory: Int32, path: String, as kind: Kind
    ) throws(ConfigError) -> [UInt8] {
        func fail(_ message: String) -> ConfigError { ConfigError(file: path, message: message) }
        let file: Int32
        do throws(ConfigLinks.Fault) {
            file = try open(name, at: directory, path: path, O_RDONLY)
        } catch {
            throw fail(Self.message(error, kind))
        }
        defer { close(file) }
        if let fault = fault(of: file, kind: S_IFREG, "a regular file", limits: kind) {
            throw fail(fault)
        }
        guard let bytes = Descriptor.read(file, upTo: kind.bytesMax) else {
            throw fail("cannot be read: \(Self.reason())")
        }
        guard bytes.count <= kind.bytesMax else { throw fail(Self.tooLarge(kind)) }
        return bytes
    }

    /// Opens a file by its name in a directory. If it is a link, opens the target of the link.
    private func open(
        _ name: String, at directory: Int32, path: String, _ flags: Int32
    ) throws(ConfigLinks.Fault) -> Int32 {
        // Without O_NONBLOCK, opening a FIFO would wait for a writer.
        let file = openat(directory, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        if file >= 0 { return file }
        // With O_DIRECTORY, a link also fails with ENOTDIR.
        let code = errno
        guard code == ELOOP || code == ENOTDIR, Self.isLink(path) else { throw .system(code) }
        return try ConfigLinks(ownerUID: ownerUID).open(path, flags)
    }

    private static func isLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    private static func message(
        _ fault: ConfigLinks.Fault, _ kind: Kind = .configuration
    ) -> String {
        switch fault {
        case .unsafe(let message): message
        case .system(ENOENT): "there is no such file; \(kind.missing)"
        case .system(ELOOP): "leads over more than \(ConfigLinks.linksMax) symbolic links"
        case .system(let code): unreadable(code)
        }
    }

    private static func tooLarge(_ kind: Kind) -> String {
        "is larger than \(kind.bytesMax >> 20) MiB; is it the right file\(kind.tooLarge)"
    }

    /// Why the opened file is not trusted, or is too large, as the rest of a sentence; nil if it is
    /// neither.
    private func fault(
        of descriptor: Int32, kind: mode_t, _ kindName: String, limits: Kind? = nil
    ) -> String? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return "cannot be examined: \(Self.reason())" }
        guard status.st_mode & S_IFMT == kind else {
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            return isDirectory ? "is a directory; name the file in it" : "is not \(kindName)"
        }
        guard status.st_uid == 0 || status.st_uid == ownerUID else {
            return "belongs to uid \(status.st_uid), who is neither root nor the daemon's user; "
                + "chown it"
        }
        guard status.st_mode & 0o022 == 0 || ConfigLinks.isReadOnly(descriptor) else {
            return "may be written to by others than its owner; chmod go-w it"
        }
        if let limits, status.st_size > limits.bytesMax { return Self.tooLarge(limits) }
        return nil
    }

    /// The error for a file that cannot be opened.
    private static func unreadable(_ code: Int32) -> String {
        "cannot be read: \(String(cString: strerror(code)))"
            + (code == EACCES ? "; let the daemon's user read it, with chown or chmod" : "")
    }

    private static func reason() -> String { String(cString: strerror(errno)) }
}

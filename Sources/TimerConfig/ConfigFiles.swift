// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The files of a configuration. Each path is opened once, and what is checked and read is what was
/// opened; no link is followed at its end.
struct ConfigFiles {
    /// The most bytes a file may have.
    static let bytesMax = 8 << 20
    /// The most files `jobs.d` may have.
    static let filesMax = 1000

    let main: String
    let ownerUID: UInt32

    /// One file in `jobs.d`.
    struct Other {
        let path: String
        let name: String
        let directory: DirectoryHandle
    }

    /// A directory that is closed when nobody needs it any more.
    final class DirectoryHandle {
        let descriptor: Int32

        init(descriptor: Int32) { self.descriptor = descriptor }

        deinit { close(descriptor) }
    }

    func readMain() throws(ConfigError) -> [UInt8] { try read(main, at: AT_FDCWD, path: main) }

    func read(_ other: Other) throws(ConfigError) -> [UInt8] {
        try read(other.name, at: other.directory.descriptor, path: other.path)
    }

    /// The files in `jobs.d`, sorted by name; none without the directory.
    func others() -> ([Other], ConfigError?) {
        let parent = main.lastIndex(of: "/").map { String(main[..<$0]) + "/" } ?? ""
        let path = parent + "jobs.d"
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno != ENOENT else { return ([], nil) }
            return ([], ConfigError(file: path, message: "cannot be read: \(Self.reason())"))
        }
        let handle = DirectoryHandle(descriptor: descriptor)
        if let fault = fault(of: descriptor, kind: S_IFDIR, "a directory") {
            return ([], ConfigError(file: path, message: fault))
        }
        guard let listing = fdopendir(dup(descriptor)) else {
            return ([], ConfigError(file: path, message: "cannot be listed: \(Self.reason())"))
        }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(".toml"), !name.hasPrefix(".") { names.append(name) }
        }
        guard names.count <= Self.filesMax else {
            let message = "has \(names.count) files; \(Self.filesMax) at most, so none is read"
            return ([], ConfigError(file: path, message: message))
        }
        let others = names.sorted().map {
            Other(path: "\(path)/\($0)", name: $0, directory: handle)
        }
        return (others, nil)
    }

    private func read(
        _ name: String, at directory: Int32, path: String
    ) throws(ConfigError) -> [UInt8] {
        func fail(_ message: String) -> ConfigError { ConfigError(file: path, message: message) }
        // Without O_NONBLOCK, opening a FIFO would wait for a writer.
        let file = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else {
            switch errno {
            case ENOENT:
                throw fail("there is no such file; write one, or name another with --config")
            case ELOOP: throw fail("is a symbolic link; name the file itself")
            default: throw fail("cannot be read: \(Self.reason())")
            }
        }
        defer { close(file) }
        if let fault = fault(of: file, kind: S_IFREG, "a regular file") { throw fail(fault) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        // The size fstat gave may be outgrown meanwhile; what counts is what is read.
        while bytes.count <= Self.bytesMax {
            let count = Glibc.read(file, &buffer, buffer.count)
            if count == 0 { return bytes }
            if count < 0 {
                if errno == EINTR { continue }
                throw fail("cannot be read: \(Self.reason())")
            }
            bytes += buffer[..<count]
        }
        throw fail(Self.tooLarge)
    }

    private static let tooLarge =
        "is larger than \(bytesMax >> 20) MiB; is it the right file? Split it into jobs.d if it is"

    /// What keeps the opened file from being believed.
    private func fault(of descriptor: Int32, kind: mode_t, _ kindName: String) -> String? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return "cannot be examined: \(Self.reason())" }
        guard status.st_mode & S_IFMT == kind else { return "is not \(kindName)" }
        guard status.st_uid == 0 || status.st_uid == ownerUID else {
            return "belongs to uid \(status.st_uid), who is neither root nor the daemon's user; "
                + "chown it"
        }
        guard status.st_mode & 0o022 == 0 else {
            return "may be written to by others than its owner; chmod go-w it"
        }
        guard kind != S_IFREG || status.st_size <= Self.bytesMax else { return Self.tooLarge }
        return nil
    }

    private static func reason() -> String { String(cString: strerror(errno)) }
}

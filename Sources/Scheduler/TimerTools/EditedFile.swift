// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import TimerConfig

/// A file that is replaced as a whole, unless another program changes it meanwhile.
struct EditedFile {
    /// The resolved path: if the configuration names a link, the link is kept.
    let path: String
    let bytes: [UInt8]
    private let status: stat

    private var folder: String { String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) }
    var name: String {
        String(path[path.index(after: path.lastIndex(of: "/") ?? path.startIndex)...])
    }

    init(_ file: String) throws(ConfigEditor.Failure) {
        guard let resolved = realpath(file, nil) else { throw Self.failure(file, "cannot be read") }
        defer { free(resolved) }
        path = String(cString: resolved)
        (bytes, status) = try Self.read(path)
        guard faccessat(AT_FDCWD, folder.isEmpty ? "/" : folder, W_OK | X_OK, AT_EACCESS) == 0
        else {
            throw Self.failure(
                path, "cannot be replaced",
                errno == EACCES ? "; run this command as root, such as with sudo" : "")
        }
    }

    static func read(_ path: String) throws(ConfigEditor.Failure) -> (bytes: [UInt8], status: stat)
    {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw failure(path, "cannot be read") }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw ConfigEditor.Failure(description: "\(path) is not a regular file")
        }
        guard let bytes = Descriptor.read(file, upTo: ConfigReader.bytesMax) else {
            throw failure(path, "cannot be read")
        }
        guard bytes.count <= ConfigReader.bytesMax else {
            throw ConfigEditor.Failure(description: "\(path) is too large")
        }
        return (bytes, status)
    }

    /// Replaces the file with these bytes, and keeps its owner and mode. At every moment the path
    /// has the old file or the new one.
    func replace(with new: [UInt8]) throws(ConfigEditor.Failure) {
        let directory = open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else {
            throw Self.failure(folder.isEmpty ? "/" : folder, "cannot be opened")
        }
        defer { close(directory) }
        Self.lock(directory)
        let now = try Self.read(path)
        guard now.bytes == bytes, now.status.st_ino == status.st_ino,
            now.status.st_dev == status.st_dev
        else {
            throw ConfigEditor.Failure(
                description:
                    "\(path) was changed by another program meanwhile, and was not replaced")
        }
        // A hidden file, which timerd does not read as a part of the configuration.
        let beside = "\(folder)/.\(name).\(getpid()).edit"
        let file = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw Self.failure(beside, "cannot be made") }
        defer { close(file) }
        var own = stat()
        fstat(file, &own)
        let isOthers = own.st_uid != status.st_uid || own.st_gid != status.st_gid
        guard !isOthers || fchown(file, status.st_uid, status.st_gid) == 0,
            fchmod(file, status.st_mode & 0o7777) == 0, Self.write(new, to: file), fsync(file) == 0,
            rename(beside, path) == 0
        else {
            let failure = Self.failure(
                beside, "cannot be written with the owner and mode of \(name)")
            unlink(beside)
            throw failure
        }
        fsync(directory)
    }

    /// Of two edits that end at the same time, the second one sees what the first one wrote. That takes
    /// a moment, and any user who may read the directory can hold its lock, so the wait is limited to
    /// 15 s.
    private static func lock(_ directory: Int32) {
        for _ in 0..<300 {
            guard flock(directory, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK || errno == EINTR
            else { return }
            usleep(50_000)
        }
    }

    static func write(_ bytes: [UInt8], to file: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { return false }
            rest = rest.dropFirst(max(0, count))
        }
        return true
    }

    static func failure(
        _ path: String, _ what: String, _ hint: String = ""
    ) -> ConfigEditor.Failure {
        let why = systemError()
        return ConfigEditor.Failure(description: "\(path): \(what): \(why)\(hint)")
    }
}

/// The copy for the editor, in a directory of its own.
struct EditedCopy {
    let path: String
    private let folder: String

    init(of file: EditedFile) throws(ConfigEditor.Failure) {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/timerd-edit.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw EditedFile.failure(parent, "a copy cannot be made")
        }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = "\(folder)/\(file.name)"
        let copy = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard copy >= 0 else { throw EditedFile.failure(path, "cannot be made") }
        defer { close(copy) }
        guard EditedFile.write(file.bytes, to: copy) else {
            throw EditedFile.failure(path, "cannot be written")
        }
    }

    func read() throws(ConfigEditor.Failure) -> [UInt8] {
        guard access(path, F_OK) == 0 || errno != ENOENT else {
            remove()
            throw ConfigEditor.Failure(
                description: "the editor removed \(path); the configuration was not changed")
        }
        return try EditedFile.read(path).bytes
    }

    func remove() {
        unlink(path)
        // If the editor left another file there, such as a backup, the directory is kept.
        rmdir(folder)
    }
}

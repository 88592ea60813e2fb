// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import Glibc

/// Writes files so that a reader, or a crash, never finds half of one.
extension Directory {
    /// Replaces the file of this name: at every moment, even after a power failure, either the old
    /// or the new content is there.
    ///
    /// - Throws: `Failure`; the old file is unchanged.
    public func replace(_ name: String, with bytes: [UInt8]) throws(Failure) {
        let new = "\(name).new"
        try remove(new)
        let file = try open(new, flags: O_WRONLY | O_CREAT | O_EXCL)
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { break }
            written += max(0, count)
        }
        guard written == bytes.count, fsync(file) == 0 else {
            let code = errno
            close(file)
            unlinkat(descriptor, new, 0)
            throw Failure(description: "\(path)/\(new): cannot be written: \(systemError(code))")
        }
        close(file)
        try rename(new, to: name)
        try sync()
    }

    /// The same for a file that other programs read: the new one has the mode, the owner and the group of this status.
    ///
    /// - Parameter temporary: the name of the file while it is written. A file of this name is removed first.
    public func replace(
        _ name: String, with bytes: [UInt8], by temporary: String, like status: stat
    ) throws(Failure) {
        try writeNew(
            temporary, bytes, mode: status.st_mode & 0o7777, owner: status.st_uid,
            group: status.st_gid)
        do throws(Failure) { try rename(temporary, to: name) } catch {
            unlinkat(descriptor, temporary, 0)
            throw error
        }
        try sync()
    }

    /// Makes a file of this name with all of its content at once. It is on the disk when this returns.
    ///
    /// - Parameters:
    ///   - temporary: the name of the file while it is written.
    ///   - mode: its mode, whatever the umask is.
    ///   - group: its group; nil: that of the process.
    /// - Returns: false if there is a file of this name; it is as it was.
    /// - Throws: `Failure`; then no file of this name was made.
    public func create(
        _ name: String, with bytes: [UInt8], by temporary: String, mode: mode_t = 0o644,
        group: gid_t? = nil
    ) throws(Failure) -> Bool {
        try writeNew(temporary, bytes, mode: mode, owner: .max, group: group ?? .max)
        // Unlike rename(2), linkat(2) never takes the place of another file.
        let isFree = linkat(descriptor, temporary, descriptor, name, 0) == 0
        let code = errno
        unlinkat(descriptor, temporary, 0)
        guard isFree else {
            guard code == EEXIST else {
                throw Failure(description: "\(path)/\(name): cannot be made: \(systemError(code))")
            }
            return false
        }
        do throws(Failure) { try sync() } catch {
            unlinkat(descriptor, name, 0)
            throw error
        }
        return true
    }

    /// Makes a file and flushes its content to the disk. A file of this name, which a killed process left, is removed
    /// first. An owner or a group of `.max` is that of the process.
    private func writeNew(
        _ name: String, _ bytes: [UInt8], mode: mode_t, owner: uid_t, group: gid_t
    ) throws(Failure) {
        if try status(of: name) != nil { try remove(name) }
        let file = try open(name, flags: O_WRONLY | O_CREAT | O_EXCL)
        defer { close(file) }
        if owner != .max || group != .max { fchown(file, owner, group) }
        fchmod(file, mode)
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { break }
            rest = rest.dropFirst(max(0, count))
        }
        guard rest.isEmpty, fsync(file) == 0 else {
            let code = errno
            unlinkat(descriptor, name, 0)
            throw Failure(description: "\(path)/\(name): cannot be written: \(systemError(code))")
        }
    }

    /// Flushes the content of a file to the disk.
    public func sync(_ name: String) throws(Failure) {
        let file = try open(name, flags: O_RDONLY)
        defer { close(file) }
        guard fsync(file) == 0 else { throw failure(name, "cannot be synced to the disk") }
    }

    /// Flushes renames and removals in this directory to the disk.
    public func sync() throws(Failure) {
        guard fsync(descriptor) == 0 else {
            throw Failure(description: "\(path): cannot be synced to the disk: \(systemError())")
        }
    }

    /// Renames a file in this directory, and replaces an existing file with the new name.
    public func rename(_ name: String, to new: String) throws(Failure) {
        guard renameat(descriptor, name, descriptor, new) == 0 else {
            throw failure(name, "cannot be renamed to \(new)")
        }
    }

    /// Removes a file, if it exists.
    public func remove(_ name: String) throws(Failure) {
        guard unlinkat(descriptor, name, 0) != 0, errno != ENOENT else { return }
        throw failure(name, "cannot be removed")
    }

    /// The status of a file, without opening it; nil if it does not exist.
    public func status(of name: String) throws(Failure) -> stat? {
        var status = stat()
        guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) != 0 else { return status }
        guard errno != ENOENT else { return nil }
        throw failure(name, "cannot be examined")
    }

    /// The first bytes of a file; nil if it does not exist.
    public func read(_ name: String, bytes most: Int) throws(Failure) -> [UInt8]? {
        guard try status(of: name) != nil else { return nil }
        let file = try open(name, flags: O_RDONLY)
        defer { close(file) }
        guard let bytes = Descriptor.read(file, upTo: most) else {
            throw failure(name, "cannot be read")
        }
        return Array(bytes.prefix(most))
    }

    private func failure(_ name: String, _ what: String) -> Failure {
        Failure(description: "\(path)/\(name): \(what): \(systemError())")
    }
}

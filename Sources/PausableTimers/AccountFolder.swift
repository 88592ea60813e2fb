// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Accounts in a folder, a file for each name.
///
/// A file has two places, which are written in turn, each with a number and a checksum: a program that is
/// killed in the middle of a save, or a file that something else wrote to, costs one place, and the other one
/// is used. By default what is saved outlives the program at once and a power cut some seconds later, as the
/// kernel writes it; with `isDurable` it is on the disk before `save` returns.
///
/// One program at a time may have the folder open.
public final class AccountFolder: AccountStore {
    /// The most bytes a name may have in UTF-8, a byte other than a letter, a digit, `-`, `_` or `.` counted
    /// three times.
    public static let nameBytesMax = 240

    /// Where it is.
    public let path: String
    private let isDurable: Bool
    private let folder: Int32
    /// Held while a place is chosen and written: two saves at once must not take one place.
    private let writing = Lock(())

    /// Opens a folder, and makes it, for its owner alone, if there is none.
    ///
    /// - Parameters:
    ///   - path: where it is; its parent must exist.
    ///   - isDurable: whether each save waits for the disk.
    /// - Throws: `AccountStoreError` if it cannot be opened, or another program has it open.
    public init(_ path: String, isDurable: Bool = false) throws(AccountStoreError) {
        self.path = path
        self.isDurable = isDurable
        if mkdir(path, 0o700) != 0, errno != EEXIST { throw .failed("make", path, errno) }
        folder = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { throw .failed("open", path, errno) }
        // From here on `deinit` closes it, also when this throws.
        guard flock(folder, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            if code == EWOULDBLOCK {
                throw AccountStoreError(
                    "\(path): another program has it open; end that one, or use another folder")
            }
            throw .failed("lock", path, code)
        }
    }

    deinit {
        // A child that another thread has just forked holds a copy of the descriptor until its exec, which would
        // keep the lock (flock(2)): the lock is released for all copies.
        flock(folder, LOCK_UN)
        close(folder)
    }

    public func load(_ name: String) throws(AccountStoreError) -> TimerAccount? {
        guard let file = try open(name, O_RDONLY) else { return nil }
        defer { close(file) }
        return Self.latest(in: file)?.account
    }

    public func save(_ account: TimerAccount, as name: String) throws(AccountStoreError) {
        guard let file = try open(name, O_RDWR | O_CREAT) else { return }
        defer { close(file) }
        let failure = writing.withLock { _ -> Int32? in
            let number = (Self.latest(in: file)?.number ?? 0) &+ 1
            let bytes = AccountPlace(number: number, account: account).bytes
            let written = pwrite(file, bytes, bytes.count, AccountPlace.offset(of: number))
            guard written == bytes.count else { return written < 0 ? errno : EIO }
            return isDurable && fdatasync(file) != 0 ? errno : nil
        }
        if let failure { throw .failed("write", "\(path)/\(Self.fileName(name))", failure) }
    }

    public func remove(_ name: String) throws(AccountStoreError) {
        try check(name)
        guard unlinkat(folder, Self.fileName(name), 0) != 0, errno != ENOENT else { return }
        throw .failed("remove", "\(path)/\(Self.fileName(name))", errno)
    }

    /// The valid place with the higher number.
    private static func latest(in file: Int32) -> AccountPlace? {
        var latest: AccountPlace?
        for index in UInt64(0)..<2 {
            var bytes = [UInt8](repeating: 0, count: AccountPlace.bytesMax)
            let count = pread(file, &bytes, bytes.count, AccountPlace.offset(of: index))
            guard count > 0, let place = AccountPlace(bytes: bytes[..<count]),
                // A place that was copied over the other one is not what was written there.
                place.number % 2 == index, latest.map({ place.number > $0.number }) ?? true
            else { continue }
            latest = place
        }
        return latest
    }

    /// Opens the file of a name, and follows no link. Nil if it is to be read and there is none.
    private func open(_ name: String, _ flags: Int32) throws(AccountStoreError) -> Int32? {
        try check(name)
        let fileName = Self.fileName(name)
        let file = openat(
            folder, fileName, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600 as mode_t)
        guard file >= 0 else {
            if errno == ENOENT, flags & O_CREAT == 0 { return nil }
            throw .failed("open", "\(path)/\(fileName)", errno)
        }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(file)
            throw AccountStoreError("\(path)/\(fileName): not a regular file; remove it")
        }
        return file
    }

    private func check(_ name: String) throws(AccountStoreError) {
        guard !name.isEmpty, Self.fileName(name).utf8.count <= Self.nameBytesMax else {
            throw AccountStoreError(
                "a timer's name has 1 to \(Self.nameBytesMax) bytes, signs counted three times: "
                    + "\"\(name.prefix(40))\"")
        }
    }

    /// The name with what is special in file names written as `%2F`. Two names never have one file.
    private static func fileName(_ name: String) -> String {
        var file = ""
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: ".") where !file.isEmpty:
                file.append(Character(UnicodeScalar(byte)))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                file += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return file
    }
}

extension AccountStoreError {
    fileprivate static func failed(_ what: String, _ path: String, _ code: Int32) -> Self {
        Self("\(path): cannot \(what) it: \(String(cString: strerror(code)))")
    }
}

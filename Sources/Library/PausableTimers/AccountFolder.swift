// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Saves accounts in a folder, with one file for each name.
///
/// A file has two places, which are written alternately. Each contains a number and a checksum. If
/// the program is killed during a save, or another program damages the file, at most one place is
/// lost and the other one is used. By default a saved account survives the end of the program at
/// once, and a power failure some seconds later, when the kernel has written it. With `isDurable`
/// it is on the disk before `save` returns.
///
/// Only one program at a time can open the folder.
public final class AccountFolder: AccountStore {
    /// The maximum length of a name in bytes of UTF-8. A byte that is not a letter, a digit, `-`,
    /// `_` or `.` counts three times.
    public static let nameBytesMax = 240

    /// The path of the folder, for errors.
    public let path: String
    private let isDurable: Bool
    private let folder: Int32
    /// The lock is held while a place is selected and written, so that two simultaneous saves
    /// cannot use the same place.
    private let writing = Lock(())

    /// Opens a folder. Creates it with access for its owner only, if it does not exist.
    ///
    /// - Parameters:
    ///   - path: the path of the folder; its parent must exist.
    ///   - isDurable: whether each save waits for the disk.
    /// - Throws: `AccountStoreError` if the folder cannot be opened, or if another program has
    ///   opened it.
    public init(_ path: String, isDurable: Bool = false) throws(AccountStoreError) {
        self.path = path
        self.isDurable = isDurable
        if mkdir(path, 0o700) != 0, errno != EEXIST { throw .failed("make", path, errno) }
        folder = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { throw .failed("open", path, errno) }
        // From here on `deinit` closes the descriptor, even if this initializer throws.
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
        // A child that another thread has just forked has a copy of the descriptor until its exec,
        // and that copy would keep the lock (flock(2)). Therefore the lock is released explicitly,
        // for all copies.
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
                // If one place was copied over the other, its number does not match its position,
                // and it is ignored.
                place.number % 2 == index, latest.map({ place.number > $0.number }) ?? true
            else { continue }
            latest = place
        }
        return latest
    }

    /// Opens the file of a name without following links. Returns nil if the file is opened for
    /// reading and does not exist.
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

    /// The file name for a name: special bytes are written like `%2F`. Two different names never
    /// have the same file.
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

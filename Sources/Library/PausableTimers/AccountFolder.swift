// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

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
    private let folder: Platform.File
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
    public convenience init(_ path: String, isDurable: Bool = false) throws(AccountStoreError) {
        let folder: Platform.File
        do { try Platform.makeFolder(path) } catch { throw .failed("make", path, error) }
        do { folder = try .folder(path) } catch { throw .failed("open", path, error) }
        do {
            try folder.lock()
        } catch {
            guard error.isLocked else { throw .failed("lock", path, error) }
            throw AccountStoreError(
                "\(path): another program has it open; end that one, or use another folder")
        }
        self.init(path, isDurable, folder)
    }

    private init(_ path: String, _ isDurable: Bool, _ folder: consuming Platform.File) {
        self.path = path
        self.isDurable = isDurable
        self.folder = folder
    }

    deinit { folder.unlock() }

    /// The account that was last saved under this name; nil if there is none, or if both places are
    /// damaged.
    ///
    /// - Throws: `AccountStoreError` for an invalid name, or if the file cannot be read.
    /// - Complexity: O(1).
    public func load(_ name: String) throws(AccountStoreError) -> TimerAccount? {
        guard let file = try open(name, forWriting: false) else { return nil }
        return Self.latest(in: file)?.account
    }

    /// Writes the account to the older one of the two places.
    ///
    /// - Throws: `AccountStoreError` for an invalid name, or if the file cannot be written; the
    ///   account that was saved before can still be loaded.
    /// - Complexity: O(1).
    public func save(_ account: TimerAccount, as name: String) throws(AccountStoreError) {
        guard let file = try open(name, forWriting: true) else { return }
        let failure = writing.withLock { _ -> Platform.Failure? in
            let number = (Self.latest(in: file)?.number ?? 0) &+ 1
            let bytes = AccountPlace(number: number, account: account).bytes
            do throws(Platform.Failure) {
                try file.write(bytes, at: AccountPlace.offset(of: number))
                if isDurable { try file.synchronize() }
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw .failed("write", "\(path)/\(Self.fileName(name))", failure) }
    }

    /// Deletes the file of this name. Does nothing if there is none.
    ///
    /// - Throws: `AccountStoreError` for an invalid name, or if the file cannot be deleted.
    /// - Complexity: O(1).
    public func remove(_ name: String) throws(AccountStoreError) {
        try check(name)
        do {
            try folder.removeFile(Self.fileName(name))
        } catch {
            guard !error.isMissing else { return }
            throw .failed("remove", "\(path)/\(Self.fileName(name))", error)
        }
    }

    /// The valid place with the higher number.
    private static func latest(in file: borrowing Platform.File) -> AccountPlace? {
        var latest: AccountPlace?
        for index in UInt64(0)..<2 {
            let bytes = file.read(AccountPlace.bytesMax, at: AccountPlace.offset(of: index))
            guard !bytes.isEmpty, let place = AccountPlace(bytes: bytes[...]),
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
    private func open(
        _ name: String, forWriting: Bool
    ) throws(AccountStoreError) -> Platform.File? {
        try check(name)
        let fileName = Self.fileName(name)
        let file: Platform.File
        do {
            file = try folder.file(fileName, forWriting: forWriting)
        } catch {
            if error.isMissing, !forWriting { return nil }
            throw .failed("open", "\(path)/\(fileName)", error)
        }
        guard file.isRegular else {
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
    fileprivate static func failed(
        _ what: String, _ path: String, _ failure: Platform.Failure
    ) -> Self {
        Self("\(path): cannot \(what) it: \(failure.sentence)")
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// The journal, spoken to in its own protocol (https://systemd.io/JOURNAL_NATIVE_PROTOCOL/). Sending never
/// waits: what a journal that is stuck or away does not take is dropped and counted, and the count is the
/// first thing it hears of when it takes entries again.
public final class Journal: Sendable {
    /// The most bytes of one field's value; what is longer is cut off.
    public static let valueBytesMax = 64 << 10
    /// Where journald listens.
    public static let standardPath = "/run/systemd/journal/socket"

    private let socket: DatagramSocket?
    private let dropped = Mutex(0)

    /// - Parameter path: the journal's socket.
    public init(path: String = Journal.standardPath) { socket = DatagramSocket(address: path) }

    /// How many entries were dropped since the journal last took one.
    public var droppedCount: Int { dropped.withLock { $0 } }

    /// Whether standard error leads to the journal, as JOURNAL_STREAM says (systemd.exec(5)).
    public static var isStderr: Bool {
        guard let stream = getenv("JOURNAL_STREAM").map({ String(cString: $0) }) else {
            return false
        }
        var status = stat()
        guard fstat(STDERR_FILENO, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    /// Sends one entry. Fields whose names the journal would refuse are left out.
    ///
    /// - Parameters:
    ///   - priority: 0 (emergency) to 7 (debug), as in syslog(3).
    ///   - fields: names of capital letters, digits and `_`, at most 64 of them, no digit or `_` first.
    /// - Returns: whether the journal took it.
    @discardableResult
    public func send(message: String, priority: Int, fields: [(String, String)] = []) -> Bool {
        let entry = Self.encode(
            [("MESSAGE", message), ("PRIORITY", "\(priority)")] + fields)
        return dropped.withLock { dropped in
            guard reportDrops(&dropped), deliver(entry) else {
                dropped += 1
                return false
            }
            return true
        }
    }

    /// Tells of what was dropped, if anything was.
    private func reportDrops(_ dropped: inout Int) -> Bool {
        guard dropped > 0 else { return true }
        let entry = Self.encode([
            ("MESSAGE", "\(dropped) log entries were dropped while the journal did not take any"),
            ("PRIORITY", "4"), ("SYSLOG_IDENTIFIER", "timerd"), ("TIMERD_EVENT", "log-dropped"),
            ("TIMERD_DROPPED", "\(dropped)"),
        ])
        guard deliver(entry) else { return false }
        dropped = 0
        return true
    }

    private func deliver(_ entry: [UInt8]) -> Bool {
        guard let socket else { return false }
        switch socket.send(entry) {
        case 0: return true
        case EMSGSIZE, ENOBUFS: return deliverAsFile(entry)
        default: return false
        }
    }

    /// What is too large for a datagram goes as a sealed file in memory, as the protocol says.
    private func deliverAsFile(_ entry: [UInt8]) -> Bool {
        guard let file = MemoryFile.create(named: "timerd-journal") else { return false }
        defer { close(file) }
        guard entry.withUnsafeBytes({ write(file, $0.baseAddress, $0.count) }) == entry.count
        else { return false }
        guard MemoryFile.seal(file) else { return false }
        return socket?.send([], passing: file) == 0
    }

    /// The fields in the form of the protocol. A value with a newline goes with its length before it, so
    /// that none can begin another field.
    static func encode(_ fields: [(String, String)]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (name, value) in fields where isFieldName(name) {
            let value = value.utf8.prefix(valueBytesMax)
            bytes += name.utf8
            if value.contains(UInt8(ascii: "\n")) {
                bytes.append(UInt8(ascii: "\n"))
                withUnsafeBytes(of: UInt64(value.count).littleEndian) { bytes += $0 }
            } else {
                bytes.append(UInt8(ascii: "="))
            }
            bytes += value
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }

    /// Names that begin with an underscore are the journal's own, and it drops them.
    static func isFieldName(_ name: String) -> Bool {
        guard let first = name.utf8.first, name.utf8.count <= 64 else { return false }
        let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        return capitals.contains(first)
            && name.utf8.allSatisfy {
                capitals.contains($0) || digits.contains($0) || $0 == UInt8(ascii: "_")
            }
    }
}

/// Files in memory. Glibc shows memfd_create(2) and seals only to those who define _GNU_SOURCE, so their
/// numbers, which never change, stand here.
private enum MemoryFile {
    /// A new file that can be sealed and is closed on exec; nil if there is none to be had.
    static func create(named name: String) -> Int32? {
        typealias Create = @convention(c) (UnsafePointer<CChar>, UInt32) -> Int32
        // RTLD_DEFAULT is the null handle (dlsym(3)).
        guard let symbol = dlsym(nil, "memfd_create") else { return nil }
        let create = unsafeBitCast(symbol, to: Create.self)
        let closeOnExec: UInt32 = 1
        let allowSealing: UInt32 = 2
        let file = create(name, closeOnExec | allowSealing)
        return file >= 0 ? file : nil
    }

    /// Lets nobody change the file any more: F_ADD_SEALS with SEAL, SHRINK, GROW and WRITE (fcntl(2)).
    static func seal(_ file: Int32) -> Bool { fcntl(file, 1033, 0x0f as Int32) == 0 }
}

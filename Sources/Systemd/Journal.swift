// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Synchronization

/// The journal, spoken to in its own protocol (https://systemd.io/JOURNAL_NATIVE_PROTOCOL/) over one
/// descriptor. Sending never waits longer than `timeout`, where sd_journal_sendv(3) waits as
/// long as journald is stuck: what a journal that is stuck or away does not take is dropped and counted, and
/// the count is the first thing it hears of when it takes entries again.
public final class Journal: Sendable {
    /// The most bytes of one field's value; what is longer is cut off.
    public static let valueBytesMax = 64 << 10
    /// The most fields a caller adds to an entry; those beyond are left out. With `valueBytesMax` it bounds
    /// what one entry can take to some 8 MiB.
    public static let fieldsMax = 128
    /// Where journald listens.
    public static let standardPath = "/run/systemd/journal/socket"

    private let socket: DatagramSocket?
    private let dropped = Mutex(0)

    /// - Parameter path: the journal's socket. One that is not there, or not a socket's path at all, is
    ///   like a journal that does not answer.
    public init(path: String = Journal.standardPath) { socket = DatagramSocket(address: path) }

    /// How many entries were dropped since the journal last took one.
    public var droppedCount: Int { dropped.withLock { $0 } }

    /// Whether standard error leads to the journal, as JOURNAL_STREAM says (systemd.exec(5)).
    public static var isStderr: Bool {
        isStream(STDERR_FILENO, named: getenv("JOURNAL_STREAM").map { String(cString: $0) })
    }

    /// Whether a descriptor is the stream of this `device:inode`. The variable alone says nothing: whoever
    /// redirects standard error leaves it as it is.
    static func isStream(_ descriptor: Int32, named stream: String?) -> Bool {
        var status = stat()
        guard let stream, fstat(descriptor, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    /// Sends one entry, as `send(message:priority:fields:)` of `Field`s does.
    /// - Returns: whether the journal took it.
    @discardableResult
    public func send(message: String, priority: Int, fields: [(String, String)] = []) -> Bool {
        send(message: message, priority: priority, fields: fields.map { Field($0.0, $0.1) })
    }

    /// Sends one entry. Any thread may, at any time. Fields whose names the journal would refuse are left
    /// out, and so are a second MESSAGE or PRIORITY.
    ///
    /// - Parameters:
    ///   - priority: 0 (emergency) to 7 (debug), as in syslog(3); what lies outside is taken as the nearer
    ///     of the two.
    ///   - fields: at most `fieldsMax`.
    ///   - timeout: how long to wait for a journal that works, and is only slower than what is written: its
    ///     socket holds 512 entries at most, and no more than a job writes in a moment. One that took nothing
    ///     for as long is stuck, and not waited for again until it takes entries.
    /// - Returns: whether the journal took it. If not, it is counted.
    /// - Complexity: O(bytes of the entry).
    @discardableResult
    public func send(
        message: String, priority: Int, fields: [Field], timeout: Duration = .zero
    ) -> Bool {
        let own = [
            Field("MESSAGE", message), Field("PRIORITY", "\(min(max(priority, 0), 7))"),
        ]
        let names = own.map(\.name)
        let added = fields.prefix(Self.fieldsMax).filter { !names.contains($0.name) }
        let entry = Self.encode(own + added)
        var outcome = attempt(entry, isLast: timeout <= .zero)
        guard outcome == .full else { return outcome == .taken }
        let deadline = ContinuousClock.now + timeout
        while outcome == .full {
            // There is nothing to wait on: a socket that is not connected is told nothing of its peer's queue.
            usleep(Self.retryMicroseconds)
            outcome = attempt(entry, isLast: ContinuousClock.now >= deadline)
        }
        return outcome == .taken
    }

    /// How long to wait before another attempt.
    private static let retryMicroseconds: UInt32 = 1000

    private enum Outcome {
        case taken
        case dropped
        /// Nothing was done: the journal has no room for now.
        case full
    }

    /// The lock is held over the sending, which does not wait, so that the count of what was dropped comes
    /// before the entry that got through and says neither too many nor too few.
    ///
    /// - Parameter isLast: whether an entry there is no room for is dropped, or may be tried again.
    private func attempt(_ entry: [UInt8], isLast: Bool) -> Outcome {
        dropped.withLock { dropped in
            let failure = reportDrops(&dropped) ?? deliver(entry)
            if failure == 0 { return .taken }
            // Where entries were dropped already it is stuck.
            if failure == EAGAIN, !isLast, dropped == 0 { return .full }
            dropped += 1
            return .dropped
        }
    }

    /// Tells of what was dropped, if anything was.
    /// - Returns: the errno if that could not be told.
    private func reportDrops(_ dropped: inout Int) -> Int32? {
        guard dropped > 0 else { return nil }
        let entries = dropped == 1 ? "1 log entry was" : "\(dropped) log entries were"
        let entry = Self.encode([
            Field("MESSAGE", "\(entries) dropped while the journal did not take any"),
            Field("PRIORITY", "4"), Field("SYSLOG_IDENTIFIER", "timerd"),
            Field("TIMERD_EVENT", "log-dropped"), Field("TIMERD_DROPPED", "\(dropped)"),
        ])
        let failure = deliver(entry)
        guard failure == 0 else { return failure }
        dropped = 0
        return nil
    }

    /// - Returns: 0, or the errno.
    private func deliver(_ entry: [UInt8]) -> Int32 {
        guard let socket else { return EINVAL }
        switch socket.send(entry) {
        // ENOBUFS is what the kernel says of a datagram it finds no memory in one piece for.
        case EMSGSIZE, ENOBUFS: return Self.deliverAsFile(entry, over: socket)
        case let result: return result
        }
    }

    /// What is too large for a datagram goes as a sealed file in memory, as the protocol says.
    private static func deliverAsFile(_ entry: [UInt8], over socket: DatagramSocket) -> Int32 {
        let file = clinux_memory_file("journal-entry")
        guard file >= 0 else { return errno }
        defer { close(file) }
        var offset = 0
        while offset < entry.count {
            let count = entry.withUnsafeBytes {
                write(file, $0.baseAddress?.advanced(by: offset), $0.count - offset)
            }
            guard count > 0 || (count < 0 && errno == EINTR) else { return count < 0 ? errno : EIO }
            offset += max(count, 0)
        }
        guard clinux_seal(file) == 0 else { return errno }
        return socket.send([], passing: file)
    }
}

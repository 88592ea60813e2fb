// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Synchronization

/// A client of the journal in its native protocol (https://systemd.io/JOURNAL_NATIVE_PROTOCOL/)
/// over one descriptor. Sending never waits longer than `timeout`, while sd_journal_sendv(3) waits
/// as long as journald hangs. Entries that a hanging or missing journal does not accept are dropped
/// and counted, and the count is the first entry that is sent when the journal accepts entries
/// again.
public final class Journal: Sendable {
    /// The most bytes of one field's value; longer values are cut.
    public static let valueBytesMax = 64 << 10
    /// The most fields that a caller can add to an entry; further ones are dropped. With
    /// `valueBytesMax` this limits an entry to some 8 MiB.
    public static let fieldsMax = 128
    /// The path at which journald listens.
    public static let standardPath = "/run/systemd/journal/socket"

    private let socket: DatagramSocket?
    private struct Drops {
        /// Those that the journal was not told of yet.
        var unreported = 0
        var total = 0
    }

    private let dropped = Mutex(Drops())

    /// - Parameter path: the journal's socket. A missing socket or an invalid path is treated like
    ///   a journal that does not respond.
    public init(path: String = Journal.standardPath) { socket = DatagramSocket(address: path) }

    /// How many entries were dropped since the journal last accepted one.
    public var droppedCount: Int { dropped.withLock(\.unreported) }

    /// How many entries were dropped since the start of the process.
    public var droppedTotal: Int { dropped.withLock(\.total) }

    /// Whether standard error is connected to the journal, according to JOURNAL_STREAM
    /// (systemd.exec(5)).
    public static var isStderr: Bool {
        isStream(STDERR_FILENO, named: getenv("JOURNAL_STREAM").map { String(cString: $0) })
    }

    /// Whether a descriptor is the stream with this `device:inode`. The variable alone is not
    /// enough: a program that redirects standard error does not change it.
    static func isStream(_ descriptor: Int32, named stream: String?) -> Bool {
        var status = stat()
        guard let stream, fstat(descriptor, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    /// Sends one entry, as `send(message:priority:fields:)` of `Field`s does.
    /// - Returns: whether the journal accepted it.
    @discardableResult
    public func send(message: String, priority: Int, fields: [(String, String)] = []) -> Bool {
        send(message: message, priority: priority, fields: fields.map { Field($0.0, $0.1) })
    }

    /// Sends one entry. It can be called on any thread. Fields with names that the journal would
    /// refuse are dropped, and so are a second MESSAGE or PRIORITY.
    ///
    /// - Parameters:
    ///   - priority: 0 (emergency) to 7 (debug), as in syslog(3); other values are clamped to this
    ///     range.
    ///   - fields: at most `fieldsMax`.
    ///   - timeout: how long to wait for a journal that works but is slower than the writer: its
    ///     socket holds at most 512 entries, which a job can write in a moment. A journal that
    ///     accepted nothing for this long hangs, and is not waited for again until it accepts
    ///     entries.
    /// - Returns: whether the journal accepted it. If not, it is counted.
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
        let start = clinux_awake()
        while outcome == .full {
            // There is no event to wait for: poll does not report the queue of the peer for an
            // unconnected socket.
            usleep(Self.retryMicroseconds)
            outcome = attempt(entry, isLast: .nanoseconds(clinux_awake() - start) >= timeout)
        }
        return outcome == .taken
    }

    /// Waits until the journal has handled every entry that was sent so far, for at most this long. A
    /// program calls it last: the journal looks up the unit of an entry when it reads it, and by then a
    /// process that has ended is gone, so that `journalctl -u` would not show why it ended. A journal
    /// that hangs is not waited for.
    public func flush(timeout: Duration) {
        let start = clinux_awake()
        // The journal ignores an empty datagram. Once it has read it, it is done with those before.
        guard let socket, droppedCount == 0, socket.send([]) == 0 else { return }
        while socket.hasUnread, .nanoseconds(clinux_awake() - start) < timeout {
            usleep(Self.retryMicroseconds)
        }
    }

    /// How long to wait before another attempt.
    private static let retryMicroseconds: UInt32 = 1000

    private enum Outcome {
        case taken
        case dropped
        /// Nothing was sent: the journal has no room now.
        case full
    }

    /// The lock is held during the sending, which does not wait. So the count of dropped entries is
    /// sent before the next accepted entry and is exact.
    ///
    /// - Parameter isLast: whether to drop the entry if there is no room for it, instead of
    ///   returning `full`.
    private func attempt(_ entry: [UInt8], isLast: Bool) -> Outcome {
        dropped.withLock { dropped in
            let failure = reportDrops(&dropped.unreported) ?? deliver(entry)
            if failure == 0 { return .taken }
            // If entries were already dropped, the journal hangs.
            if failure == EAGAIN, !isLast, dropped.unreported == 0 { return .full }
            dropped.unreported += 1
            dropped.total += 1
            return .dropped
        }
    }

    /// Sends the count of dropped entries, if there are any.
    /// - Returns: the errno if that failed.
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
        // ENOBUFS: the kernel has no contiguous memory for the datagram.
        case EMSGSIZE, ENOBUFS: return Self.deliverAsFile(entry, over: socket)
        case let result: return result
        }
    }

    /// Sends an entry that is too large for a datagram as a sealed file in memory, as the protocol
    /// defines.
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

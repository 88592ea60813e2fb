// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Synchronization

/// Writes lines to a descriptor whose reader may stop to read, such as standard error: a terminal
/// that was stopped with Ctrl-S, or a pipe to a pager. No caller waits for the reader. Lines that it
/// does not take now are kept and written later, by a thread that exists only while there are such
/// lines. Lines that do not fit are lost and counted, and the count is a line at their place.
package final class LineWriter: Sendable {
    /// The most bytes of lines that are kept for a slow reader.
    package static let bytesMax = 1 << 20

    private struct State {
        /// What was not written yet, from `start` on.
        var pending: [UInt8] = []
        var start = 0
        /// The lines that were lost and that no line says yet.
        var lost = 0
        var lostTotal = 0
        var isDraining = false
        /// How many calls of `together` have not returned.
        var together = 0

        var isEmpty: Bool { start == pending.count }
        var count: Int { pending.count - start }

        /// The memory of what was written is used again, though not each time, which would move all
        /// that is kept.
        mutating func dropFirst(_ count: Int) {
            start += count
            guard start >= pending.count / 2 else { return }
            pending.removeFirst(start)
            start = 0
        }
    }

    private let state = Mutex(State())
    private let output: Output
    private let bytesMax: Int
    private let lineOfLost: @Sendable (String, Int) -> String

    /// - Parameters:
    ///   - descriptor: stays open as long as this object is used, and is not changed: other
    ///     processes may share it.
    ///   - bytesMax: the most bytes that are kept; at least one line fits.
    ///   - lineOfLost: makes the line about lost lines, of a sentence and their number.
    package convenience init(
        _ descriptor: Int32, bytesMax: Int = LineWriter.bytesMax,
        lineOfLost: @escaping @Sendable (_ sentence: String, _ lost: Int) -> String
    ) {
        self.init(Output(descriptor), bytesMax: bytesMax, lineOfLost: lineOfLost)
    }

    package init(
        _ output: Output, bytesMax: Int, lineOfLost: @escaping @Sendable (String, Int) -> String
    ) {
        self.output = output
        self.bytesMax = bytesMax
        self.lineOfLost = lineOfLost
    }

    deinit { output.close() }

    /// How many lines were lost in all.
    package var lostTotal: Int { state.withLock(\.lostTotal) }

    /// Writes a line, with its line feed. It can be called on any thread.
    ///
    /// - Parameter timeout: how long to wait for room if there is none. A reader that took nothing
    ///   for this long is not waited for again until it reads.
    package func write(_ line: String, timeout: Duration = .zero) {
        let bytes = Array(line.utf8)
        guard !attempt(bytes, isLast: timeout <= .zero) else { return }
        let start = clinux_awake()
        repeat {
            Self.pause()
        } while !attempt(
            bytes, isLast: .nanoseconds(clinux_awake() - start) >= timeout)
    }

    /// Calls `body`, and writes the lines that are passed to `write` until it returns with few system
    /// calls: one for each of them costs more than the line. Lines of other threads are held back
    /// too. A process that crashes meanwhile may lose up to 4096 bytes.
    package func together(_ body: () -> Void) {
        state.withLock { $0.together += 1 }
        body()
        state.withLock { state in
            state.together -= 1
            if state.together == 0 { send(&state) }
        }
    }

    /// Waits until everything is written, for at most this long.
    /// - Returns: whether it is.
    @discardableResult
    package func flush(timeout: Duration) -> Bool {
        let start = clinux_awake()
        while !state.withLock(\.isEmpty) {
            guard .nanoseconds(clinux_awake() - start) < timeout else { return false }
            Self.pause()
        }
        return true
    }

    /// There is no event for the room, and those who wait for it are rare.
    private static func pause() { usleep(1000) }

    /// - Returns: whether the line was written, kept or lost; otherwise there is no room for it now.
    private func attempt(_ line: [UInt8], isLast: Bool) -> Bool {
        state.withLock { state in
            if state.together > 0, keep(line, in: &state) { return true }
            send(&state)
            // After the first line that was lost, all are until everything that is kept was written, so
            // that they are missing at one place.
            if state.lost == 0, state.isEmpty || state.count + line.count <= bytesMax {
                state.pending += line
                send(&state)
                return true
            }
            guard isLast || state.lost > 0 else { return false }
            state.lost += 1
            state.lostTotal += 1
            return true
        }
    }

    /// Holds a line back, to write it with others. False if it must be written now.
    private func keep(_ line: [UInt8], in state: inout State) -> Bool {
        let piece = min(bytesMax, Output.pieceMax)
        if state.count + line.count > piece { send(&state) }
        guard state.lost == 0, state.count + line.count <= piece else { return false }
        state.pending += line
        return true
    }

    /// Writes what the reader takes now, and has the rest written later.
    private func send(_ state: inout State) {
        while !state.isEmpty {
            let count = state.pending[state.start...].withUnsafeBytes {
                output.send(Self.piece(of: $0))
            }
            if count > 0 {
                state.dropFirst(count)
            } else if count == 0 || errno == EAGAIN {
                return drainLater(&state)
            } else if errno != EINTR {
                // Nobody will ever read it, and there is no other place to report that.
                state.dropFirst(state.count)
            }
            guard state.isEmpty else { continue }
            state.pending = state.lost > 0 ? Array(notice(of: state.lost).utf8) : []
            state.lost = 0
        }
    }

    private func notice(of lost: Int) -> String {
        let lines = lost == 1 ? "line of the log was" : "lines of the log were"
        return lineOfLost("\(lost) \(lines) dropped here: nothing read standard error", lost)
    }

    /// Whole lines, as many as a pipe takes as one piece (PIPE_BUF, pipe(7)), so that a line of another
    /// process cannot get into one of them; of a longer line its first part.
    private static func piece(of bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let first = bytes.prefix(Output.pieceMax)
        let end = first.count < bytes.count ? first.lastIndex(of: UInt8(ascii: "\n")) : nil
        return UnsafeRawBufferPointer(rebasing: end.map { bytes[...$0] } ?? first)
    }

    /// Without a thread, the next line tries it again.
    private func drainLater(_ state: inout State) {
        guard !state.isDraining else { return }
        state.isDraining = WorkerThread.start("timerd.stderr", drain) == 0
    }

    /// Writes what is kept, as a thread that waits for the reader.
    private func drain() {
        var isDone = false
        while !isDone {
            output.wait()
            let hasProgressed = state.withLock { state in
                let before = state.count
                send(&state)
                isDone = state.isEmpty
                if isDone { state.isDraining = false }
                return state.count < before
            }
            // A terminal may report room and take nothing, because it writes some characters as two.
            if !hasProgressed { usleep(10_000) }
        }
    }
}

/// A descriptor that is written to without waiting, although it may be a blocking one: to make it
/// non-blocking would change it for all processes that share it.
package struct Output {
    private enum Way {
        /// A second opening of the same pipe or terminal, which does not block.
        case opened(Int32)
        case socket
        /// It cannot be opened again, because it belongs to another user. It has room for this many
        /// bytes if it has room at all.
        case polled(piece: Int)
        /// Such as a file, whose writing does not depend on a reader.
        case direct
    }

    /// A piece of at most this size is written to a pipe as a whole (PIPE_BUF).
    static let pieceMax = 4096

    private let descriptor: Int32
    private let way: Way

    /// - Parameter reopens: whether to try to open a pipe or a terminal again.
    package init(_ descriptor: Int32, reopens: Bool = true) {
        self.descriptor = descriptor
        way = Self.way(descriptor, reopens: reopens)
    }

    private static func way(_ descriptor: Int32, reopens: Bool) -> Way {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return .direct }
        switch status.st_mode & S_IFMT {
        case S_IFSOCK: return .socket
        case S_IFIFO, S_IFCHR:
            let flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
            let opened = reopens ? open("/proc/self/fd/\(descriptor)", flags) : -1
            guard opened < 0 else { return .opened(opened) }
            // A pipe has room for PIPE_BUF bytes or none (pipe(7)); a terminal tells no number.
            return .polled(piece: status.st_mode & S_IFMT == S_IFIFO ? pieceMax : 64)
        default: return .direct
        }
    }

    /// Writes some of the bytes.
    /// - Returns: how many, or -1 with errno set: EAGAIN if none can be written now.
    package func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch way {
        case .opened(let opened): return write(opened, bytes.baseAddress, bytes.count)
        case .socket:
            let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
            return Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags)
        case .polled(let piece):
            guard hasRoom(within: 0) else {
                errno = EAGAIN
                return -1
            }
            return write(descriptor, bytes.baseAddress, min(bytes.count, piece))
        case .direct: return write(descriptor, bytes.baseAddress, bytes.count)
        }
    }

    /// Closes the descriptor, if this writer opened it.
    package func close() {
        if case .opened(let opened) = way { Glibc.close(opened) }
    }

    /// Waits until something can be written, or until writing fails.
    package func wait() { _ = hasRoom(within: -1) }

    private func hasRoom(within milliseconds: Int32) -> Bool {
        var written = descriptor
        if case .opened(let opened) = way { written = opened }
        var polled = pollfd(fd: written, events: Int16(POLLOUT), revents: 0)
        return poll(&polled, 1, milliseconds) > 0
    }
}

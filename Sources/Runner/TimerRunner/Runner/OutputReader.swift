// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore

/// Reads output into one buffer for all runs, and remembers whose output is not read for now, which
/// lines have no end, and how many lines each job has written lately.
struct OutputReader {
    /// What a pipe has.
    enum Reading {
        /// Valid until the next `read`.
        case bytes(UnsafeRawBufferPointer)
        /// Nothing for now.
        case nothing
        /// Nothing any more.
        case end
    }

    /// Says after output of a run was reported whether there is room for more of it.
    let gate: @Sendable (Run.ID) -> OutputGate
    private let buffer = Buffer()
    /// The windows in which the lines of jobs are counted.
    private var limits = LineLimits()
    /// The children whose output is not read for now, by their runs.
    private var paused: [Run.ID: UInt64] = [:]
    private var unfinished = UnfinishedLines()

    private final class Buffer {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

        deinit { bytes.deallocate() }
    }

    init(gate: @escaping @Sendable (Run.ID) -> OutputGate) { self.gate = gate }

    /// Reads from a pipe, at most this many bytes and at most the buffer.
    func read(_ descriptor: Int32, most: Int) -> Reading {
        while true {
            let count = Glibc.read(
                descriptor, buffer.bytes.baseAddress, min(most, buffer.bytes.count))
            if count > 0 {
                return .bytes(UnsafeRawBufferPointer(rebasing: buffer.bytes[..<count]))
            }
            if count < 0, errno == EINTR { continue }
            return count == 0 || errno != EAGAIN ? .end : .nothing
        }
    }

    // MARK: - Lines that a job may write

    /// The window in which a line that a job writes now is counted; nil if it has no limit.
    func window(of job: Job.Name, _ limit: LineLimit?, at now: Int64) -> LineWindow? {
        limit.map { limits.window(of: job, $0, at: now) }
    }

    /// Stores a window in which lines were counted.
    mutating func keep(_ window: LineWindow, of job: Job.Name, at now: Int64) {
        limits.keep(window, of: job, at: now)
    }

    // MARK: - Output that is not read for now

    /// The output of this child of a run is not read.
    mutating func pause(_ serial: UInt64, of run: Run.ID) { paused[run] = serial }

    /// The output of a run is read again.
    /// - Returns: its child; nil if its output was not paused.
    mutating func resume(_ run: Run.ID) -> UInt64? { paused.removeValue(forKey: run) }

    // MARK: - Lines without an end

    /// When `takeUnfinished` must be called next, by CLOCK_MONOTONIC.
    var next: Int64? { unfinished.next }

    /// Whether the line of this child that is not ended is noted.
    func hasNoted(_ serial: UInt64) -> Bool { unfinished.contains(serial) }

    mutating func noteUnfinished(_ serial: UInt64, ended: [Int], at now: Int64) {
        unfinished.note(serial, ended: ended, at: now)
    }

    /// The children with a line whose end was not seen for long enough.
    mutating func takeUnfinished(at now: Int64) -> [UnfinishedLines.Noted] {
        unfinished.takeDue(at: now)
    }
}

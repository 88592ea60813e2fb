// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// Reads the output of runs, no faster than it is consumed.
extension RunnerThread {
    /// The most bytes read from one pipe before other pipes are read.
    private static let bytesPerPipe = 8 << 10
    /// The most bytes that are cut into lines before the output gate is checked again.
    private static let bytesPerGateCheck = 4 << 10
    /// The most bytes that are discarded from a pipe at a time, and the time until the next
    /// discard, in nanoseconds.
    private static let discardBytes = 256 << 10
    private static let discardPause: Int64 = 20_000_000
    /// The most bytes read from one pipe when its process has ended: the largest pipe that an
    /// unprivileged process can have (pipe(7), pipe-max-size).
    private static let drainBytesMax = 1 << 20

    /// Reads some bytes from a pipe. If there is no room for more lines of the run, its output is
    /// not read for a while, and the run blocks when its pipe is full.
    mutating func readSome(of serial: UInt64, stream: Int) {
        var total = 0
        if children[serial]?.output.isDropping == true { _ = mustDrop(serial) }
        while total < Self.bytesPerPipe, case let count = readOnce(of: serial, stream), count > 0 {
            total += count
            guard let run = children[serial]?.id else { return }
            guard children[serial]?.output.isDropping == false else {
                return pauseReading(serial, until: RunnerClock.awake() + Self.discardPause)
            }
            switch output.gate(run) {
            case .open: continue
            case .slow(let until): return pauseReading(serial, until: until)
            case .discard:
                return pauseReading(serial, until: RunnerClock.awake() + Self.discardPause)
            }
        }
    }

    /// Reads everything that a run left in a pipe when it ended. Lines for which there is no room
    /// are counted.
    mutating func drain(_ serial: UInt64, stream: Int) {
        var total = 0
        while total < Self.drainBytesMax, case let count = readOnce(of: serial, stream), count > 0 {
            total += count
            guard let run = children[serial]?.id,
                children[serial]?.output.isDropping != false || output.gate(run) == .discard
            else { continue }
            discard(of: serial, stream: stream, most: Self.drainBytesMax - total)
            break
        }
        finishLine(of: serial, stream: stream)
    }

    /// - Returns: how many bytes were read; 0 if the pipe is empty or has reached its end.
    private mutating func readOnce(of serial: UInt64, _ stream: Int) -> Int {
        guard let bytes = read(from: serial, stream, most: Self.bytesPerGateCheck) else {
            return 0
        }
        take(bytes, of: serial, stream: stream)
        return bytes.count
    }

    /// - Returns: what was read; nil if the pipe is empty or has reached its end, at which it is
    ///   closed.
    private mutating func read(
        from serial: UInt64, _ stream: Int, most: Int
    ) -> UnsafeRawBufferPointer? {
        guard let descriptor = children[serial]?.output.descriptor(of: stream) else { return nil }
        switch output.read(descriptor, most: most) {
        case .bytes(let bytes): return bytes
        case .nothing: return nil
        case .end:
            finishLine(of: serial, stream: stream)
            children[serial]?.output.close(stream)
            return nil
        }
    }

    private mutating func take(
        _ bytes: UnsafeRawBufferPointer, of serial: UInt64, stream: Int
    ) {
        guard let child = children[serial] else { return }
        let id = child.id
        let events = events
        var window = lineWindow(of: child)
        child.output.take(bytes, of: stream, within: &window) { line, isCut in
            events.report(.output(id, Self.name(of: stream), line: line, isCut: isCut))
        }
        if let window { output.keep(window, of: id.firing.job, at: RunnerClock.awake()) }
    }

    mutating func finishLine(of serial: UInt64, stream: Int) {
        // Most streams have no partial line at their end, and then nothing is looked up.
        guard let child = children[serial], child.output.hasPartialLine(stream) else { return }
        let id = child.id
        let events = events
        var window = lineWindow(of: child)
        child.output.finishLine(of: stream, within: &window) { line, isCut in
            events.report(.output(id, Self.name(of: stream), line: line, isCut: isCut))
        }
        if let window { output.keep(window, of: id.firing.job, at: RunnerClock.awake()) }
    }

    private static func name(of stream: Int) -> RunStream { stream == 0 ? .stdout : .stderr }

    // MARK: - Lines that a run does not end

    /// Called when output of a child was read.
    mutating func noteUnfinished(_ serial: UInt64) {
        guard !output.hasNoted(serial), let child = children[serial], !child.id.isMessage,
            !child.id.isCheck, child.output.hasUnreported
        else { return }
        output.noteUnfinished(serial, ended: child.output.endedLines, at: RunnerClock.awake())
    }

    /// Reports the lines that were not ended since they were noted.
    mutating func reportUnfinished(at now: Int64) {
        for (serial, ended) in output.takeUnfinished(at: now) {
            for stream in ended.indices { reportUnfinished(serial, stream, since: ended[stream]) }
            // The output may have begun another line since then.
            noteUnfinished(serial)
        }
    }

    private mutating func reportUnfinished(_ serial: UInt64, _ stream: Int, since ended: Int) {
        guard let id = children[serial]?.id,
            let line = children[serial]?.output.takeUnfinished(of: stream, since: ended)
        else { return }
        events.report(.unfinished(id, Self.name(of: stream), line: line))
    }

    // MARK: - Jobs that write more than they may

    /// The time window in which the lines of a child are counted now; nil if there is no limit.
    private func lineWindow(of child: Child) -> LineWindow? {
        guard let limit = child.output.lineLimit else { return nil }
        return output.window(of: child.id.firing.job, limit, at: RunnerClock.awake())
    }

    /// Reports how many lines of a child were dropped because of the limit of its job, if any were.
    mutating func reportDropped(_ serial: UInt64) {
        guard let id = children[serial]?.id, let lines = children[serial]?.output.takeDropped(),
            lines > 0
        else { return }
        events.report(.limited(id, lines: lines))
    }

    /// Whether lines of a child are being dropped because of the limit of its job. When that ends,
    /// the number of dropped lines is reported.
    private mutating func mustDrop(_ serial: UInt64) -> Bool {
        guard let child = children[serial], child.output.isDropping else { return false }
        if var window = lineWindow(of: child), !window.admit() { return true }
        reportDropped(serial)
        return false
    }

    // MARK: - Runs that write faster than their output is consumed

    /// Does not read the output of a child until `resumeReading`, or until an instant of
    /// CLOCK_MONOTONIC.
    private mutating func pauseReading(_ serial: UInt64, until: Int64) {
        guard let child = children[serial] else { return }
        // epoll always reports a pipe without writers, whichever events are requested, so it must
        // be removed from epoll.
        for stream in 0..<2 {
            if let descriptor = child.output.descriptor(of: stream) { epoll.ignore(descriptor) }
        }
        output.pause(serial, of: child.id)
        waitToRead(serial, until: until)
    }

    private mutating func waitToRead(_ serial: UInt64, until: Int64) {
        children[serial]?.output.pause(until: until)
        timers.set(serial, at: until)
    }

    /// Continues to read the output of this run, because there is room for it again.
    mutating func resumeReading(_ run: Run.ID) {
        guard let serial = output.resume(run) else { return }
        children[serial]?.output.resume()
        for stream in 0..<2 {
            guard let descriptor = children[serial]?.output.descriptor(of: stream) else { continue }
            if !epoll.watch(descriptor, as: .child(serial, .stream(stream))), errno != EEXIST {
                // The kernel has no memory for it now.
                return pauseReading(serial, until: RunnerClock.awake() + Self.discardPause)
            }
        }
    }

    /// Continues to read when the waiting time of the run is over: no run blocks forever, even if
    /// its output is never consumed.
    mutating func resumeReadingIfDue(_ serial: UInt64, at now: Int64) {
        guard let run = children[serial]?.id, let until = children[serial]?.output.pausedUntil,
            until <= now
        else { return }
        switch mustDrop(serial) ? .discard : output.gate(run) {
        case .open: resumeReading(run)
        case .slow(let until): waitToRead(serial, until: until)
        case .discard:
            for stream in 0..<2 { discard(of: serial, stream: stream, most: Self.discardBytes) }
            waitToRead(serial, until: now + Self.discardPause)
            dropIfDone(serial)
        }
    }

    /// Discards what is in a pipe. The lines are counted, and the last bytes still go into the tail
    /// of the run.
    private mutating func discard(of serial: UInt64, stream: Int, most: Int) {
        guard let id = children[serial]?.id else { return }
        var total = 0
        var lines = 0
        while total < most, let bytes = read(from: serial, stream, most: most - total) {
            total += bytes.count
            lines += children[serial]?.output.discard(bytes, of: stream) ?? 0
        }
        if lines > 0, children[serial]?.output.addDropped(lines) == false {
            events.report(.dropped(id, lines: lines))
        }
    }
}

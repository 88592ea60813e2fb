// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// Reads the output of runs, no faster than it is consumed.
extension RunnerThread {
    /// Reads some bytes from a pipe. If there is no room for more lines of the run, its output is
    /// not read for a while, and the run blocks when its pipe is full.
    mutating func readSome(of serial: UInt64, stream: Int) {
        var total = 0
        if let limited = children[serial]?.limited, limited > 0 { _ = isLimited(serial) }
        while total < Self.bytesPerPipe, case let count = readOnce(of: serial, stream), count > 0 {
            total += count
            guard let run = children[serial]?.id else { return }
            guard children[serial]?.limited == 0 else {
                return pauseReading(serial, until: RunnerClock.awake() + Self.discardPause)
            }
            switch outputGate(run) {
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
                children[serial]?.limited != 0 || outputGate(run) == .discard
            else { continue }
            discard(of: serial, stream: stream, most: Self.drainBytesMax - total)
            break
        }
        finishLine(of: serial, stream: stream)
    }

    /// - Returns: how many bytes were read; 0 if the pipe is empty or has reached its end.
    private mutating func readOnce(of serial: UInt64, _ stream: Int) -> Int {
        let count = fillBuffer(from: serial, stream, most: Self.bytesPerGateCheck)
        if count > 0 { take(count, of: serial, stream: stream) }
        return count
    }

    private mutating func fillBuffer(from serial: UInt64, _ stream: Int, most: Int) -> Int {
        while let descriptor = children[serial]?.streams[stream]?.descriptor {
            let count = read(descriptor, &buffer, min(most, buffer.count))
            if count > 0 { return count }
            if count < 0, errno == EINTR { continue }
            guard count == 0 || errno != EAGAIN else { return 0 }
            finishLine(of: serial, stream: stream)
            close(descriptor)
            children[serial]?.streams[stream] = nil
        }
        return 0
    }

    private mutating func take(_ count: Int, of serial: UInt64, stream: Int) {
        // This uses no copy of the child, because each read would then copy its tail.
        guard let id = children[serial]?.id else { return }
        let isActive = serials[id] == serial
        let handler = handler
        var window = lineWindow(of: serial)
        buffer.withUnsafeBytes { bytes in
            let bytes = UnsafeRawBufferPointer(rebasing: bytes[..<count])
            if isActive { children[serial]?.tail.take(bytes) }
            children[serial]?.take(bytes, of: stream, within: &window) { line, isCut in
                handler(.output(id, stream == 0 ? .stdout : .stderr, line: line, isCut: isCut))
            }
        }
        if let window { lineLimits.keep(window, of: id.firing.job, at: RunnerClock.awake()) }
    }

    mutating func finishLine(of serial: UInt64, stream: Int) {
        // Most streams have no partial line at their end, and then nothing is looked up.
        guard children[serial]?.streams[stream]?.lines.hasBegun == true,
            let id = children[serial]?.id
        else { return }
        let handler = handler
        var window = lineWindow(of: serial)
        children[serial]?.finishLine(of: stream, within: &window) { line, isCut in
            handler(.output(id, stream == 0 ? .stdout : .stderr, line: line, isCut: isCut))
        }
        if let window { lineLimits.keep(window, of: id.firing.job, at: RunnerClock.awake()) }
    }

    // MARK: - Jobs that write more than they may

    /// The time window in which the lines of a child are counted now; nil if there is no limit.
    private func lineWindow(of serial: UInt64) -> LineWindow? {
        guard let id = children[serial]?.id, let limit = children[serial]?.lineLimit else {
            return nil
        }
        return lineLimits.window(of: id.firing.job, limit, at: RunnerClock.awake())
    }

    /// Reports how many lines of a child were dropped because of the limit of its job, if any were.
    mutating func reportLimited(_ serial: UInt64) {
        guard let id = children[serial]?.id, let lines = children[serial]?.limited, lines > 0 else {
            return
        }
        children[serial]?.limited = 0
        handler(.limited(id, lines: lines))
    }

    /// Whether lines of a child are being dropped because of the limit of its job. When that ends,
    /// the number of dropped lines is reported.
    private mutating func isLimited(_ serial: UInt64) -> Bool {
        guard let limited = children[serial]?.limited, limited > 0 else { return false }
        if var window = lineWindow(of: serial), !window.admit() { return true }
        reportLimited(serial)
        return false
    }

    // MARK: - Runs that write faster than their output is consumed

    /// Does not read the output of a child until `resumeReading`, or until an instant of
    /// CLOCK_MONOTONIC.
    private mutating func pauseReading(_ serial: UInt64, until: Int64) {
        guard let child = children[serial] else { return }
        // epoll always reports a pipe without writers, whichever events are requested, so it must
        // be removed from epoll.
        for case .some(let stream) in child.streams {
            epoll_ctl(epoll, EPOLL_CTL_DEL, stream.descriptor, nil)
        }
        unread[child.id] = serial
        waitToRead(serial, until: until)
    }

    private mutating func waitToRead(_ serial: UInt64, until: Int64) {
        children[serial]?.unreadUntil = until
        timers.set(serial, at: until)
    }

    /// Continues to read the output of this run, because there is room for it again.
    mutating func resumeReading(_ run: Run.ID) {
        guard let serial = unread.removeValue(forKey: run) else { return }
        children[serial]?.unreadUntil = nil
        for stream in 0..<2 {
            guard let descriptor = children[serial]?.streams[stream]?.descriptor else { continue }
            let token = serial << 2 | UInt64(stream + 1)
            if !Self.watch(descriptor, token: token, in: epoll), errno != EEXIST {
                // The kernel has no memory for it now.
                return pauseReading(serial, until: RunnerClock.awake() + Self.discardPause)
            }
        }
    }

    /// Continues to read when the waiting time of the run is over: no run blocks forever, even if
    /// its output is never consumed.
    mutating func resumeReadingIfDue(_ serial: UInt64, at now: Int64) {
        guard let child = children[serial], let until = child.unreadUntil, until <= now else {
            return
        }
        switch isLimited(serial) ? .discard : outputGate(child.id) {
        case .open: resumeReading(child.id)
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
        let isActive = serials[id] == serial
        var total = 0
        var lines = 0
        while total < most {
            let count = fillBuffer(from: serial, stream, most: most - total)
            guard count > 0 else { break }
            total += count
            buffer.withUnsafeBytes { bytes in
                let bytes = UnsafeRawBufferPointer(rebasing: bytes[..<count])
                if isActive { children[serial]?.tail.take(bytes) }
                lines += children[serial]?.streams[stream]?.lines.discard(bytes) ?? 0
            }
        }
        guard lines > 0 else { return }
        if let limited = children[serial]?.limited, limited > 0 {
            children[serial]?.limited = limited + lines
        } else {
            handler(.dropped(id, lines: lines))
        }
    }
}

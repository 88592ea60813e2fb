// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerRunnerProtocol

/// The output of a run: its two pipes, the lines that are cut from them, and its last bytes.
///
/// A job may write so many lines within some time. While it writes more, all further lines are
/// dropped and counted, until the count is taken.
struct ChildOutput {
    private struct Stream {
        let descriptor: Int32
        var lines = LineCutter()
    }

    /// Standard output and standard error; nil once closed.
    private var streams: [Stream?]
    private var tail: Tail
    /// Removes the secrets of a message from the tail.
    private let redaction: Redaction?
    /// How many lines its job may write in which time; nil for no limit.
    let lineLimit: LineLimit?
    /// The lines that were dropped because of that limit and are not reported yet.
    private var dropped = 0
    /// Its output is not read until this instant of CLOCK_MONOTONIC, because its lines are not
    /// consumed; nil if it is read.
    private(set) var pausedUntil: Int64?

    /// The output of a process that an earlier runner started, which is not read.
    init() {
        streams = [nil, nil]
        tail = Tail(limit: 0)
        redaction = nil
        lineLimit = nil
    }

    /// - Parameter descriptors: the ends of two pipes for reading, which are closed here.
    init(_ descriptors: [Int32], tail bytes: Int, lineLimit: LineLimit?, redaction: Redaction?) {
        streams = descriptors.map { Stream(descriptor: $0) }
        tail = Tail(limit: bytes)
        self.lineLimit = lineLimit
        self.redaction = redaction
    }

    // MARK: - Pipes

    /// The pipe of a stream; nil once it is closed.
    func descriptor(of stream: Int) -> Int32? { streams[stream]?.descriptor }

    var isClosed: Bool { streams.allSatisfy { $0 == nil } }

    mutating func close(_ stream: Int) {
        if let descriptor = descriptor(of: stream) { Glibc.close(descriptor) }
        streams[stream] = nil
    }

    mutating func closeAll() { for stream in streams.indices { close(stream) } }

    mutating func pause(until instant: Int64) { pausedUntil = instant }

    mutating func resume() { pausedUntil = nil }

    // MARK: - Lines

    /// Cuts bytes of a stream into lines and passes on those that its job may write.
    mutating func take(
        _ bytes: UnsafeRawBufferPointer, of stream: Int, within window: inout LineWindow?,
        each: (_ line: [UInt8], _ isCut: Bool) -> Void
    ) {
        tail.take(bytes)
        var over = 0
        streams[stream]?.lines.take(bytes) { line, isCut in
            if window?.admit() == false { over += 1 } else { each(line, isCut) }
        }
        dropped += over
    }

    /// Whether a line of a stream has begun and not ended.
    func hasPartialLine(_ stream: Int) -> Bool { streams[stream]?.lines.hasBegun == true }

    /// Passes on the partial line at the end of a stream, if its job may write it.
    mutating func finishLine(
        of stream: Int, within window: inout LineWindow?,
        each: (_ line: [UInt8], _ isCut: Bool) -> Void
    ) {
        var over = 0
        streams[stream]?.lines.finish { line, isCut in
            if window?.admit() == false { over += 1 } else { each(line, isCut) }
        }
        dropped += over
    }

    /// Discards bytes of a stream. The last of them still go into the tail.
    /// - Returns: how many lines they belong to.
    mutating func discard(_ bytes: UnsafeRawBufferPointer, of stream: Int) -> Int {
        tail.take(bytes)
        return streams[stream]?.lines.discard(bytes) ?? 0
    }

    /// Whether lines are dropped because of the limit of its job.
    var isDropping: Bool { dropped > 0 }

    /// Counts lines that were discarded with those that are dropped.
    /// - Returns: false if none is dropped: they must be reported by themselves.
    mutating func addDropped(_ lines: Int) -> Bool {
        guard isDropping else { return false }
        dropped += lines
        return true
    }

    /// How many lines were dropped since the last call. From now on lines are passed on again.
    mutating func takeDropped() -> Int {
        defer { dropped = 0 }
        return dropped
    }

    // MARK: - Lines without an end

    /// Whether a stream has a partial line that was not reported, or was shorter then.
    var hasUnreported: Bool { streams.contains { $0?.lines.hasUnreported == true } }

    /// How many lines each stream has ended.
    var endedLines: [Int] { streams.map { $0?.lines.ended ?? 0 } }

    /// The partial line of a stream, to be reported before its end; nil if it began after the stream
    /// had ended so many lines. Lines that are dropped are not shown in part either.
    mutating func takeUnfinished(of stream: Int, since ended: Int) -> [UInt8]? {
        guard !isDropping, let lines = streams[stream]?.lines, lines.hasUnreported,
            lines.ended == ended
        else { return nil }
        return streams[stream]?.lines.report()
    }

    // MARK: - The last part

    /// The last part of the output, without secrets.
    var cleanTail: [UInt8] {
        redaction.map { $0.apply(to: tail.last, isCut: tail.isCut) } ?? tail.last
    }

    /// The end of the run was reported, so further output goes into no tail.
    mutating func endTail() { tail = Tail(limit: 0) }
}

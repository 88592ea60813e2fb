// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import TimerRunner

/// The lines of a run, from bytes that no process wrote.
@Suite struct ChildOutputTests {
    /// The output of a run with two pipes that are never read.
    private static func output(tail: Int = 100, redaction: Redaction? = nil) throws -> ChildOutput {
        let ends = (0..<2).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
        try #require(ends.allSatisfy { $0 >= 0 })
        return ChildOutput(
            ends, tail: tail, lineLimit: LineLimit(interval: 1000, burst: 2), redaction: redaction)
    }

    private static func take(
        _ text: String, into output: inout ChildOutput, within window: inout LineWindow?
    ) -> [String] {
        var lines: [String] = []
        Array(text.utf8).withUnsafeBytes { bytes in
            output.take(bytes, of: 0, within: &window) { line, _ in
                lines.append(String(decoding: line, as: UTF8.self))
            }
        }
        return lines
    }

    @Test func linesAboveTheLimitAreCountedUntilTheCountIsTaken() throws {
        var output = try Self.output()
        defer { output.closeAll() }
        var window: LineWindow? = LineWindow(LineLimit(interval: 1000, burst: 2), at: 0)
        #expect(Self.take("a\nb\nc\nd\ne", into: &output, within: &window) == ["a", "b"])
        #expect(output.isDropping)
        #expect(output.hasPartialLine(0) && !output.hasPartialLine(1))
        var finished: [[UInt8]] = []
        output.finishLine(of: 0, within: &window) { line, _ in finished.append(line) }
        #expect(finished.isEmpty && !output.hasPartialLine(0))
        var isCounted = output.addDropped(4)
        #expect(isCounted)
        #expect(output.takeDropped() == 7 && output.takeDropped() == 0 && !output.isDropping)
        // They are reported by themselves if nothing else was dropped.
        isCounted = output.addDropped(1)
        #expect(!isCounted)
        #expect(String(decoding: output.cleanTail, as: UTF8.self) == "a\nb\nc\nd\ne")
    }

    @Test func discardedBytesGoIntoTheTail_untilTheEndIsReported() throws {
        var output = try Self.output(tail: 5)
        defer { output.closeAll() }
        let lines = Array("one\ntwo\nthr".utf8).withUnsafeBytes { output.discard($0, of: 1) }
        #expect(lines == 3)
        #expect(String(decoding: output.cleanTail, as: UTF8.self) == "o\nthr")
        output.endTail()
        _ = Array("more".utf8).withUnsafeBytes { output.discard($0, of: 1) }
        #expect(output.cleanTail.isEmpty)
    }

    @Test func aLineWithoutAnEndIsReportedOnceItIsOldEnough() throws {
        var output = try Self.output()
        defer { output.closeAll() }
        var window: LineWindow?
        #expect(Self.take("first\nPass", into: &output, within: &window) == ["first"])
        #expect(output.hasUnreported && output.endedLines == [1, 0])
        // It began after that.
        #expect(output.takeUnfinished(of: 0, since: 0) == nil)
        #expect(output.takeUnfinished(of: 0, since: 1) == Array("Pass".utf8))
        #expect(!output.hasUnreported && output.takeUnfinished(of: 0, since: 1) == nil)
        #expect(Self.take("word", into: &output, within: &window).isEmpty && output.hasUnreported)
        window = LineWindow(LineLimit(interval: 1000, burst: 0), at: 0)
        #expect(Self.take("\nnext", into: &output, within: &window).isEmpty)
        // Lines that are dropped are not shown in part either.
        #expect(output.takeUnfinished(of: 0, since: 2) == nil)
        #expect(output.takeDropped() == 1)
        #expect(output.takeUnfinished(of: 0, since: 2) == Array("next".utf8))
    }

    @Test func itIsClosedOnceBothStreamsAre() throws {
        var output = try Self.output()
        #expect(output.descriptor(of: 0) != nil && !output.isClosed)
        output.close(0)
        #expect(output.descriptor(of: 0) == nil && !output.isClosed)
        output.close(0)
        output.closeAll()
        #expect(output.isClosed && ChildOutput().isClosed)
        output.pause(until: 7)
        #expect(output.pausedUntil == 7)
        output.resume()
        #expect(output.pausedUntil == nil)
    }

    // MARK: - Whose output is read

    @Test func aLineIsLookedAtAfterAMoment() {
        var lines = UnfinishedLines()
        #expect(lines.next == nil && lines.takeDue(at: .max).isEmpty)
        lines.note(1, ended: [3, 0], at: 1000)
        lines.note(2, ended: [0, 1], at: 5000)
        #expect(lines.contains(1) && lines.next == 1000 + UnfinishedLines.delay)
        #expect(lines.takeDue(at: 999 + UnfinishedLines.delay).isEmpty)
        let due = lines.takeDue(at: 1000 + UnfinishedLines.delay).sorted { $0.serial < $1.serial }
        #expect(due.map(\.serial) == [1, 2] && due.map(\.ended) == [[3, 0], [0, 1]])
        #expect(lines.next == nil && !lines.contains(1))
    }

    @Test func oneBufferReadsAllPipes() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        defer { close(ends[0]) }
        var reader = OutputReader { _ in .open }
        guard case .nothing = reader.read(ends[0], most: 10) else {
            Issue.record("an empty pipe has something")
            return
        }
        #expect(write(ends[1], "0123456789ab", 12) == 12)
        close(ends[1])
        var pieces: [String] = []
        while case .bytes(let bytes) = reader.read(ends[0], most: 10) {
            pieces.append(String(decoding: bytes, as: UTF8.self))
        }
        #expect(pieces == ["0123456789", "ab"])
        guard case .end = reader.read(ends[0], most: 10) else {
            Issue.record("a closed pipe does not end")
            return
        }
        reader.pause(4, of: ScriptedRuns.run(1))
        #expect(reader.resume(ScriptedRuns.run(1)) == 4)
        #expect(reader.resume(ScriptedRuns.run(1)) == nil)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerControl
import TimerCore

@testable import timerctl
@testable import TimerLog

/// The output that `timerctl log` shows of active runs.
@Suite struct RecentOutputTests {
    private func run(_ number: Int, of job: String = "probe") -> Run.ID {
        let scheduled = WallInstant(microsecondsSinceEpoch: 1_795_000_000_000_000 + Int64(number))
        return Run.ID(firing: Firing.ID(job: Job.Name(job)!, scheduled: scheduled))
    }

    private func write(
        _ lines: Int, of bytes: Int = 100, by run: Run.ID, to recent: RecentOutput
    ) {
        let text = [UInt8](repeating: 120, count: bytes)
        for _ in 0..<lines { recent.add(text, of: run, toStderr: false) }
    }

    @Test func theLinesOfARunComeInTheirOrder_fromAnyOneOn() {
        let recent = RecentOutput()
        for number in 1...2 { recent.begin(run(number)) }
        for line in 1...5 {
            for number in 1...2 {
                recent.add(Array("\(number) \(line)".utf8), of: run(number), toStderr: number == 2)
            }
        }
        let one = recent.lines(after: 0) { $0 == run(1) }
        #expect(
            one.lines.map { String(decoding: $0.text, as: UTF8.self) } == (1...5).map { "1 \($0)" })
        #expect(one.lines.map(\.ordinal) == Array(1...5) && one.last == 10)
        #expect(one.written == [run(1): 5])
        let both = recent.lines(after: 7) { _ in true }
        #expect(
            both.lines.map { String(decoding: $0.text, as: UTF8.self) } == ["2 4", "1 5", "2 5"])
        #expect(both.lines.map(\.toStderr) == [true, false, true])
        #expect(recent.lines(after: 10) { _ in true }.lines.isEmpty)
        #expect(recent.lines(after: .max) { _ in true }.lines.isEmpty)
    }

    /// However much one run writes, and however many runs write.
    @Test(arguments: [1, 5, 40])
    func aRunThatWritesMuchPushesOutNoOther(loud: Int) {
        let recent = RecentOutput()
        let quiet = run(0, of: "quiet")
        let few = RecentOutput.bytesMax / (loud + 1) / 2 / 228
        recent.begin(quiet)
        write(few, by: quiet, to: recent)
        for number in 1...loud {
            recent.begin(run(number))
            write(40_000 / loud, of: 2000, by: run(number), to: recent)
        }
        #expect(recent.lines(after: 0) { $0 == quiet }.lines.count == few)
        #expect(recent.size.active <= RecentOutput.bytesMax)
        #expect(recent.size.active > RecentOutput.bytesMax / 2)
        // Their last lines are kept as well, and the number of their lines.
        let last = recent.lines(after: 0) { $0 == run(loud) }
        #expect(
            last.lines.last?.ordinal == 40_000 / loud && last.written[run(loud)] == 40_000 / loud)
        #expect(last.lines.count < 40_000 / loud)
    }

    @Test func theLastLinesOfEndedRunsAreKept_forAWhile() {
        let recent = RecentOutput()
        let active = run(0, of: "active")
        recent.begin(active)
        write(1000, by: active, to: recent)
        for number in 1...2000 {
            recent.begin(run(number))
            write(number % 3 == 0 ? 0 : 10, by: run(number), to: recent)
            recent.end(run(number))
            recent.end(run(number))
        }
        #expect(recent.size.ended <= RecentOutput.endedBytesMax)
        #expect(recent.lines(after: 0) { $0 == run(2000) }.lines.count == 10)
        #expect(recent.lines(after: 0) { $0 == run(1) }.lines.isEmpty)
        #expect(recent.lines(after: 0) { $0 == active }.lines.count == 1000)
        // A run that wrote much keeps its end, and does not push out the lines of others.
        let loud = run(1, of: "loud")
        recent.begin(loud)
        write(10_000, by: loud, to: recent)
        recent.end(loud)
        let kept = recent.lines(after: 0) { $0 == loud }.lines
        #expect(kept.count == RecentOutput.endedRunBytesMax / 228 && kept.last?.ordinal == 10_000)
        #expect(recent.lines(after: 0) { $0 == run(2000) }.lines.count == 10)
        // Processes that it left behind continue to write.
        write(10_000, by: loud, to: recent)
        #expect(recent.lines(after: 0) { $0 == loud }.lines.last?.ordinal == 20_000)
        #expect(recent.size.ended <= RecentOutput.endedBytesMax)
    }

    /// For any order of calls, the memory is limited and contains the last lines.
    @Test func forAnyInput_theLastLinesOfEachRunAreThere() {
        var random = SeededRandom()
        for _ in 0..<20 {
            let recent = RecentOutput()
            var written: [Run.ID: Int] = [:]
            for _ in 0..<400 {
                let run = run(random.int(below: 8))
                switch random.int(below: 10) {
                case 0:
                    recent.begin(run)
                case 1:
                    recent.end(run)
                case 2: recent.skip(random.int(below: 50), of: run)
                default:
                    write(random.int(below: 200), of: random.int(below: 4000), by: run, to: recent)
                    written[run, default: 0] += 1
                }
                let size = recent.size
                #expect(size.active <= RecentOutput.bytesMax && size.active >= 0)
                #expect(size.ended <= RecentOutput.endedBytesMax && size.ended >= 0)
            }
            let all = recent.lines(after: 0) { _ in true }
            #expect(zip(all.lines, all.lines.dropFirst()).allSatisfy { $0.number < $1.number })
            for (run, count) in all.written {
                let own = all.lines.filter { $0.run == run }
                #expect(zip(own, own.dropFirst()).allSatisfy { $0.ordinal < $1.ordinal })
                #expect(own.last.map { $0.ordinal <= count } ?? true)
            }
            for number in 0..<8 { recent.end(self.run(number)) }
            #expect(recent.size.active == 0)
        }
    }

    // MARK: - What timerctl makes of it

    private func reply(
        _ lines: [(run: String, number: Int)], _ written: [String: Int]
    ) -> LogReply {
        LogReply(
            past: nil,
            lines: lines.map {
                LogReply.Line(run: $0.run, number: $0.number, isError: false, text: "\($0.number)")
            },
            written: written.sorted { $0.key < $1.key }.map {
                LogReply.Written(run: $0.key, lineCount: $0.value)
            },
            cursor: 0)
    }

    private func shown(_ items: [LogItem]) -> [String] {
        items.map {
            switch $0 {
            case .line(let line), .unfinished(let line): line.text
            case .note(let what): String(what.prefix { $0 != ";" })
            case .begin, .again, .kept, .end: "?"
            }
        }
    }

    @Test func missingOutputIsReportedOnce_inItsPlace() {
        var progress = LogProgress()
        let first = reply([("a", 4), ("a", 5), ("a", 8)], ["a": 9])
        #expect(
            shown(progress.items(of: first)) == [
                "the first 3 lines are not kept here", "4", "5",
                "2 lines are not kept here", "8", "1 line is not kept here",
            ])
        #expect(shown(progress.items(of: reply([], ["a": 9]))).isEmpty)
        // Each run is tracked from its first line on.
        let next = reply([("b", 7), ("a", 10), ("b", 9)], ["a": 10, "b": 9, "c": 3])
        #expect(
            shown(progress.items(of: next)) == [
                "the first 6 lines are not kept here", "7", "10", "1 line is not kept here", "9",
                "the first 3 lines are not kept here",
            ])
        #expect(shown(progress.items(of: reply([("c", 4)], ["c": 4]))) == ["4"])
    }

    @Test func missingOutputOfARunIsReported() {
        var progress = LogProgress()
        #expect(
            shown(progress.items(of: reply([], ["a": 1]))) == [
                "the first line is not kept here"
            ])
        var other = LogProgress()
        #expect(
            shown(other.items(of: reply([("a", 1), ("a", 2)], ["a": 2]))) == ["1", "2"])
        #expect(other.items(of: reply([], ["a": .max])).count == 1)
    }

    // MARK: - Lines that are not ended

    @Test func anUnfinishedLineIsReplacedByItsLine() {
        let recent = RecentOutput()
        let run = run(1)
        func note(_ text: String, toStderr: Bool = false) {
            recent.note(
                unfinished: Array(text.utf8), of: run, toStderr: toStderr,
                at: WallInstant(microsecondsSinceEpoch: 5))
        }
        func unfinished() -> [String] {
            recent.lines(after: 0) { $0 == run }.unfinished.map {
                "\($0.ordinal)\($0.toStderr ? "!" : "|")\(String(decoding: $0.text, as: UTF8.self))"
            }
        }
        // Not of a run that is not active.
        note("early")
        #expect(unfinished().isEmpty && recent.size.runs == 0)
        recent.begin(run)
        note("Pass")
        note("Password: ")
        note("more", toStderr: true)
        #expect(Set(unfinished()) == ["1|Password: ", "1!more"])
        #expect(recent.lines(after: 0) { $0 == run }.written.isEmpty)
        recent.add(Array("Password: x".utf8), of: run, toStderr: false)
        #expect(unfinished() == ["1!more"])
        recent.skip(3, of: run)
        #expect(unfinished().isEmpty)
        let size = recent.size.active
        note("again")
        #expect(unfinished() == ["5|again"] && recent.size.active > size)
        note("")
        #expect(unfinished().isEmpty && recent.size.active == size)
        note("last")
        recent.end(run)
        #expect(unfinished().isEmpty && recent.size.active == 0)
        note("late")
        #expect(unfinished().isEmpty)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TimerControl
import TimerCore

@testable import timerctl

/// The items of `timerctl log` for the answers about the runs of a job.
@Suite struct LogStoryTests {
    /// When the daemon started; everything here happened a few minutes later.
    private static let since = "2026-11-18T06:00:00Z"
    private static let now = WallInstant(rfc3339: "2026-11-18T06:10:00Z")!

    private func id(_ number: Int) -> String { "a:20261118T06000\(number).000000Z:1" }

    private func run(
        _ number: Int, began: String? = "2026-11-18T06:01:00Z", outcome: String? = nil,
        waits: String? = nil
    ) throws -> RunStatus {
        var status = try ControlJSON.decode(
            RunStatus.self,
            from: Array(
                #"{"id":"\#(id(number))","job":"a","scheduled":"2026-11-18T06:00:00Z"}"#.utf8))
        (status.began, status.outcome, status.waits) = (began, outcome, waits)
        (status.cause, status.elapsedUsec) = ("schedule", outcome == nil ? nil : 4_100_000)
        return status
    }

    private func past(
        _ number: Int, _ outcome: String = "exited(1)", began: String? = "2026-11-18T06:01:00Z",
        output: String = ""
    ) throws -> RunStatus {
        var status = try run(number, began: began, outcome: outcome)
        (status.ended, status.missed, status.output) = ("2026-11-18T06:01:04Z", 0, output)
        return status
    }

    /// An answer with these lines, each given by its run, its number and its text.
    private func log(
        _ lines: [(run: Int, number: Int, text: String)] = [], active: [RunStatus] = [],
        written: [Int: Int] = [:], outputTail: Int = 100
    ) -> LogReply {
        LogReply(
            past: nil,
            lines: lines.map {
                LogReply.Line(
                    run: id($0.run), number: $0.number, at: "2026-11-18T06:01:01Z",
                    isError: $0.text.hasPrefix("e"), text: $0.text)
            },
            written: written.map { LogReply.Written(run: id($0.key), lineCount: $0.value) },
            cursor: 1,
            active: active, since: Self.since, outputTailBytes: outputTail)
    }

    /// The items as text, without the times.
    private func text(_ items: [LogItem]) -> [String] {
        items.map { item in
            var line = Text.log(item, now: Self.now).joined(separator: "\n")
            for (number, name) in [(1, "ONE"), (2, "TWO"), (3, "THREE")] {
                line = line.replacing(id(number), with: name)
            }
            for time in ["06:01:00", "06:01:01", "06:01:04"] {
                line = line.replacing(Text.day("2026-11-18T\(time)Z", Self.now), with: "DAY")
                line = line.replacing(
                    Text.local(WallInstant(rfc3339: "2026-11-18T\(time)Z")!, as: "%H:%M:%S"),
                    with: "TIME")
            }
            return line
        }
    }

    @Test func anEndedRunHasAStartLinesAndAnEnd() throws {
        var story = LogStory()
        let items = story.items(
            [try past(1, output: "out\nerr\n")],
            log([(1, 1, "out"), (1, 2, "err")], written: [1: 2]))
        #expect(
            text(items) == [
                "── run ONE began DAY, by its schedule ──", "TIME | out", "TIME ! err",
                "── ended DAY: exit 1, after 4.100 s ──",
            ])
        // It is shown only once.
        #expect(story.items([try past(1)], log()).isEmpty)
    }

    /// The note that replaces missing output.
    @Test func neverIsNothingSaid() throws {
        func shown(_ run: RunStatus, _ reply: LogReply) -> [String] {
            var story = LogStory()
            return text(story.items([run], reply))
        }
        #expect(try shown(past(1), log())[1] == "           (it printed nothing)")
        #expect(
            try shown(past(1), log(outputTail: 0))[1]
                == "           (none of its output is kept (output-tail = 0); `journalctl TIMERD_RUN_ID=ONE` shows what was logged)"
        )
        #expect(
            try shown(past(1), log(written: [1: 70]))[1]
                == "           (the first 70 lines are not kept here; `journalctl TIMERD_RUN_ID=ONE` shows what was logged)"
        )
        #expect(
            try shown(past(1, "spawn-failed(ENOENT, exec /x)", began: nil), log())
                == [
                    "── run ONE DAY, by its schedule: could not start: no such program /x ──"
                ])
        // After a restart, only the end of the output is known, without times.
        #expect(
            try shown(past(1, output: "x\ny\n"), log()).dropFirst().dropLast()
                == ["         : x", "         : y"])
        #expect(
            try shown(past(1, output: "x\ny\n"), log(outputTail: 4))[1]
                .contains("only the end of its output is kept"))
    }

    @Test func anActiveRunSaysWhatItDoes() throws {
        func shown(_ run: RunStatus, _ reply: LogReply) -> [String] {
            var story = LogStory()
            var reply = reply
            reply.active = [run]
            return text(story.items([], reply))
        }
        #expect(
            try shown(run(1), log()) == [
                "── run ONE began DAY, by its schedule ──",
                "           (it has printed nothing so far)",
            ])
        #expect(
            try shown(run(1), log([(1, 1, "out")], written: [1: 1])).last == "TIME | out")
        #expect(
            try shown(run(1, began: "2026-11-18T05:59:00Z"), log()).last
                == "           (timerd was restarted while it ran: `journalctl TIMERD_RUN_ID=ONE` shows what was logged before that)"
        )
        #expect(
            try shown(run(1, began: nil, waits: "previous-run"), log())
                == [
                    "           (run ONE, by its schedule, waits for the previous run to end)"
                ])
    }

    @Test func followingGoesOverTheEndsOfRuns() throws {
        var story = LogStory()
        let one = try run(1)
        let two = try run(2)
        #expect(
            text(story.items([], log([(1, 1, "out")], active: [one], written: [1: 1]))).count == 2)
        #expect(story.open == [id(1)])
        #expect(story.items([], log(active: [one])).isEmpty)
        let next = story.items(
            [try past(1)],
            log([(1, 2, "bye"), (2, 1, "hello")], active: [two], written: [1: 2, 2: 1]))
        #expect(
            text(next) == [
                "TIME | bye", "── ended DAY: exit 1, after 4.100 s ──",
                "── run TWO began DAY, by its schedule ──", "TIME | hello",
            ])
        #expect(story.isClosed(id(1)) && story.open == [id(2)])
        // A run that started and ended between two answers, before it is in the history, and then
        // its end.
        let unseen = story.items([], log([(3, 1, "quick")], active: [two], written: [3: 1]))
        #expect(text(unseen) == ["── run THREE ──", "TIME | quick"])
        #expect(
            text(story.items([try past(3)], log(active: [two])))
                == ["── ended DAY: exit 1, after 4.100 s ──"])
    }

    @Test func linesOfRunsAtTheSameTimeHaveTheirRun() throws {
        var story = LogStory()
        let active = [try run(1), try run(2)]
        let items = story.items(
            [],
            log(
                [(1, 1, "one"), (2, 1, "two"), (1, 2, "three")], active: active,
                written: [1: 2, 2: 1]))
        #expect(
            text(items) == [
                "── run ONE began DAY, by its schedule ──",
                "── run TWO began DAY, by its schedule ──", "── run ONE ──", "TIME | one",
                "── run TWO ──", "TIME | two", "── run ONE ──", "TIME | three",
            ])
        let end = story.items([try past(2)], log(active: [active[0]]))
        #expect(text(end) == ["── run TWO ended DAY: exit 1, after 4.100 s ──"])
    }

    @Test(arguments: [(0, 0), (1, 3), (2, 4), (3, 6), (9, 6)])
    func theLastLinesComeWithTheirRun(count: Int, expected: Int) throws {
        var story = LogStory()
        let items = story.items(
            [try past(1, output: "x\n"), try past(2, output: "y\n")],
            log([(2, 1, "out"), (2, 2, "err")], written: [2: 2]))
        // begin, x, end, begin, out, err, end
        #expect(items.count == 7)
        let last = items.last(count)
        #expect(last.count == (expected == 6 ? 7 : expected))
        if let first = last.first {
            if case .begin = first {} else { Issue.record("\(first)") }
        }
    }

    @Test func rawAndJSONHaveWhatTheyPromise() throws {
        var ended = try run(1, outcome: "exited(0)")
        ended.ended = Self.since
        let items: [LogItem] = [
            .begin(try run(1)),
            .line(
                LogReply.Line(
                    run: id(1), number: 1, at: "2026-11-18T06:01:01Z", isError: true, text: "e")),
            .kept("k", run: id(1)), .note("n"),
            .end(ended, isLast: true),
        ]
        let lines = Mutex<[String]>([])
        let said = Mutex<[String]>([])
        for format in [LogPrinter.Format.cat, .json] {
            let printer = LogPrinter(
                format: format, job: Job.Name("a")!,
                put: { line in lines.withLock { $0.append(line) } },
                say: { line in said.withLock { $0.append(line) } })
            printer.print(items)
        }
        #expect(
            lines.withLock { $0 } == [
                "e", "k",
                #"{"at":"2026-11-18T06:01:00Z","cause":"schedule","job":"a","kind":"begin","run":"\#(id(1))"}"#,
                #"{"at":"2026-11-18T06:01:01Z","job":"a","kind":"line","run":"\#(id(1))","stream":"stderr","text":"e"}"#,
                #"{"job":"a","kind":"line","run":"\#(id(1))","text":"k"}"#,
                #"{"job":"a","kind":"note","text":"n"}"#,
                #"{"at":"2026-11-18T06:00:00Z","elapsed_usec":4100000,"job":"a","kind":"end","outcome":"exited(0)","run":"\#(id(1))"}"#,
            ])
        #expect(said.withLock { $0 } == ["n"])
    }
}

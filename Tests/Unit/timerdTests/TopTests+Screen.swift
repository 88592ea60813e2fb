// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing
import TimerControl
import TimerCore

@testable import timerctl

/// What the screen shows.
extension TopTests {
    @Test func theScreenHasAHeaderATableAndTheKeys() throws {
        let lines = Self.screen(try Self.state())
        #expect(lines.count == 24)
        #expect(lines[0].hasPrefix("timerd 0.1.0, started "))
        #expect(lines[0].contains("  1/12  ") && lines[0].count == 80)
        #expect(lines[1].hasPrefix("12 jobs: 1 failed; next is job-0 in 3 min"))
        #expect(lines[3].hasPrefix("JOB ") && lines[3].contains(" RESULT"))
        #expect(lines[4].hasPrefix("\u{1b}[7mjob-0 ") && lines[4].hasSuffix(" \u{1b}[0m"))
        #expect(lines[6].hasPrefix("job-2 ") && lines[6].contains("  exit 3"))
        #expect(lines[23].hasPrefix("?:help q:quit p:pause"))
        let colored = Self.screen(try Self.state(), hasColor: true)
        #expect(colored[6].contains("\u{1b}[31mexit 3\u{1b}[0m"))
    }

    /// For every size, there is a line for each row, none is wider than the screen, and the
    /// selected job is visible.
    @Test(arguments: [
        (24, 80), (5, 20), (6, 20), (8, 40), (4, 10), (3, 5), (2, 3), (1, 1), (50, 200),
    ])
    func everySizeHasAScreen(rows: Int, columns: Int) throws {
        let size = TopSize(rows: rows, columns: columns)
        var state = try Self.state(1000, size)
        state.problem = rows.isMultiple(of: 2) ? "timerd is not running, trying again" : nil
        for key in [
            Key.home, .pageDown, .pageDown, .up, .end, .character("?"), .down, .escape, .escape,
            .character("K"), .escape, .character("/"), .character("9"), .enter, .character("l"),
            .end,
        ] {
            _ = state.press(key, size)
            let lines = Self.screen(state, size)
            #expect(lines.count == rows, "\(key)")
            for line in lines {
                let text = line.replacing("\u{1b}[7m", with: "").replacing("\u{1b}[0m", with: "")
                #expect(Screen.width(of: text) <= columns, "\(key): \(line)")
            }
            if case .table = state.mode, state.jobRows(size) > 0 {
                #expect(lines.count { $0.hasPrefix("\u{1b}[7m") } == 1, "\(key): \(lines)")
            }
        }
    }

    private static func detail(_ job: String) throws -> TopDetail {
        let run = try ControlJSON.decode(
            RunStatus.self,
            from: Array(
                #"{"id":"b:1:1","job":"b","scheduled":"2026-11-18T11:00:00Z","began":"2026-11-18T11:00:00Z","ended":"2026-11-18T11:00:04Z","outcome":"exited(3)","failed":true,"elapsed_usec":4100000}"#
                    .utf8))
        return TopDetail(
            job: job,
            why: [
                "It runs next at 11:10 (in 3 min), and this sentence is long enough to continue."
            ],
            runs: [run], output: (1...50).map { "line \($0)" })
    }

    /// On a wide screen, what is known of the selected job is beside the table.
    @Test func aWideScreenShowsTheSelectedJob() throws {
        let size = TopSize(rows: 30, columns: 160)
        var state = try Self.state(12, size)
        #expect(Self.screen(state, size)[3].contains(" │ waiting for timerd"))
        state.apply(try Self.detail("job-0"), size, now: Terminal.now)
        var lines = Self.screen(state, size)
        #expect(lines.count == 30 && lines[3].contains(" │ job-0"))
        #expect(lines.contains { $0.contains(" │ It runs next at 11:10") })
        #expect(lines.contains { $0.contains("exit 3") && $0.contains("4.100 s") })
        #expect(
            lines.contains { $0.hasSuffix(" │ line 50") }
                && !lines.contains { $0.hasSuffix("line 1") })
        for line in lines {
            let text = line.replacing("\u{1b}[7m", with: "").replacing("\u{1b}[0m", with: "")
            #expect(Screen.width(of: text) <= 160)
        }
        // Another job is selected, and the answer about the one before comes late.
        #expect(state.press(.down, size) == .detail)
        #expect(Self.screen(state, size)[3].contains(" │ waiting for timerd"))
        state.apply(try Self.detail("job-0"), size, now: Terminal.now)
        lines = Self.screen(state, size)
        #expect(lines[3].contains(" │ waiting for timerd"))
        // A narrow screen has pages for it.
        #expect(state.press(.character("w"), Self.size) == .detail)
        #expect(
            Self.screen(state)[0] == "Why: job-1" && Self.screen(state)[1] == "waiting for timerd")
        state.apply(try Self.detail("job-1"), Self.size, now: Terminal.now)
        #expect(Self.screen(state)[1].hasPrefix("It runs next at 11:10"))
        _ = state.press(.escape, Self.size)
        _ = state.press(.character("H"), Self.size)
        #expect(
            Self.screen(state)[1].hasPrefix("ENDED") && Self.screen(state)[2].contains("exit 3"))
        // A note is typed, and does nothing but that.
        _ = state.press(.escape, Self.size)
        for key in "P" + "qK" { _ = state.press(.character(key), Self.size) }
        #expect(Self.screen(state).last == "Pause job-1, because: qK_")
    }

    /// The page of the output begins with the last run: what is kept of the runs before it is not missing.
    @Test func linesOfEarlierRunsAreNotSaidToBeMissing() throws {
        let reply = try ControlJSON.decode(
            LogReply.self,
            from: Array(
                #"""
                {"active":[],"lines":[{"run":"a:20261118T060000.000000Z:1","number":1,"at":"2026-11-18T06:00:01Z",
                "text":"hello","is_error":false}],"written":[{"run":"a:20261118T050000.000000Z:1","line_count":2},
                {"run":"a:20261118T060000.000000Z:1","line_count":1}],"cursor":7}
                """#.utf8))
        var log = TopLog(job: "a")
        log.apply(reply, Self.size)
        #expect(log.page.lines.map(\.text) == ["hello"])
        // What is missing of a later run is said.
        let later = try ControlJSON.decode(
            LogReply.self,
            from: Array(
                #"{"active":[],"lines":[],"written":[{"run":"a:20261118T070000.000000Z:1","line_count":3}],"cursor":9}"#
                    .utf8))
        log.apply(later, Self.size)
        #expect(log.page.lines.count == 2 && log.page.lines[1].text.contains("the first 3 lines"))
    }

    @Test func aPageOfManyJobsIsShown() throws {
        var state = try Self.state(1000)
        _ = state.press(.pageDown, Self.size)
        #expect(state.selected == "job-18")
        _ = state.press(.end, Self.size)
        var lines = Self.screen(state)
        #expect(lines[22].contains("job-999") && lines[4].hasPrefix("job-981"))
        _ = state.press(.pageUp, Self.size)
        lines = Self.screen(state)
        #expect(state.selected == "job-981" && lines[4].contains("job-981"))
    }

    /// Text from a job, a note or the daemon cannot control the terminal.
    @Test func nothingFromAJobSteersTheTerminal() throws {
        var state = TopState(filter: try ListFilter.parse([]))
        let hostile = #"\u001b[2J\u001b]0;x\u0007\r\n\t\u009b31m\u202e"#
        state.update(
            try Self.table(
                [Self.job("a\(hostile)", Self.failed.replacing("exited(3)", with: hostile))],
                rejected: "\"\(hostile)\""),
            Self.size)
        state.message = .init(text: "\u{1b}[31m\n\u{9b}x", isError: true)
        var seen = Self.screen(state)
        var log = TopLog(job: "a")
        log.apply(try Self.reply([hostile, "one\\ttwo"]), Self.size)
        state.mode = .log(log)
        seen += Self.screen(state)
        state.message = nil
        state.problem = "\u{1b}c\u{8}"
        seen += Self.screen(state)
        state.mode = .filter(before: "")
        state.setText("\u{1b}[2J", Self.size)
        seen += Self.screen(state)
        for line in seen {
            let text = line.replacing("\u{1b}[7m", with: "").replacing("\u{1b}[0m", with: "")
            #expect(
                text.unicodeScalars.allSatisfy {
                    $0.value >= 0x20 && !(0x7f...0x9f).contains($0.value) && $0.value != 0x202e
                }, "\(text)")
        }
        #expect(seen.contains("one     two"))
    }

    private static func reply(_ lines: [String], from: Int = 1) throws -> LogReply {
        let texts = lines.enumerated().map {
            #"{"run":"a:1:1","number":\#($0 + from),"is_error":false,"text":"\#($1)"}"#
        }
        return try ControlJSON.decode(
            LogReply.self,
            from: Array(
                #"{"active":[],"lines":[\#(texts.joined(separator: ","))],"written":[],"cursor":\#(from + lines.count)}"#
                    .utf8))
    }

    @Test func theOutputIsFollowed_untilTheUserScrolls() throws {
        let size = TopSize(rows: 7, columns: 10)
        var state = try Self.state(1, size)
        #expect(state.press(.character("l"), size) == .log("job-0"))
        #expect(Self.screen(state, size)[1] == "waiting f…")
        let name = Job.Name("job-0")!
        state.apply(try Self.reply((1...8).map { "line \($0)" }), of: name, after: nil, size)
        #expect(
            Self.screen(state, size)[1...5] == ["line 4", "line 5", "line 6", "line 7", "line 8"])
        _ = state.press(.up, size)
        let second = try Self.reply(["a line that is long"], from: 9)
        // An answer to an earlier request adds nothing.
        state.apply(second, of: name, after: nil, size)
        #expect(
            Self.screen(state, size)[1...5] == ["line 3", "line 4", "line 5", "line 6", "line 7"])
        state.apply(second, of: name, after: 9, size)
        #expect(Self.screen(state, size)[1] == "line 3")
        _ = state.press(.end, size)
        #expect(Self.screen(state, size)[4...5] == ["a line tha", "t is long"])
        #expect(state.press(.escape, size) == .refresh)
    }

    @Test func onlyTheLastLinesAreKept_andTheScreenStays() {
        let size = TopSize(rows: 2, columns: 10)
        func lines(_ range: Range<Int>) -> [TopPage.Line] { range.map { .init(text: "\($0)") } }
        var page = TopPage(lines(0..<10), top: 6)
        page.add(lines(10..<13), most: 10, size)
        #expect(page.lines.count == 10)
        #expect(page.rows(size).map(\.text) == ["6", "7"])
        page.add(lines(13..<23), most: 10, size)
        #expect(page.rows(size).map(\.text) == ["13", "14"])
    }

    @Test func onlyLinesThatDifferAreWritten() {
        #expect(RawTerminal.changes(from: ["a", "b"], to: ["a", "b"]) == "")
        #expect(RawTerminal.changes(from: ["a", "b"], to: ["a", "c"]) == "\u{1b}[2;1H\u{1b}[Kc")
        #expect(RawTerminal.changes(from: ["a", "b"], to: ["a"]) == "\u{1b}[2;1H\u{1b}[K")
        #expect(
            RawTerminal.changes(from: nil, to: ["a"]) == "\u{1b}[0m\u{1b}[2J\u{1b}[1;1H\u{1b}[Ka")
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl
import TimerCore

@testable import timerctl

/// Which unfinished lines `timerctl log` shows, and when.
@Suite struct UnfinishedLinesTests {
    private func line(_ text: String, _ number: Int = 1, run: String = "a/1") -> LogReply.Line {
        LogReply.Line(run: run, number: number, isError: false, text: text)
    }

    @Test func withoutFollowingAllAreShown() {
        var lines = UnfinishedLines()
        #expect(lines.next(isFollowing: false).isEmpty)
        lines.note([line("a"), line("b", run: "a/2")])
        #expect(lines.next(isFollowing: false).map(\.text) == ["a", "b"])
    }

    @Test func aPromptIsShownOnce_andEachStepOfAProgressBarIsNot() {
        var lines = UnfinishedLines()
        func next(_ new: LogReply.Line...) -> [String] {
            lines.note(new)
            return lines.next(isFollowing: true).map(\.text)
        }
        #expect(next(line("Password: ")).isEmpty)
        #expect(next(line("Password: ")) == ["Password: "])
        #expect(next(line("Password: ")).isEmpty)
        #expect(next(line("10%", 2)).isEmpty && next(line("20%", 2)).isEmpty)
        #expect(next(line("20%", 2)) == ["20%"])
        // The same prompt again, as another line.
        #expect(next().isEmpty && next(line("Password: ", 3)).isEmpty)
        #expect(next(line("Password: ", 3)) == ["Password: "])
    }

    @Test func theLineHasAMarkOfItsOwn() {
        var told: [String] = []
        func printed(_ format: LogPrinter.Format) -> String {
            told = []
            var printer = LogPrinter(format: format, job: Job.Name("a")!)
            printer.put = { told.append($0) }
            printer.print([.unfinished(line("Password: "))])
            return told.joined()
        }
        #expect(printed(.text) == "         > Password: ")
        #expect(printed(.cat) == "Password: ")
        #expect(printed(.json).contains(#""kind":"unfinished""#))
    }

    @Test func aRunWithAPromptHasPrintedSomething() throws {
        var story = LogStory()
        var status = try ControlJSON.decode(
            RunStatus.self,
            from: Array(#"{"id":"a/1","job":"a","scheduled":"2026-11-21T08:00:00Z"}"#.utf8))
        status.began = "2026-11-21T08:00:00Z"
        let reply = LogReply(
            past: nil, lines: [], unfinished: [line("Password: ")], cursor: 0, active: [status])
        let items = story.items([], reply)
        #expect(!items.contains { if case .note = $0 { true } else { false } }, "\(items)")
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing
import TimerControl
import TimerCore

@testable import timerctl

/// `timerctl top` without a terminal: its screen and the effects of keys are values.
@Suite struct TopTests {
    private static let now = WallInstant(rfc3339: "2026-11-18T11:07:00Z")!
    static let size = TopSize(rows: 24, columns: 80)

    static func table(_ jobs: [String], rejected: String = "") throws -> JobTable {
        try ControlJSON.decode(
            JobTable.self,
            from: Array(
                """
                {"version":"0.1.0","since":"2026-11-18T10:00:00Z","config":"/c","rejected":[\(rejected)],
                 "jobs":[\(jobs.joined(separator: ","))]}
                """.utf8))
    }

    static func job(_ name: String, _ more: String = "") -> String {
        #"{"job":"\#(name)","state":"armed","active_usec":0,"running":[],"next":"2026-11-18T11:10:00Z"\#(more)}"#
    }

    static let failed =
        #","last":{"id":"b:1:1","job":"b","scheduled":"2026-11-18T11:00:00Z","outcome":"exited(3)","failed":true}"#

    /// This many jobs: `job-0` and so on, of which `job-2` failed.
    static func state(_ count: Int = 12, _ size: TopSize = size) throws -> TopState {
        var state = TopState(filter: try ListFilter.parse([]))
        state.update(try table((0..<count).map { job("job-\($0)", $0 == 2 ? failed : "") }), size)
        return state
    }

    static func screen(
        _ state: TopState, _ size: TopSize = size, hasColor: Bool = false
    ) -> [String] {
        state.lines(size, hasColor: hasColor, now: now)
    }

    // MARK: - keys

    @Test(arguments: [
        ("q", [Key.character("q")]), ("\u{1b}[A", [.up]), ("\u{1b}OB", [.down]),
        ("\u{1b}[5~", [.pageUp]), ("\u{1b}[6;5~", [.pageDown]), ("\u{1b}[1;2H", [.home]),
        ("\u{1b}[4~", [.end]), ("\u{1b}[15~", []), ("\u{1b}[[A", []), ("\r", [.enter]),
        ("\n", [.enter]), ("\u{7f}", [.backspace]), ("\u{0c}", [.control("l")]),
        ("größe", "größe".map { .character($0) }), ("日", [.character("日")]),
        ("\u{1b}[200~Ky\u{1b}[201~q", [.paste("Ky"), .character("q")]),
        ("\u{1b}\u{1b}[A", [.escape, .up]), ("\u{0}", []), ("\u{1b}[99;99Zj", [.character("j")]),
    ])
    func bytesAreKeys_howeverTheyAreDivided(text: String, keys: [Key]) {
        let bytes = Array(text.utf8)
        for cut in 0...bytes.count {
            var reader = KeyReader()
            let found = reader.read(bytes[..<cut]) + reader.read(bytes[cut...])
            #expect(found == keys, "cut at \(cut)")
            #expect(!reader.isWaiting)
        }
    }

    @Test func anEscapeThatNothingFollowsIsAKey() {
        var reader = KeyReader()
        #expect(reader.read([0x1b]) == [] && reader.isWaiting)
        #expect(reader.finish() == [.escape] && !reader.isWaiting)
        #expect(reader.read([0x1b, 0x5b]) == [] && reader.finish() == [])
        // Invalid UTF-8 is no key, and a paste without an end is not kept for ever.
        #expect(reader.read([0xff, 0xc3, 0x41]) == [.character("A")])
        let paste = Array("\u{1b}[200~".utf8) + [UInt8](repeating: 0x41, count: 100_000)
        _ = reader.read(paste)
        #expect(!reader.isWaiting)
    }

    @Test(arguments: [
        ([Key.down], "job-1"), ([.character("j"), .character("j"), .character("k")], "job-1"),
        ([.up], "job-0"), ([.end], "job-11"), ([.character("G"), .down], "job-11"),
        ([.pageDown], "job-11"), ([.end, .home], "job-0"),
        ([.character("G"), .character("g")], "job-0"),
        ([.end, .pageUp], "job-0"), ([.character(" ")], "job-11"),
        ([.character("f")], "job-2"), ([.character("f"), .character("f")], "job-2"),
        ([.character("/"), .character("1"), .character("1"), .enter], "job-11"),
        ([.character("/"), .character("*"), .character("1"), .down, .enter], "job-11"),
        ([.character("/"), .paste("JOB-1\n"), .down], "job-10"),
        ([.character("/"), .character("7"), .escape], "job-7"),
        ([.character("/"), .character("7"), .backspace, .backspace, .down], "job-8"),
    ])
    func keysMoveTheSelection(keys: [Key], selected: String) throws {
        var state = try Self.state()
        for key in keys { #expect(state.press(key, Self.size) == nil) }
        #expect(state.selected == selected)
        #expect(Self.screen(state).contains { $0.contains("\u{1b}[7m\(selected)") })
    }

    @Test func aKeyShowsEachStateThatThereIs() throws {
        func row(_ name: String, _ state: String) -> String {
            Self.job(name).replacing("\"armed\"", with: "\"\(state)\"")
        }
        var state = TopState(filter: try ListFilter.parse(["--paused"]))
        func names() -> String { state.shown.map(\.job).joined(separator: " ") }
        // Without an answer of the daemon there is no state to show.
        state.changeState(Self.size)
        #expect(state.isFiltered == false)
        state.update(
            try Self.table([
                row("a", "paused"), row("b", "armed"), row("c", "paused"), row("d", "finished"),
            ]), Self.size)
        for (shown, title) in [
            ("b", "; only armed"), ("a c", "; only paused"), ("d", "; only finished"),
            ("a b c d", nil), ("b", "; only armed"),
        ] {
            #expect(state.press(.character("F"), Self.size) == nil)
            #expect(names() == shown)
            let line = Self.screen(state)[0]
            #expect(title.map { line.contains($0) } ?? !line.contains("only"))
        }
        // The state that is shown is gone: the next one follows.
        state.update(try Self.table([row("a", "stopped")]), Self.size)
        #expect(names() == "" && Self.screen(state).contains { $0.contains("no job matches") })
        _ = state.press(.character("F"), Self.size)
        #expect(names() == "a")
    }

    private static func action(_ verb: TopCommand.Verb, _ job: String) -> TopState.Action {
        .command(TopCommand(verb: verb, job: Job.Name(job)!))
    }

    @Test(
        arguments: [
            ([Key.character("p")], [action(.pause(note: nil), "job-0")]),
            ([.down, .character("r")], [action(.resume, "job-1")]),
            ([.character("R")], [action(.run, "job-0")]),
            ([.character("t")], [action(.retry, "job-0")]),
            (
                [.character("P"), .paste("disk\nswap"), .character("!"), .enter],
                [action(.pause(note: "diskswap!"), "job-0")]
            ),
            ([.character("P"), .enter], [action(.pause(note: nil), "job-0")]),
            ([.character("P"), .character("K"), .escape, .character("y")], []),
            ([.character("w"), .character("K"), .escape], [.detail]),
            ([.down, .character("H"), .character("q"), .character("q")], [.detail, .quit]),
            // A command that cannot be undone has to be confirmed, and only `y` confirms it.
            ([.character("K")], []),
            ([.character("K"), .character("y")], [action(.kill, "job-0")]),
            ([.character("K"), .character("x"), .down, .character("y")], [action(.kill, "job-0")]),
            ([.character("K"), .character("n"), .character("y")], []),
            ([.character("K"), .escape], []), ([.character("K"), .paste("y")], []),
            ([.character("s"), .character("y")], [action(.skip(1), "job-0")]),
            ([.character("l")], [.log("job-0")]), ([.enter, .escape], [.log("job-0"), .refresh]),
            (
                [.character("l"), .character("q"), .character("q")],
                [.log("job-0"), .refresh, .quit]
            ),
            (
                [.character("?"), .character("K"), .character("q"), .character("p")],
                [action(.pause(note: nil), "job-0")]
            ),
            ([.character("/"), .character("q"), .character("K")], []), ([.character("q")], [.quit]),
            ([.control("l")], [.redraw]), ([.character("x")], []), ([.paste("Kyq")], []),
        ] as [([Key], [TopState.Action])])
    func keysAreCommands(keys: [Key], actions: [TopState.Action]) throws {
        var state = try Self.state()
        #expect(keys.compactMap { state.press($0, Self.size) } == actions)
    }

    @Test func aFurtherRunIsSkipped() throws {
        var state = TopState(filter: try ListFilter.parse([]))
        state.update(try Self.table([Self.job("a", #","skips":2"#)]), Self.size)
        _ = state.press(.character("s"), Self.size)
        #expect(Self.screen(state).last == "Skip the next 3 runs of a? (y/n)")
        #expect(state.press(.character("y"), Self.size) == Self.action(.skip(3), "a"))
    }

    @Test func withoutAJobNothingIsDone() throws {
        var state = TopState(filter: try ListFilter.parse([]))
        for key in "jkgGpPrRtsKlfSwH".map({ Key.character($0) }) {
            #expect(state.press(key, Self.size) == nil, "\(key)")
        }
        state.update(try Self.table([]), Self.size)
        #expect(state.press(.character("p"), Self.size) == nil)
        #expect(Self.screen(state).last == "no job is selected")
    }

    /// The table changes while the user reads it: a key concerns the selected job.
    @Test func theSelectionStaysWithItsJob() throws {
        var state = try Self.state()
        _ = state.press(.down, Self.size)
        state.update(try Self.table(["x", "y", "job-1"].map { Self.job($0) }), Self.size)
        #expect(state.selected == "job-1" && state.place == 2)
        state.update(try Self.table(["x", "y"].map { Self.job($0) }), Self.size)
        #expect(state.selected == "y")
        // A question names its job, and still concerns it when the table has changed.
        _ = state.press(.character("K"), Self.size)
        state.update(try Self.table(["x"].map { Self.job($0) }), Self.size)
        #expect(Self.screen(state).last == "Stop the runs of y? (y/n)")
        #expect(state.press(.character("y"), Self.size) == Self.action(.kill, "y"))
    }

    @Test func theOrderIsChanged() throws {
        var state = try Self.state()
        var orders: [ListFilter.Order?] = []
        for _ in 0..<5 {
            _ = state.press(.character("S"), Self.size)
            orders.append(state.filter.sort)
        }
        #expect(orders == [.state, .next, .last, .name, nil])
    }

    // MARK: - the screen

    // MARK: - output

    @Test(arguments: [
        ["--interval", "1ms"], ["--interval", "2h"], ["--interval", "infinity"],
        ["--interval", "x"],
        ["--json"], ["--sort", "size"],
    ])
    func contradictoryOptionsAreRefused(arguments: [String]) {
        #expect(throws: (any Error).self) { try TopVerb.parse(arguments) }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Lines that fill the screen and can be scrolled.
struct TopPage {
    struct Line: Hashable {
        /// The text, which contains nothing that moves the cursor.
        var text: String
        var style = TextTable.Style.plain
    }

    private(set) var lines: [Line]
    /// The first row on the screen; nil if the page follows its end.
    private(set) var top: Int?

    init(_ lines: [Line], top: Int? = nil) {
        self.lines = lines
        self.top = top
    }

    /// Adds lines at the end, and drops the first ones if there are more than `most`. The visible
    /// lines stay in place.
    mutating func add(_ more: [Line], most: Int, _ size: TopSize) {
        lines += more
        guard lines.count > most else { return }
        let gone = lines.prefix(lines.count - most)
        lines.removeFirst(gone.count)
        top = top.map { max(0, $0 - Self.wrapped(gone, size.columns).count) }
    }

    /// The rows on a screen of this size: long lines continue in the next row.
    func rows(_ size: TopSize) -> [Line] {
        let all = Self.wrapped(lines[...], size.columns)
        let last = max(0, all.count - size.rows)
        return Array(all[min(top ?? last, last)...].prefix(size.rows))
    }

    mutating func press(_ key: Key, _ size: TopSize) {
        let last = max(0, Self.wrapped(lines[...], size.columns).count - size.rows)
        let now = min(top ?? last, last)
        let page = max(1, size.rows - 1)
        let wanted: Int
        switch key {
        case .up, .character("k"): wanted = now - 1
        case .down, .character("j"), .enter: wanted = now + 1
        case .pageUp, .control("b"), .character("b"): wanted = now - page
        case .pageDown, .control("f"), .character(" "): wanted = now + page
        case .home, .character("g"): wanted = 0
        case .end, .character("G"): wanted = last
        default: return
        }
        // At the end, the page follows new lines.
        top = wanted >= last ? nil : max(0, wanted)
    }

    private static func wrapped(_ lines: ArraySlice<Line>, _ columns: Int) -> [Line] {
        lines.flatMap { line in
            Screen.wrapped(line.text, to: columns).map { Line(text: $0, style: line.style) }
        }
    }

    /// The page that the key `?` shows.
    static let help = TopPage(
        [
            "up down j k      select a job (also PgUp, PgDn, Home, End)",
            "p                pause it until it is resumed",
            "P                the same with a note, which is asked for",
            "r                resume it",
            "R                run it now",
            "t                run it again, if its last run failed",
            "s                skip its next run, or one run more (asks)",
            "K                stop its runs (asks)",
            "l Enter          show its output; q or Esc goes back",
            "w                show why it has not run, and when it will",
            "H                show its last runs",
            "/                show only names with a text, or names that match a pattern such as db-*",
            "f                show only jobs whose last run failed, or all",
            "F                show only jobs in the next state that there is, or all",
            "S                sort by state, next run, last run, name, or as configured",
            "Ctrl-L           draw the screen again",
            "? h              this list",
            "q                quit",
            "",
            "timerctl pause can also set an end: man timerctl",
        ].map { Line(text: $0) }, top: 0)
}

/// The page with the output of a job.
struct TopLog {
    /// How many lines are kept; older ones are dropped.
    static let linesMax = 5000

    let job: String
    private var progress = LogProgress()
    /// The number to continue from; nil before the first answer.
    private(set) var last: UInt64?
    /// What is known of the run whose output is shown; nil if nothing is.
    private(set) var about: String?
    var page = TopPage([])

    init(job: String) { self.job = job }

    /// Adds the lines of an answer to the page.
    mutating func apply(_ reply: LogReply, _ size: TopSize) {
        if let past = reply.past {
            let outcome = RunWords.end(of: past).map { "\($0), " } ?? ""
            about = "\(outcome)ended \(Text.instant(past.ended))"
        } else if last == nil {
            about = reply.lines.isEmpty ? nil : "active"
        }
        let items = items(of: reply)
        last = reply.cursor
        page.add(items.compactMap { Self.line($0) }, most: Self.linesMax, size)
    }

    /// For an ended run, the lines that are still in memory, or the stored end of its output if
    /// that is more.
    private mutating func items(of reply: LogReply) -> [LogItem] {
        var reply = reply
        if last == nil {
            // The page begins with this run. The lines of those before it are not missing here.
            let known = Set(
                reply.lines.map(\.run) + reply.active.map(\.id)
                    + [reply.past?.id].compactMap(\.self))
            _ = progress.items(of: reply.only { !known.contains($0) })
            reply = reply.only { known.contains($0) }
        }
        let items = progress.items(of: reply)
        let bytes = reply.lines.reduce(0) { $0 + $1.text.utf8.count + 1 }
        guard let past = reply.past, let output = past.output, bytes < output.utf8.count else {
            return items
        }
        return Text.lines(of: output).map { .kept($0, run: past.id) }
    }

    private static func line(_ item: LogItem) -> TopPage.Line? {
        switch item {
        case .line(let line), .unfinished(let line):
            TopPage.Line(text: Screen.expanded(Printable.text(line.text)))
        case .kept(let text, _): TopPage.Line(text: Screen.expanded(Printable.text(text)))
        case .note(let what): TopPage.Line(text: "(\(Printable.text(what)))", style: .waiting)
        case .begin, .again, .end: nil
        }
    }

    /// The text in place of the output; nil if there is some.
    var emptiness: String? {
        guard page.lines.isEmpty else { return nil }
        return last == nil ? "waiting for timerd" : "no output"
    }
}

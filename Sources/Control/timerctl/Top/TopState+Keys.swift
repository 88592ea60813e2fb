// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// What the keys do in each mode.
extension TopState {
    /// - Returns: an action beside the change of the state.
    mutating func press(_ key: Key, _ size: TopSize) -> Action? {
        if key == .control("l") { return .redraw }
        switch mode {
        case .table: return pressInTable(key, size)
        case .filter(let before): return pressInFilter(key, before, size)
        case .question(let command): return answer(key, command)
        case .log(var log):
            guard !leaves(key) else {
                mode = .table
                return .refresh
            }
            log.page.press(key, pageSize(size))
            mode = .log(log)
        case .page(var page, let kind):
            guard !leaves(key) else {
                mode = .table
                return nil
            }
            page.press(key, pageSize(size))
            mode = .page(page, kind)
        case .note(let text, let job): return pressInNote(key, text, job)
        case .help(var page):
            guard !leaves(key), key != .character("?") else {
                mode = .table
                return nil
            }
            page.press(key, pageSize(size))
            mode = .help(page)
        }
        return nil
    }

    private func leaves(_ key: Key) -> Bool {
        [.escape, .left, .character("q"), .character("l")].contains(key)
    }

    private mutating func pressInTable(_ key: Key, _ size: TopSize) -> Action? {
        if isMove(key, size) { return TopDetail.width(size) == nil ? nil : .detail }
        message = nil
        switch key {
        case .character("q"): return .quit
        case .character("p"): return command { _ in .pause(note: nil) }
        case .character("P"): openNote()
        case .character("t"): return command { _ in .retry }
        case .character("w"): return open(.why, size)
        case .character("H"): return open(.runs, size)
        case .character("r"): return command { _ in .resume }
        case .character("R"): return command { _ in .run }
        case .character("s"): return command { .skip(min(CommandBody.countMax, ($0 ?? 0) + 1)) }
        case .character("K"): return command { _ in .kill }
        case .character("l"), .enter, .right: return openLog()
        case .character("/"): mode = .filter(before: text)
        case .character("S"): changeCommand(size)
        case .character("f"): toggleFailed(size)
        case .character("F"): changeState(size)
        case .character("?"), .character("h"): mode = .help(.help)
        case .escape where !text.isEmpty: setText("", size)
        case .character(let other) where other != " ":
            message = Message(text: "\"\(other)\" is not a command; ? lists them", isError: true)
        default: break
        }
        return nil
    }

    private mutating func isMove(_ key: Key, _ size: TopSize) -> Bool {
        let page = max(1, jobRows(size) - 1)
        switch key {
        case .up, .character("k"): move(to: place - 1, size)
        case .down, .character("j"): move(to: place + 1, size)
        case .pageUp, .control("b"): move(to: place - page, size)
        case .pageDown, .control("f"), .character(" "): move(to: place + page, size)
        case .home, .character("g"): move(to: 0, size)
        case .end, .character("G"): move(to: shown.count - 1, size)
        default: return false
        }
        return true
    }

    /// The command for the selected job. A command that cannot be undone needs a confirmation.
    ///
    /// - Parameter verb: gets how many of the job's next runs are skipped already.
    private mutating func command(_ verb: (Int?) -> TopCommand.Verb) -> Action? {
        guard let job = wantJob(), let name = Job.Name(job.job) else { return nil }
        let command = TopCommand(verb: verb(job.skips), job: name)
        guard command.question == nil else {
            mode = .question(command)
            return nil
        }
        return .command(command)
    }

    /// The selected job; nil, with a message, if there is none.
    private mutating func wantJob() -> JobTable.Row? {
        if job == nil { message = Message(text: "no job is selected", isError: true) }
        return job
    }

    private mutating func answer(_ key: Key, _ command: TopCommand) -> Action? {
        switch key {
        case .character("y"), .character("Y"):
            mode = .table
            return .command(command)
        case .character("n"), .character("N"), .character("q"), .escape, .enter:
            mode = .table
            message = Message(text: "nothing was changed")
        default: break
        }
        return nil
    }

    private mutating func open(_ page: DetailPage, _ size: TopSize) -> Action? {
        guard wantJob() != nil else { return nil }
        mode = .page(TopPage(lines(of: page, size, Terminal.now), top: 0), page)
        return .detail
    }

    private mutating func openNote() {
        guard let name = wantJob().flatMap({ Job.Name($0.job) }) else { return }
        mode = .note("", name)
    }

    /// The text of a line that is being typed, after this key; nil: the key does not change it.
    private static func typed(_ key: Key, after text: String) -> String? {
        switch key {
        case .character(let character): text + String(character)
        case .paste(let pasted): text + pasted.filter { !$0.isNewline }.prefix(200)
        case .backspace: String(text.dropLast())
        case .control("u"): ""
        default: nil
        }
    }

    private mutating func pressInNote(_ key: Key, _ text: String, _ job: Job.Name) -> Action? {
        if let new = Self.typed(key, after: text) {
            mode = .note(new, job)
            return nil
        }
        switch key {
        case .enter:
            mode = .table
            return .command(TopCommand(verb: .pause(note: text.isEmpty ? nil : text), job: job))
        case .escape:
            mode = .table
            message = Message(text: "nothing was changed")
        default: break
        }
        return nil
    }

    private mutating func openLog() -> Action? {
        guard let job = wantJob() else { return nil }
        mode = .log(TopLog(job: job.job))
        return .log(job.job)
    }

    private mutating func pressInFilter(_ key: Key, _ before: String, _ size: TopSize) -> Action? {
        if key == .backspace, text.isEmpty {
            mode = .table
            return nil
        }
        if let new = Self.typed(key, after: text) {
            setText(new, size)
            return nil
        }
        switch key {
        case .enter: mode = .table
        case .escape:
            mode = .table
            setText(before, size)
        case .up, .down, .pageUp, .pageDown: _ = isMove(key, size)
        default: break
        }
        return nil
    }
}

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
        case .character("s"): return command { .skip(min(OrderBody.countMax, ($0 ?? 0) + 1)) }
        case .character("K"): return command { _ in .kill }
        case .character("l"), .enter, .right: return openLog()
        case .character("/"): mode = .filter(before: text)
        case .character("S"): changeOrder(size)
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
        guard let job, let name = Job.Name(job.job) else {
            message = Message(text: "no job is selected", isError: true)
            return nil
        }
        let command = TopCommand(verb: verb(job.skips), job: name)
        guard command.question == nil else {
            mode = .question(command)
            return nil
        }
        return .command(command)
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
        guard job != nil else {
            message = Message(text: "no job is selected", isError: true)
            return nil
        }
        mode = .page(TopPage(lines(of: page, size, Terminal.now), top: 0), page)
        return .detail
    }

    private mutating func openNote() {
        guard let name = job.flatMap({ Job.Name($0.job) }) else {
            message = Message(text: "no job is selected", isError: true)
            return
        }
        mode = .note("", name)
    }

    private mutating func pressInNote(_ key: Key, _ text: String, _ job: Job.Name) -> Action? {
        switch key {
        case .character(let character): mode = .note(text + String(character), job)
        case .paste(let pasted):
            mode = .note(text + pasted.filter { !$0.isNewline }.prefix(200), job)
        case .backspace: mode = .note(String(text.dropLast()), job)
        case .control("u"): mode = .note("", job)
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
        guard let job else {
            message = Message(text: "no job is selected", isError: true)
            return nil
        }
        mode = .log(TopLog(job: job.job))
        return .log(job.job)
    }

    private mutating func pressInFilter(_ key: Key, _ before: String, _ size: TopSize) -> Action? {
        switch key {
        case .character(let character): setText(text + String(character), size)
        case .paste(let pasted): setText(text + pasted.filter { !$0.isNewline }.prefix(200), size)
        case .backspace where text.isEmpty: mode = .table
        case .backspace: setText(String(text.dropLast()), size)
        case .control("u"): setText("", size)
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

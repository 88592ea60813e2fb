// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// Everything that `timerctl top` shows: a value, changed by answers of the daemon and by keys.
struct TopState {
    /// What a key asks the daemon for, or of this program.
    enum Action: Hashable {
        case command(TopCommand)
        /// Show the output of a job.
        case log(String)
        /// Show the list again at once.
        case refresh
        /// Draw the whole screen again.
        case redraw
        case quit
    }

    /// What the keys are for at the moment.
    enum Mode {
        case table
        /// The filter is being typed; this was the one before.
        case filter(before: String)
        /// A question is asked in the last line.
        case question(TopCommand)
        case log(TopLog)
        case help(TopPage)
    }

    struct Message: Hashable {
        var text: String
        var isError = false
    }

    /// What the daemon said last; nil before its first answer.
    private(set) var table: JobTable?
    /// What is shown of the jobs, in this order.
    private(set) var shown: [JobTable.Row] = []
    /// What the command line and the keys say about which jobs are shown and how they are sorted.
    private(set) var filter: ListFilter
    /// The filter of the key `/`.
    private(set) var text = ""
    /// The selected job: it stays selected wherever it moves in the table.
    private(set) var selected: String?
    /// Where it is in the table.
    private(set) var place = 0
    /// The first job on the screen.
    private(set) var top = 0
    var mode = Mode.table
    /// What is shown in the last line.
    var message: Message?
    /// Why nothing new is known; nil if the daemon answers.
    var trouble: String?
    /// How many commands the daemon has not answered yet.
    var pending = 0
    /// Whether the program ends as soon as they are answered.
    var isLeaving = false

    init(filter: ListFilter) { self.filter = filter }

    var job: JobTable.Row? { shown.indices.contains(place) ? shown[place] : nil }

    /// Whether not every job is shown.
    var isFiltered: Bool { !filter.isAll || !text.isEmpty }

    /// - Complexity: O(*n* log *n*) in the jobs.
    mutating func update(_ new: JobTable, _ size: TopSize) {
        table = new
        trouble = nil
        select(size)
    }

    /// Adds output to the page it was asked for.
    ///
    /// - Parameter after: where the answer goes on from.
    mutating func take(_ reply: LogReply, of job: Job.Name, after: UInt64?, _ size: TopSize) {
        trouble = nil
        // The page may be another one by now.
        guard case .log(var log) = mode, log.job == job.description, log.last == after else {
            return
        }
        log.take(reply, pageSize(size))
        mode = .log(log)
    }

    mutating func setText(_ new: String, _ size: TopSize) {
        text = new
        select(size)
    }

    mutating func toggleFailed(_ size: TopSize) {
        filter.failed.toggle()
        select(size)
    }

    /// The next order: that of the configuration, then one after the other.
    mutating func changeOrder(_ size: TopSize) {
        let orders: [ListFilter.Order?] = [nil] + [.state, .next, .last, .name]
        let now = orders.firstIndex(of: filter.sort) ?? 0
        filter.sort = orders[(now + 1) % orders.count]
        select(size)
    }

    /// Works out what is shown. If the selected job is gone, the one in its place is selected.
    private mutating func select(_ size: TopSize) {
        shown = filter.apply(to: table?.jobs ?? [])
        if !text.isEmpty { shown = shown.filter { admits($0.job) } }
        if let found = shown.firstIndex(where: { $0.job == selected }) { place = found }
        move(to: place, size)
    }

    /// A text with `*`, `?` or `[` is a pattern; any other is part of a name, in capitals or not.
    private func admits(_ job: String) -> Bool {
        if text.contains(where: { "*?[".contains($0) }) {
            return NamePatterns.admit(job, as: text)
        }
        return job.lowercased().contains(text.lowercased())
    }

    mutating func move(to wanted: Int, _ size: TopSize) {
        place = max(0, min(wanted, shown.count - 1))
        selected = job?.job
        settle(size)
    }

    /// Has the selected job on the screen, and no room left below the last one.
    mutating func settle(_ size: TopSize) {
        let rows = max(1, jobRows(size))
        top = max(place - rows + 1, min(top, place))
        top = max(0, min(top, shown.count - rows))
    }
}

/// What the keys do to a job.
struct TopCommand: Hashable {
    enum Verb: Hashable {
        case pause, resume, run
        /// How many of the next runs are skipped, with those that are skipped already.
        case skip(Int)
        case kill
    }

    var verb: Verb
    var job: Job.Name

    /// What has to be agreed to first; nil for what can be taken back.
    var question: String? {
        switch verb {
        case .pause, .resume, .run: nil
        case .skip(1): "Skip the next run of \(job)? (y/n)"
        case .skip(let count): "Skip the next \(count) runs of \(job)? (y/n)"
        case .kill: "Stop the runs of \(job)? (y/n)"
        }
    }
}

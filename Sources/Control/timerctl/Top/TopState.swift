// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// The state of `timerctl top`. It is a value, which answers of the daemon and keys change.
struct TopState {
    /// What a key requests from the daemon or from this program.
    enum Action: Hashable {
        case command(TopCommand)
        /// Show the output of the job with this name.
        case log(String)
        /// Show another job beside the table, or on a page.
        case detail
        /// Request the list now, and not after the interval.
        case refresh
        /// Draw the whole screen again, as another program may have written to it.
        case redraw
        case quit
    }

    /// What the keys mean at the moment.
    enum Mode {
        case table
        /// The filter is being typed; with the filter before.
        case filter(before: String)
        /// A question is asked in the last line.
        case question(TopCommand)
        case log(TopLog)
        /// The reasons or the runs of the selected job.
        case page(TopPage, DetailPage)
        /// The note of a pause is being typed.
        case note(String, Job.Name)
        case help(TopPage)
    }

    /// A page about one job.
    enum DetailPage: Hashable { case why, runs }

    struct Message: Hashable {
        var text: String
        var isError = false
    }

    /// The last list of the daemon; nil before its first answer.
    private(set) var table: JobTable?
    /// The jobs that the filters select, in the order of the table.
    private(set) var shown: [JobTable.Row] = []
    /// The filter and the order that the command line and the keys set.
    private(set) var filter: ListFilter
    /// The text of the filter of the key `/`; empty: none.
    private(set) var text = ""
    /// The selected job. It stays selected wherever it moves in the table.
    private(set) var selected: String?
    /// The index of the selected job in `shown`.
    private(set) var place = 0
    /// The index in `shown` of the first job on the screen.
    private(set) var top = 0
    var mode = Mode.table
    /// The message in the last line; nil: none.
    var message: Message?
    /// Why there is no new data; nil if the daemon answers.
    var problem: String?
    /// What is known of the selected job; of another one for a moment after the selection moved.
    private(set) var detail: TopDetail?
    /// How many commands the daemon has not answered yet.
    var pending = 0
    /// Whether the program ends as soon as these are answered.
    var isLeaving = false

    init(filter: ListFilter) { self.filter = filter }

    var job: JobTable.Row? { shown.indices.contains(place) ? shown[place] : nil }

    /// Whether a filter may hide jobs.
    var isFiltered: Bool { !filter.isAll || !text.isEmpty }

    /// - Complexity: O(*n* log *n*) in the jobs.
    mutating func update(_ new: JobTable, _ size: TopSize) {
        table = new
        problem = nil
        select(size)
    }

    mutating func apply(_ new: TopDetail, _ size: TopSize, now: WallInstant) {
        problem = nil
        guard new.job == selected else { return }
        detail = new
        if case .page(let page, let kind) = mode {
            mode = .page(TopPage(lines(of: kind, size, now), top: page.top), kind)
        }
    }

    /// The lines of a page about the selected job.
    func lines(of page: DetailPage, _ size: TopSize, _ now: WallInstant) -> [TopPage.Line] {
        guard let detail, detail.job == selected else { return [.init(text: "waiting for timerd")] }
        return page == .why
            ? detail.whyLines(size.columns) : detail.runLines(size.columns, now)
    }

    /// Adds output to the page that requested it.
    ///
    /// - Parameter after: the number from which the request continued.
    mutating func apply(_ reply: LogReply, of job: Job.Name, after: UInt64?, _ size: TopSize) {
        problem = nil
        // The answer may be for a page that is not shown any more.
        guard case .log(var log) = mode, log.job == job.description, log.last == after else {
            return
        }
        log.apply(reply, pageSize(size))
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

    /// Shows only the jobs of the next state that there is, and after the last state all jobs.
    mutating func changeState(_ size: TopSize) {
        let present = Set((table?.jobs ?? []).map(\.stateWord))
        let states = ListFilter.State.allCases.filter { present.contains($0.rawValue) }
        let last = filter.states.max { $0.rank < $1.rank }
        filter.paused = false
        filter.state = states.first { last.map(\.rank) ?? -1 < $0.rank }.map { [$0] } ?? []
        select(size)
    }

    /// Changes to the next order; the first is that of the configuration.
    mutating func changeCommand(_ size: TopSize) {
        let orders: [ListFilter.Order?] = [nil] + [.state, .next, .last, .name]
        let now = orders.firstIndex(of: filter.sort) ?? 0
        filter.sort = orders[(now + 1) % orders.count]
        select(size)
    }

    /// Computes which jobs are shown. If the selected job is gone, the job in its place is
    /// selected.
    private mutating func select(_ size: TopSize) {
        shown = filter.apply(to: table?.jobs ?? [])
        if !text.isEmpty { shown = shown.filter { admits($0.job) } }
        if let found = shown.firstIndex(where: { $0.job == selected }) { place = found }
        move(to: place, size)
    }

    /// A text with `*`, `?` or `[` is a pattern; any other text is a part of a name, in upper or
    /// lower case.
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

    /// Scrolls so that the selected job is visible, with no empty rows below the last job.
    mutating func settle(_ size: TopSize) {
        let rows = max(1, jobRows(size))
        top = max(place - rows + 1, min(top, place))
        top = max(0, min(top, shown.count - rows))
    }
}

/// A command for a job, as the keys give it.
struct TopCommand: Hashable {
    enum Verb: Hashable {
        case pause(note: String?)
        case resume, run, retry
        /// How many of the next runs are skipped, including those that are skipped already.
        case skip(Int)
        case kill
    }

    var verb: Verb
    var job: Job.Name

    /// The question before the command; nil for a command that can be undone.
    var question: String? {
        switch verb {
        case .pause, .resume, .run, .retry: nil
        case .skip(1): "Skip the next run of \(job)? (y/n)"
        case .skip(let count): "Skip the next \(count) runs of \(job)? (y/n)"
        case .kill: "Stop the runs of \(job)? (y/n)"
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import TimerControl
import TimerCore
import TimerDaemon

/// The history of jobs that a fleet shares: this machine has its own runs in its record, and the fleet
/// has the latest ones of all machines.
extension Control {
    /// Adds to a job of a fleet which machines may start it.
    func lookUp(_ snapshot: JobSnapshot, _ done: @escaping @Sendable (JobSnapshot) -> Void) {
        guard snapshot.job.fleet != nil else { return done(snapshot) }
        loop.later { loop in
            guard let (driver, _) = loop.fleet else {
                return DispatchQueue.answers.async { done(snapshot) }
            }
            driver.readView(of: snapshot.job.name) { view in
                DispatchQueue.answers.async {
                    var snapshot = snapshot
                    snapshot.fleet = view
                    done(snapshot)
                }
            }
        }
    }

    /// Adds what the fleet knows to a page of the history of this machine.
    func withFleet(
        _ page: HistoryPage, _ query: HistoryQuery,
        _ done: @escaping @Sendable (HistoryReply) -> Void
    ) {
        loop.later { loop in
            guard let (driver, machine) = loop.fleet else {
                return DispatchQueue.answers.async { done(HistoryReply(page, lines: query.lines)) }
            }
            let template = query.job.flatMap { $0.isTemplate ? $0 : nil }
            driver.readRuns(of: template == nil ? query.job : nil) { all in
                DispatchQueue.answers.async {
                    let runs =
                        template.map { template in
                            all.filter { $0.run.firing.job.isInstance(of: template) }
                        } ?? all
                    var reply = HistoryReply(page, lines: query.lines)
                    FleetPage(runs, machine).add(to: &reply, of: page, query)
                    done(reply)
                }
            }
        }
    }
}

/// The runs that a fleet has, as a part of the history.
struct FleetPage {
    private let runs: [FleetJobView.MachineRun]
    private let machine: MachineName

    /// - Parameters:
    ///   - runs: those of all machines, in any order.
    ///   - machine: this one.
    init(_ runs: [FleetJobView.MachineRun], _ machine: MachineName) {
        self.runs = runs
        self.machine = machine
    }

    /// Adds the runs of the other machines that ended in the time of the page, and what any machine
    /// skipped: that is in no record of a machine. The page keeps its size, and the next one begins behind
    /// its end.
    ///
    /// - Complexity: O(*n* log *n*) in the runs of the fleet and of the page.
    func add(to reply: inout HistoryReply, of page: HistoryPage, _ query: HistoryQuery) {
        let names = Set(runs.map(\.run))
        for index in reply.runs.indices
        where Run.ID(reply.runs[index].id).map(names.contains) ?? false {
            reply.runs[index].machine = machine.description
        }
        let known = Set(reply.runs.map(\.id))
        let ended = runs.filter { isIn(page, query, $0) }
        reply.runs += ended.filter {
            $0.skipReason == nil && $0.machine != machine && query.admits($0)
                && !known.contains($0.run.description)
        }.map { RunStatus($0) }
        // Instants sort as their texts do, because all have the same number of digits.
        reply.runs.sort { ($0.ended ?? "", $0.id) > ($1.ended ?? "", $1.id) }
        if query.wantsSkips {
            let skipped = ended.filter { query.admitsName(of: $0) }
            reply.skippedRuns = (reply.skippedRuns ?? []) + skipped.compactMap { SkippedRuns($0) }
            reply.skippedRuns?.sort { $0.at > $1.at }
        }
        cut(&reply, of: page, to: query.limit)
    }

    /// Whether a run ended in the time that the page has.
    private func isIn(
        _ page: HistoryPage, _ query: HistoryQuery, _ run: FleetJobView.MachineRun
    ) -> Bool {
        guard run.outcome != nil || run.skipReason != nil, let ended = run.ended else {
            return false
        }
        if let since = query.since, ended < since { return false }
        if let until = query.until, ended >= until { return false }
        // What is as old as the end of the page before belongs to that one.
        if let cursor = query.cursor, ended.microsecondsSinceEpoch >= cursor.microseconds {
            return false
        }
        return page.next.map { ended.microsecondsSinceEpoch >= $0.microseconds } ?? true
    }

    private func cut(_ reply: inout HistoryReply, of page: HistoryPage, to limit: Int) {
        let ends = reply.runs.map { $0.ended ?? "" } + (reply.skippedRuns ?? []).map(\.at)
        guard ends.count > limit else { return }
        let last = ends.sorted(by: >)[limit - 1]
        reply.runs.removeAll { ($0.ended ?? "") < last }
        reply.skippedRuns?.removeAll { $0.at < last }
        guard let instant = WallInstant(rfc3339: last)?.microsecondsSinceEpoch,
            // Behind its end, the record of this machine may have more of the same instant.
            page.next?.microseconds != instant
        else { return }
        // All that ended then is on this page, also if that makes it a little longer.
        reply.nextCursor =
            HistoryCursor(microseconds: instant, isSkip: true, row: 0).description
    }
}

extension HistoryQuery {
    fileprivate func admitsName(of run: FleetJobView.MachineRun) -> Bool {
        let name = run.run.firing.job.description
        return match.isEmpty || match.contains { NamePattern($0).matches(name) }
    }

    /// Whether a run of a machine passes the filters. The fleet does not say why it was made: of the
    /// reasons only a further attempt is known.
    fileprivate func admits(_ run: FleetJobView.MachineRun) -> Bool {
        guard admitsName(of: run), cause == nil || (cause == .retry && run.run.attempt > 1) else {
            return false
        }
        let hasProcess =
            switch run.outcome {
            case .exited, .signalled: true
            default: false
            }
        return switch result {
        case nil: true
        case .failed: run.hasFailed
        case .succeeded: !run.hasFailed && hasProcess
        case .other: !run.hasFailed && !hasProcess
        case .skipped: false
        }
    }
}

extension SkippedRuns {
    /// Nil for a run that was not skipped.
    init?(_ run: FleetJobView.MachineRun) {
        guard let reason = run.skipReason, let at = run.ended else { return nil }
        let slot = run.run.firing.scheduled
        self.init(
            job: run.run.firing.job.description, reason: reason.word,
            skippedCount: run.missed + 1,
            firstScheduled: (run.first ?? slot).rfc3339Micros,
            lastScheduled: slot.rfc3339Micros, at: at.rfc3339Micros)
    }
}

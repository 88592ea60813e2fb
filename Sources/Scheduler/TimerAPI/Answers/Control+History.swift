// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import NIOHTTP1
import TimerControl
import TimerCore
import TimerDaemon
import TimerHTTP
import TimerRecording
import TimerStore
import TimerZones

/// Requests about what ran, what was skipped, and what was paused.
extension Control {
    func history(_ query: HistoryQuery, _ reply: @escaping ControlAnswer.Reply) {
        recorder.read { (store) throws(StoreError) in
            let page = try HistoryPage(query, from: store)
            // A job that was removed from the configuration may have runs, though none that match.
            let hasRuns =
                if let job = query.job, page.isEmpty {
                    try Self.hasHistory(job, store)
                } else { true }
            return (page, hasRuns)
        } _: { result in
            DispatchQueue.answers.async {
                switch result {
                case .failure(let error): self.send(error, reply)
                case .success((let page, let hasRuns)):
                    self.withFleet(page, query) { answer in
                        let isKnown = hasRuns || !answer.runs.isEmpty
                        self.answer(answer, of: isKnown ? nil : query.job, reply)
                    }
                }
            }
        }
    }

    private static func hasHistory(_ job: Job.Name, _ store: Store) throws(StoreError) -> Bool {
        let range = Store.HistoryRange(job: job, limit: 1)
        if try !store.history(range, withOutput: false).isEmpty { return true }
        return try !store.skips(range).isEmpty
    }

    /// - Parameter job: the requested job, if the history does not have it.
    private func answer(
        _ answer: some Encodable & Sendable, of job: Job.Name?,
        _ reply: @escaping ControlAnswer.Reply
    ) {
        guard let job else { return send(.ok, answer, reply) }
        loop.later { loop in
            let (snapshot, names) = loop.snapshot(of: job)
            let isTemplate =
                job.isTemplate && loop.agenda.names.contains { $0.isInstance(of: job) }
            DispatchQueue.answers.async {
                guard snapshot != nil || isTemplate else {
                    return self.noSuchJob(job, among: names, reply)
                }
                self.send(.ok, answer, reply)
            }
        }
    }

    func recent(_ query: RecentQuery, _ reply: @escaping ControlAnswer.Reply) {
        recorder.read { (store) throws(StoreError) in
            try store.recentRuns(
                count: query.count, since: query.since, failed: query.failed, after: query.after,
                runsMax: RecentReply.runsMax)
        } _: { result in
            DispatchQueue.answers.async {
                switch result {
                case .failure(let error): self.send(error, reply)
                case .success((let jobs, let isCut)):
                    let recent = jobs.map { job in
                        RecentReply.Runs(
                            job: job.job.description,
                            verdicts: job.verdicts.map(\.rawValue).joined(), endTimes: job.ends,
                            durations: job.durations)
                    }
                    self.send(
                        .ok, RecentReply(recent: recent, nextJob: isCut ? recent.last?.job : nil),
                        reply)
                }
            }
        }
    }

    func pauses(_ query: PauseQuery, _ reply: @escaping ControlAnswer.Reply) {
        recorder.read { (store) throws(StoreError) in
            // One more than is shown, to know whether there is more.
            try store.pauses(
                of: query.job, since: query.since, until: query.until, limit: query.limit + 1)
        } _: { result in
            DispatchQueue.answers.async {
                switch result {
                case .failure(let error): self.send(error, reply)
                case .success(let pauses):
                    self.answer(
                        PausesReply(pauses, limit: query.limit),
                        of: pauses.isEmpty ? query.job : nil, reply)
                }
            }
        }
    }

    func days(of job: Job.Name, count: Int, _ reply: @escaping ControlAnswer.Reply) {
        loop.later { loop in
            let schedule = loop.snapshot(of: job).0?.job.schedule
            DispatchQueue.answers.async {
                let zone = schedule?.zone ?? (try? ZoneFiles().local()) ?? .utc
                let days = CalendarDays(count, through: self.loop.clocks.wall, in: zone)
                self.days(of: job, days, isNamed: schedule?.zone != nil, reply)
            }
        }
    }

    private func days(
        of job: Job.Name, _ days: CalendarDays, isNamed: Bool,
        _ reply: @escaping ControlAnswer.Reply
    ) {
        recorder.read { (store) throws(StoreError) in
            let sums = try store.sums(of: job, between: days.bounds)
            return (sums, try Self.hasHistory(job, store))
        } _: { result in
            DispatchQueue.answers.async {
                switch result {
                case .failure(let error): self.send(error, reply)
                case .success((let sums, let isKnown)):
                    let answer = DaysReply(
                        job: job.description, timezone: isNamed ? days.zone.name : nil,
                        today: days.names.last ?? "",
                        days: zip(days.names, sums).filter { $1 != Store.Sums() }.map {
                            DaysReply.Day(
                                day: $0, runCount: $1.runs, failedCount: $1.failed,
                                skippedCount: $1.skipped, elapsedUsec: $1.elapsed)
                        })
                    self.answer(answer, of: isKnown ? nil : job, reply)
                }
            }
        }
    }
}

/// Days in a row as a time zone has them.
struct CalendarDays: Sendable {
    let zone: ZoneRules
    /// The days as texts, such as 2026-11-22, the earliest first.
    let names: [String]
    /// When each of them begins, and the last one ends.
    let bounds: [WallInstant]

    private static let microseconds: Int64 = 86_400_000_000

    /// - Parameters:
    ///   - count: how many days, at least 1.
    ///   - instant: an instant of the last day.
    init(_ count: Int, through instant: WallInstant, in zone: ZoneRules) {
        let local = (instant + .seconds(zone.offset(at: instant))).microsecondsSinceEpoch
        let today = (local - (local < 0 ? Self.microseconds - 1 : 0)) / Self.microseconds
        let days = (today - Int64(count) + 1)...(today + 1)
        self.zone = zone
        // Where the clocks skip midnight, the day begins behind the gap; where it comes twice, with the first.
        bounds = days.map { zone.instants(atLocalMicroseconds: $0 * Self.microseconds)[0] }
        names = days.dropLast().map { day in
            let noon = WallInstant(microsecondsSinceEpoch: day * Self.microseconds)
            return String(noon.rfc3339Micros.prefix(10))
        }
    }
}

extension Schedule {
    /// The time zone of a schedule by the calendar; nil for another schedule.
    fileprivate var zone: ZoneRules? {
        guard case .wall(let schedule) = self else { return nil }
        for source in schedule.sources {
            switch source {
            case .calendar(_, let zone), .cron(_, let zone):
                return zone.isLocal ? nil : zone
            case .at: continue
            }
        }
        return nil
    }
}

/// Some of the history: runs and, if they are requested, what was skipped.
struct HistoryPage: Sendable {
    var runs: [Store.PastRun] = []
    /// Nil if the query does not ask for them.
    var skips: [Store.PastSkip]?
    /// Behind what the next page begins; nil if this is the last page.
    var next: HistoryCursor?

    var isEmpty: Bool { runs.isEmpty && skips?.isEmpty != false }

    /// Reads a page of the query, and where the next one begins.
    init(_ query: HistoryQuery, from store: Store) throws(StoreError) {
        let place = query.cursor.map {
            Store.HistoryPlace(instant: $0.microseconds, isSkip: $0.isSkip, row: $0.row)
        }
        // One more than is shown, to know whether there is more.
        var range = Store.HistoryRange(
            job: query.job, since: query.since, until: query.until, after: place,
            limit: query.limit + 1)
        if !query.match.isEmpty {
            let patterns = query.match.map { NamePattern($0) }
            range.jobs = try store.jobsWithHistory().filter { name in
                patterns.contains { $0.matches(name.description) }
            }
        }
        range.verdict = query.result.flatMap { Store.Verdict($0) }
        range.cause = query.cause.flatMap { Store.CauseKind(rawValue: $0.rawValue) }
        if query.result != .skipped {
            runs = try store.history(range, withOutput: query.output)
        }
        if query.wantsSkips { skips = try store.skips(range) }
        cut(to: query.limit)
    }

    /// Removes what comes behind the latest so many.
    private mutating func cut(to limit: Int) {
        guard runs.count + (skips?.count ?? 0) > limit else { return }
        let skips = skips ?? []
        var (run, skip) = (0, 0)
        while run + skip < limit {
            let isSkip =
                run == runs.count || (skip < skips.count && skips[skip].at > runs[run].ended)
            if isSkip { skip += 1 } else { run += 1 }
            if run + skip == limit {
                next =
                    isSkip
                    ? HistoryCursor(
                        microseconds: skips[skip - 1].at.microsecondsSinceEpoch, isSkip: true,
                        row: skips[skip - 1].row)
                    : HistoryCursor(
                        microseconds: runs[run - 1].ended.microsecondsSinceEpoch, isSkip: false,
                        row: runs[run - 1].row)
            }
        }
        runs.removeLast(runs.count - run)
        if self.skips != nil { self.skips = Array(skips.prefix(skip)) }
    }
}

extension Store.Verdict {
    /// Nil for runs that were not started: they are in another table.
    fileprivate init?(_ result: HistoryResult) {
        switch result {
        case .succeeded: self = .succeeded
        case .failed: self = .failed
        case .other: self = .neither
        case .skipped: return nil
        }
    }
}

extension HistoryReply {
    /// - Parameter lines: how many lines of the output of a run are left; nil: all.
    init(_ page: HistoryPage, lines: Int?) {
        self.init(
            runs: page.runs.map { run in
                var status = RunStatus(run)
                if let lines, let output = status.output {
                    status.output = OutputLines.last(lines, of: output).joined(separator: "\n")
                }
                return status
            },
            skippedRuns: page.skips.map { skips in skips.map { SkippedRuns($0) } },
            nextCursor: page.next?.description)
    }
}

extension SkippedRuns {
    init(_ skip: Store.PastSkip) {
        self.init(
            job: skip.job.description, reason: skip.reason, blockedBy: skip.blockedBy,
            skippedCount: skip.count, firstScheduled: skip.first.rfc3339Micros,
            lastScheduled: skip.last.rfc3339Micros, at: skip.at.rfc3339Micros)
    }
}

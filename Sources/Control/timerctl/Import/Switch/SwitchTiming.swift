// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerControl
import TimerCore
import TimerImport
import TimerZones

/// When the source of a file can be switched: when no run of its jobs is due, on both sides.
struct SwitchTiming {
    let connection: Connection
    /// How soon it is looked again at something of which no end is known, such as a run.
    private static let pause: Duration = .milliseconds(500)

    /// An instant that is not before `now`: then it is looked again, or, if it is `now`, the source is switched.
    struct Moment {
        var at: WallInstant
        /// What it waits for.
        var reason: String
    }

    /// - Throws: if there is no such instant within `QuietMoment.waitMax`.
    func moment(
        for file: SwitchFile, isSourceOn: Bool, from now: WallInstant
    ) throws(SwitchFault) -> Moment {
        var jobs: [JobStatus] = []
        for name in file.jobs {
            guard let job = try status(of: name) else {
                return Moment(at: now + Self.pause, reason: "timerd does not answer")
            }
            // It was due before, and the guard would be asked after the change.
            if job.running.contains(where: { $0.began == nil }) {
                return Moment(at: now + Self.pause, reason: "a run of \(name) is about to start")
            }
            jobs.append(job)
        }
        var busy = QuietMoment.minutes(around: now)
        if case .timer(let unit, let start) = file.source {
            let timer = SwitchTimer(unit: unit, start: start)
            let facts: SwitchTimer.Facts? = isSourceOn ? try timer.facts() : nil
            if facts?.isRunning == true {
                return Moment(at: now + Self.pause, reason: "its service is running")
            }
            busy = try spans(of: jobs, facts, at: now)
        }
        guard let at = QuietMoment.first(from: now, outside: busy) else {
            throw SwitchFault(
                "a run is due at each moment of the next \(QuietMoment.waitMax.components.seconds / 60) min; try again when its times are further apart, or later"
            )
        }
        return Moment(at: at, reason: "a run is due")
    }

    /// A job; nil if the daemon does not answer.
    func status(of name: String) throws(SwitchFault) -> JobStatus? {
        guard let job = Job.Name(name) else { throw SwitchFault("\"\(name)\" is not a job") }
        do throws(Connection.Failure) {
            return try connection.value(JobStatus.self, of: .show(job))
        } catch {
            guard error.isRefusal || error == Connection.unexpected else { return nil }
            throw SwitchFault(error.reply.error)
        }
    }

    /// The spans in which the jobs of a timer are due.
    ///
    /// - Parameter facts: those of the timer; nil if it is off, so that only timerd has runs.
    private func spans(
        of jobs: [JobStatus], _ facts: SwitchTimer.Facts?, at now: WallInstant
    ) throws(SwitchFault) -> [QuietMoment.Busy] {
        var busy: [QuietMoment.Busy] = []
        for job in jobs {
            let policy = job.policy
            let own =
                (policy?.accuracyUsec ?? 0) + (policy?.randomDelayUsec ?? 0)
                + (policy?.randomOffsetUsec ?? 0)
            let next = job.next.flatMap(WallInstant.init(rfc3339:))
            let delays = QuietMoment.Delays(
                systemd: facts.map { max($0.delay, .microseconds(own)) } ?? .zero,
                timerd: .microseconds(own), lastStart: facts?.lastStart, nextStart: next)
            busy += QuietMoment.spans(of: try times(of: job, delays, at: now), delays)
            // An interval has no times that are known before, and a time may have a delay that is drawn.
            if let next { busy.append(QuietMoment.span(around: next)) }
            if let facts, let onBoot = job.afterBootUsec {
                let boot = now - .microseconds(SwitchTimer.clock(CLOCK_BOOTTIME))
                busy += QuietMoment.spans(of: [boot + .microseconds(onBoot)], delays)
                    .filter { $0.upperBound > now && (facts.lastStart ?? boot) <= $0.lowerBound }
                    .map { min(now, $0.lowerBound)...$0.upperBound }
            }
        }
        guard let facts else { return busy }
        if let last = facts.lastStart { busy.append(QuietMoment.span(around: last)) }
        let elapses = [facts.next, facts.nextIn.map { now + $0 }].compactMap(\.self)
        return busy
            + elapses.map { next in
                let span = QuietMoment.span(around: next)
                return span.lowerBound...span.upperBound + facts.delay
            }
    }

    /// The times of a calendar that matter now: from those whose delays are not over, until nothing waits any more.
    private func times(
        of job: JobStatus, _ delays: QuietMoment.Delays, at now: WallInstant
    ) throws(SwitchFault) -> [WallInstant] {
        guard job.calendar != nil else { return [] }
        let zones = ZoneFiles()
        let schedule: WallSchedule
        do { schedule = try job.wallSchedule(zones.rules(under:)) } catch {
            throw SwitchFault("its times cannot be worked out: \(error)")
        }
        var (times, at): ([WallInstant], WallInstant) = ([], now - delays.longest)
        while let next = schedule.next(after: at), next <= now + QuietMoment.waitMax {
            times.append(next)
            at = next
        }
        return times
    }
}

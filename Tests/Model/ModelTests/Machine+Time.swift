// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension Machine {
    /// Lets awake time pass: all timers expire when they are due, and runs end.
    func pass(_ span: Int64) {
        let end = awake + span
        while counts.told < budget * 2, atOnce < 2000 {
            let ring = nextRing()
            let ending = nextEnd()
            // If both are due by now, either may be handled first.
            let rings = ring.map { max(awake, $0.at) } ?? .max
            let ends = ending.map { max(awake, alive[$0].ends) } ?? .max
            let watches = nextWatch().map { max(awake, $0) } ?? .max
            guard min(rings, ends, watches) <= end else {
                move(end - awake, .awake)
                return
            }
            if watches < min(rings, ends) {
                move(
                    (watches - awake + Unit.microsecond - 1) / Unit.microsecond * Unit.microsecond,
                    .awake)
                tellOfWatches()
            } else if let ending, ends < rings || (ends == rings && draw(below: 2) == 0) {
                move(ends - awake, .awake)
                finish(ending)
            } else if let ring {
                // No timer is more exact than a microsecond.
                let span = rings - awake
                move((span + Unit.microsecond - 1) / Unit.microsecond * Unit.microsecond, .awake)
                rouse(ring.job)
            }
        }
        if atOnce >= 2000 { note(Seen(kind: .nonsense)) }
    }

    func nextRing() -> (at: Int64, job: Int)? {
        var first: (at: Int64, job: Int)?
        func consider(_ at: Int64, _ job: Int) {
            if first.map({ at < $0.at }) ?? true { first = (at, job) }
        }
        for job in 0..<Self.names {
            if let at = timers[job] { consider(at, job) }
            if let at = retryTimers[job] { consider(at, job) }
            if let at = wallTimers[job] { consider(awake + at - wall, job) }
        }
        return first
    }

    /// When the daemon is told next that a process started, or the timer for incidents expires.
    private func nextWatch() -> Int64? {
        [
            beginnings.map(\.at).min(), incidentTimer.map { awake + $0 - wall },
            checks.map(\.at).min(),
        ].compactMap(\.self).min()
    }

    private func tellOfWatches() {
        if let at = incidentTimer, at <= wall {
            incidentTimer = nil
            return tell(.incidentsDue, .incidentsDue)
        }
        if let index = checks.firstIndex(where: { $0.at <= awake }) { return answer(index) }
        guard let index = beginnings.firstIndex(where: { $0.at <= awake }) else { return }
        let run = beginnings.remove(at: index).run
        guard let row = rows.firstIndex(where: { $0.run.id == run }) else { return }
        rows[row].began = wall
        tell(.began(run, at: now.wall), .began(self.index(run.firing.job)))
    }

    func nextEnd() -> Int? {
        var first: Int?
        for index in alive.indices where alive[index].left == nil {
            if first.map({ alive[index].ends < alive[$0].ends }) ?? true { first = index }
        }
        return first
    }

    func move(_ span: Int64, _ how: Passing) {
        guard span > 0 else { return }
        atOnce = 0
        append(.passed(how, span))
        awake += span
        wall += span
        guard agenda.isCounting else { return }
        // There is a heartbeat twice a second, and at once after a standstill.
        let since = how == .blocked ? 0 : (awake - began.awake.nanoseconds) % (Unit.second / 2)
        if since < span { beat(before: since) }
    }

    func beat(before span: Int64) {
        beat = Heartbeat(instance: instance, at: reading(before: span))
    }

    func rouse(_ job: Int) {
        if let at = timers[job], at <= awake { timers[job] = nil }
        if let at = wallTimers[job], at <= wall { wallTimers[job] = nil }
        if let at = retryTimers[job], at <= awake { retryTimers[job] = nil }
        counts.wakes += 1
        // The clocks are never before an event that was handled. They are after it, by what a record can
        // tell: an account that began with it has counted something.
        let ahead = min(
            Int64(1 + draw(below: 10)) * 1_000_000, awake - lastTold - Unit.microsecond)
        let isAhead = draw(below: 2) == 0 && ahead > 0
        agenda.ahead = isAhead ? .nanoseconds(ahead) : .zero
        defer { agenda.ahead = .zero }
        tell(.wake(Self.allNames[job]), isAhead ? .wakeAhead(job) : .wake(job))
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Checker {
    // MARK: - Jitter

    /// The random number for a job never changes on one machine: FNV-1a of its name into the seed,
    /// then the last step of SplitMix64.
    private func draw(_ job: Int, _ ordinal: Int64, below bound: Int64) -> Int64 {
        let microseconds = UInt64(bound / Unit.microsecond)
        var mixed = (seed ^ 0xcbf2_9ce4_8422_2325) ^ UInt64(97 + job)
        mixed = mixed &* 0x100_0000_01b3
        mixed = mixed &+ UInt64(bitPattern: ordinal) &* 0x9e37_79b9_7f4a_7c15
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        mixed ^= mixed >> 31
        return Int64(mixed % microseconds) * Unit.microsecond
    }

    /// By how much all points of the job are shifted.
    func offset(_ job: Int) -> Int64 {
        let most = states[job].spec.randomOffset
        return most > 0 ? draw(job, .max, below: most) : 0
    }

    /// By how much the point with this number, or the occurrence at this microsecond, is delayed.
    func delay(_ job: Int, ordinal: Int64) -> Int64 {
        let most = states[job].spec.randomDelay
        return most > 0 ? draw(job, ordinal, below: most) : 0
    }

    /// How long a missed run with this label waits.
    func catchUpDelay(_ job: Int, _ label: Int64) -> Int64 {
        let most = states[job].spec.catchUpDelay
        guard states[job].spec.kind != .onBoot else { return 0 }
        return most > 0 ? draw(job, ~(label / Unit.microsecond), below: most) : 0
    }

    // MARK: - The points

    /// The elapsed time at the next grid point.
    func target(_ job: Int) -> Int64 {
        let state = states[job]
        switch state.spec.kind {
        case .after, .onBoot: return state.spec.span + offset(job)
        case .every, .slots, .at:
            guard state.firings == 0 else { return state.spec.span }
            return (state.spec.first ?? state.spec.span) + offset(job)
        }
    }

    /// The first occurrence after an instant, without the offset of the job.
    private func plainSlot(_ spec: PlainJob, after instant: Int64) -> Int64? {
        if spec.kind == .at { return spec.instants.first { $0 > instant } }
        let since = instant - spec.phase
        let quotient = since / spec.span
        let whole = since < 0 && quotient * spec.span != since ? quotient - 1 : quotient
        return (whole + 1) * spec.span + spec.phase
    }

    func slot(_ job: Int, after instant: Int64) -> Int64? {
        let shift = offset(job)
        return plainSlot(states[job].spec, after: instant - shift).map { $0 + shift }
    }

    /// When the next occurrence is due.
    func dueSlot(_ job: Int) -> Int64? {
        slot(job, after: states[job].seen).map { due($0, job) }
    }

    private func due(_ slot: Int64, _ job: Int) -> Int64 {
        slot + delay(job, ordinal: slot / Unit.microsecond)
    }

    /// Whether a finished job would have further occurrences.
    func hasSlots(_ job: Int) -> Bool {
        plainSlot(states[job].spec, after: states[job].seen) != nil
    }

    /// Finishes a job that has no more occurrences, or nothing more to do in this boot.
    func finishWithoutSlots(_ job: Int) {
        guard states[job].phase == .armed else { return }
        if states[job].spec.kind == .onBoot, !states[job].isDueThisBoot {
            states[job].phase = .finished
        }
        guard !states[job].spec.isCounted else { return }
        if slot(job, after: states[job].seen) == nil { states[job].phase = .finished }
    }

    /// The occurrences between the last processed instant and now: the first, and their number.
    func passedBySetting(_ job: Int) -> (first: Int64, count: Int)? {
        guard !states[job].spec.isCounted, let first = slot(job, after: states[job].seen) else {
            return nil
        }
        var count = 1
        var last = first
        while states[job].spec.kind == .at, let next = slot(job, after: last), next <= wall {
            count += 1
            last = next
        }
        return (first, count)
    }

    // MARK: - Due points

    /// The maximum number of points that are listed at the same time.
    static let passedMax = 10_000

    func isDue(_ job: Int) -> Bool {
        guard states[job].phase == .armed, let left = leftToDue(job) else { return false }
        return left <= 0
    }

    func fire(_ job: Int) {
        if states[job].spec.isCounted {
            let passed = passGrid(job)
            if states[job].spec.kind != .every {
                states[job].phase = .finished
                states[job].isDueThisBoot = false
                states[job].accrued = 0
            }
            make(passed, job)
        } else {
            let passed = passSlots(job)
            finishWithoutSlots(job)
            make(passed, job)
        }
    }

    private func passGrid(_ job: Int) -> Passed {
        let state = states[job]
        let target = target(job)
        let span = state.spec.span
        let age = state.accrued - target - delay(job, ordinal: state.firings)
        var passed = Passed(count: 1, label: wall - (state.accrued - target), age: age, span: span)
        if state.spec.restartsAtEnd {
            // One firing, whatever has passed. If no run is made, the grid continues.
            states[job].accrued -= target + Int64(age / span) * span
            states[job].firings += 1
            return passed
        }
        // The number of points that are passed, if it is more than the list has.
        var all: Int?
        if state.spec.kind == .every {
            if state.spec.randomDelay == 0 {
                passed.count += Int(age / span)
            } else {
                // If there are very many, only the first and the latest are listed; all are passed.
                let sure = state.accrued - state.spec.randomDelay - target
                let sureCount = sure < 0 ? 0 : Int(sure / span) + 1
                passed.list = [(passed.label, age)]
                var index = max(1, sureCount - Self.passedMax + 1)
                while passed.list.count < Self.passedMax {
                    let point = target + Int64(index) * span
                    let due = point + delay(job, ordinal: state.firings + Int64(index))
                    guard due <= state.accrued else { break }
                    passed.list.append((wall - (state.accrued - point), state.accrued - due))
                    index += 1
                }
                passed.count = passed.list.count
                all = index
            }
            states[job].accrued -= target + Int64((all ?? passed.count) - 1) * span
        }
        states[job].firings += Int64(all ?? passed.count)
        return passed
    }

    private func passSlots(_ job: Int) -> Passed {
        let state = states[job]
        guard let first = slot(job, after: state.seen) else {
            return Passed(count: 1, label: 0, age: 0)
        }
        let shift = state.corrections * Unit.microsecond
        var passed = Passed(count: 0, label: first + shift, age: wall - first)
        var last = first
        if state.spec.kind == .slots, state.spec.randomDelay == 0 {
            passed.span = state.spec.span
            passed.count = Int((wall - first) / state.spec.span) + 1
            last = first + Int64(passed.count - 1) * state.spec.span
            if passed.count > Self.passedMax {
                // The first, and the latest of the others.
                passed.list = [(first + shift, passed.age)]
                for index in (passed.count - Self.passedMax + 1)..<passed.count {
                    passed.list.append(
                        (
                            passed.label + Int64(index) * passed.span,
                            passed.age - Int64(index) * passed.span
                        ))
                }
                passed.count = Self.passedMax
            }
        } else {
            var next: Int64? = first
            let sure = wall - state.spec.randomDelay
            if state.spec.kind == .slots, first <= sure {
                // If there are very many, only the first and the latest are listed; all are passed.
                let count = Int((sure - first) / state.spec.span) + 1
                if count > Self.passedMax {
                    passed.list = [(first + shift, wall - due(first, job))]
                    passed.count = 1
                    next = first + Int64(count - Self.passedMax + 1) * state.spec.span
                }
            }
            while passed.count < Self.passedMax, let slot = next, due(slot, job) <= wall {
                passed.list.append((slot + shift, wall - due(slot, job)))
                passed.count += 1
                last = slot
                next = self.slot(job, after: slot)
            }
        }
        // The next one is known, so everything before it was processed.
        let next = slot(job, after: last)
        states[job].seen = max(
            state.seen, next.map { min($0 - Unit.microsecond, wall) } ?? wall)
        states[job].firings += Int64(passed.count)
        return passed
    }

    // MARK: - What happens to them

    private func make(_ passed: Passed, _ job: Int) {
        let spec = states[job].spec
        var at = 0
        if let deadline = spec.deadline {
            let old = passed.countOlder(than: deadline + spec.accuracy, from: 0)
            if old > 0 {
                let label = takeLabel(passed.label(old - 1), job)
                rows.append(
                    Seen(kind: .row, job: job, label: label, attempt: 1, value: Int64(old - 1)))
                acts.append(
                    Seen(
                        kind: .close, job: job, label: label, attempt: 1,
                        value: PlainOutcome.lostDeadline.rawValue))
                skip(job, label, old, Seen.Reason.deadline)
            }
            at = old
            if at == passed.count { return }
        }
        let missed = countMissed(passed, from: at, accuracy: spec.accuracy)
        let rest = passed.count - at
        if missed == 0 || spec.onMissed == .runOnce {
            begin(
                job, takeLabel(passed.label(at), job), missed: rest - 1, isCatchUp: false,
                isMissed: missed > 0)
        } else if spec.onMissed == .skip {
            skip(job, takeLabel(passed.label(at), job), missed, Seen.Reason.missed)
            if missed == rest { return }
            let label = takeLabel(passed.label(at + missed), job)
            begin(job, label, missed: rest - missed - 1, isCatchUp: false)
        } else {
            makeEach(passed, from: at, missed: missed, job)
        }
    }

    private func makeEach(_ passed: Passed, from start: Int, missed: Int, _ job: Int) {
        var at = start
        let over = passed.count - at - 100
        if over > 0 {
            skip(job, takeLabel(passed.label(at), job), over, Seen.Reason.catchUpMax)
            at += over
        }
        let isForbidden =
            states[job].spec.concurrency == .forbid
            && !states[job].runs.allSatisfy(\.isDelayed)
        for index in at..<passed.count {
            let label = takeLabel(passed.label(index), job)
            if isForbidden {
                skip(job, label, 1, Seen.Reason.stillRunning)
            } else {
                begin(
                    job, label, missed: 0, isCatchUp: true, isMissed: index < start + missed)
            }
        }
    }

    /// A point is missed if it was due more than a second before the end of the downtime, or is
    /// more than a minute late. A point in a range that the clock was set past is not missed.
    private func countMissed(_ passed: Passed, from start: Int, accuracy: Int64) -> Int {
        let bound = min(60 * Unit.second, max(0, boot - downtimeEnd) + Unit.second)
        let count = passed.countOlder(than: bound + accuracy, from: start)
        guard count > 0, let skippedWallRange, skippedWallRange.through <= wall else {
            return count
        }
        for index in 0..<count {
            let due = wall - passed.age(start + index)
            if due > skippedWallRange.after, due <= skippedWallRange.through { return index }
        }
        return count
    }

    /// The scheduled time of a firing: never that of an earlier one, until the clock is corrected.
    func takeLabel(_ wanted: Int64, _ job: Int) -> Int64 {
        var label = wanted
        if let last = states[job].lastLabel, label <= last { label = last + Unit.microsecond }
        states[job].lastLabel = label
        return label
    }

    func skip(_ job: Int, _ label: Int64, _ count: Int, _ reason: Int) {
        tokens.append(
            Seen(kind: .skipped, job: job, label: label, value: Int64(count), reason: reason))
    }
}

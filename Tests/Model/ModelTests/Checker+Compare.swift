// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Checker {
    // MARK: - What must be observed, and what was observed

    func compare(_ seen: ArraySlice<Seen>) {
        var cursor = (row: 0, start: 0, check: 0, act: 0, token: 0, erased: 0)
        var answered: Int64 = 0
        accounts.removeAll(keepingCapacity: true)
        for one in seen where one.kind == .start || one.kind == .close { tally(one) }
        for one in seen {
            switch one.kind {
            case .row: expect(one, rows, &cursor.row)
            case .start: expect(one, starts, &cursor.start)
            case .check: expect(one, checks, &cursor.check)
            case .end, .suspend, .resume, .close: expect(one, acts, &cursor.act)
            case .fired, .skipped, .resumed: expect(one, tokens, &cursor.token)
            case .account:
                accounts.append(one)
                noteSign()
            case .answer: answered = one.value
            case .erased:
                if cursor.erased < erased.count, erased[cursor.erased] == one.job {
                    cursor.erased += 1
                } else {
                    fail(.account, "the record of job \(one.job) was removed")
                }
            case .nonsense: fail(.nonsense, "job \(one.job): \(one)")
            }
            if fault != nil { return }
        }
        // If one transaction contains several records of a job, the last one counts.
        for (index, one) in accounts.enumerated()
        where !accounts[(index + 1)...].contains(where: { $0.job == one.job })
            && !erased.contains(one.job)
        {
            compareAccount(one)
        }
        if cursor.row < rows.count { fail(.missed, "not recorded: \(rows[cursor.row])") }
        if cursor.start < starts.count { fail(.missed, "not started: \(starts[cursor.start])") }
        if cursor.check < checks.count { fail(.missed, "not checked: \(checks[cursor.check])") }
        if cursor.act < acts.count { fail(.missed, "not done: \(acts[cursor.act])") }
        if cursor.token < tokens.count { fail(.missed, "not told: \(tokens[cursor.token])") }
        if cursor.erased < erased.count { fail(.account, "kept the records of \(erased)") }
        if answered != answer { fail(.answer, "answered \(answered), expected \(answer)") }
    }

    private func expect(_ one: Seen, _ wanted: [Seen], _ cursor: inout Int) {
        guard cursor < wanted.count else { return blame(one, nil) }
        guard wanted[cursor] == one else { return blame(one, wanted[cursor]) }
        cursor += 1
        if one.kind == .fired { firings += 1 }
        if one.kind == .skipped { skips += Int(one.value) }
    }

    /// Describes a difference.
    private func blame(_ one: Seen, _ wanted: Seen?) {
        let state = states[one.job]
        guard let wanted, wanted.kind == one.kind, wanted.job == one.job else {
            if one.kind == .row || one.kind == .start {
                if state.phase == .paused || state.phase == .stopped {
                    return fail(.whilePaused, "job \(one.job): \(one)")
                }
                let isDue = tokens.contains { $0.job == one.job }
                if !isDue, let left = leftToDue(one.job), left > 0, one.attempt == 1 {
                    return fail(.early, "job \(one.job), \(left) ns before its time: \(one)")
                }
            }
            return fail(.extra, "saw \(one), expected \(wanted.map { "\($0)" } ?? "nothing")")
        }
        let kind: Fault.Kind =
            wanted.label != one.label
            ? .wrongLabel
            : wanted.attempt != one.attempt
                ? .wrongAttempt : wanted.value != one.value ? .wrongCount : .order
        fail(kind, "saw \(one), expected \(wanted)")
    }

    /// Rules that follow from the observations only: runs do not overlap, and no more runs are
    /// active than allowed.
    private func tally(_ one: Seen) {
        guard one.kind == .start else {
            living.removeAll {
                $0.name == one.job && $0.label == one.label && $0.attempt == one.attempt
            }
            return
        }
        living.append(
            RunName(name: one.job, label: one.label, attempt: one.attempt, job: one.job))
        if living.count > runsMax {
            fail(.overlapping, "\(living.count) runs live, \(runsMax) may: \(one)")
        }
        let state = states[one.job]
        guard state.spec.concurrency != .allow, !state.mayOverlap else { return }
        if living.count(where: { $0.job == one.job }) > 1 {
            fail(.overlapping, "job \(one.job): a second run lives: \(one)")
        }
    }

    /// Accepts an account whose value is not exactly known, if it is in the possible range.
    func adoptVague(_ one: Seen) {
        let job = one.job
        for index in vague.indices where vague[index].job == job {
            let credited = states[job].creditedAfterPause
            let isPaused = vague[index].isOfPause
            let difference = one.value - states[job].accrued - credited
            let isWithin = difference >= -vague[index].less && difference <= vague[index].more
            // The two parts cannot be known separately; only both changed by the same amount.
            if isWithin, one.more - states[job].active - credited == difference {
                states[job].creditedAfterPause += isPaused ? difference : 0
                states[job].accrued += isPaused ? 0 : difference
                states[job].active += isPaused ? 0 : difference
                vague[index].less = 0
                vague[index].more = 0
            }
        }
    }

    private func compareAccount(_ one: Seen) {
        let job = one.job
        adoptVague(one)
        let state = states[job]
        states[job].written = wall
        states[job].writtenBoot = bootNumber
        states[job].writtenAt = boot
        states[job].setSinceWritten = 0
        states[job].writtenLabel = one.label == 0 ? nil : one.label
        let accrued = state.accrued + state.creditedAfterPause
        let active = state.active + state.creditedAfterPause
        guard accrued == one.value, active == one.more,
            state.phase.rawValue == one.attempt, state.skips == one.reason,
            state.lastLabel ?? 0 == one.label
        else {
            return fail(
                .account,
                "job \(job): accrued \(one.value), active \(one.more), phase \(one.attempt), "
                    + "\(one.reason) to be skipped, last \(one.label); expected \(accrued), "
                    + "\(active), \(state.phase.rawValue), \(state.skips), "
                    + "\(state.lastLabel ?? 0); within \(vague)")
        }
    }
}

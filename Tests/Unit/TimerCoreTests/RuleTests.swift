// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

/// The rules that the agenda and a fleet share, as tables. `AdmissionTests` has the one about overlap.
@Suite struct RuleTests {
    private func policy(_ change: (inout Policy) -> Void) -> Policy {
        var policy = Policy()
        change(&policy)
        return policy
    }

    // MARK: - Missed firings

    @Test(
        arguments: [
            // On a machine that was never down, and in a fleet.
            (nil, false, 60_000), (nil, true, 1000),
            // A start or a wake-up this many milliseconds ago.
            (0, false, 1000), (500, false, 1500), (59_000, false, 60_000), (90_000, false, 60_000),
            (0, true, 1000), (500, true, 1000),
            // The two clocks of a start and of an event differ a little.
            (-3, false, 1000),
        ] as [(Int?, Bool, Int)])
    func aFiringIsMissedAboveThisAge(downtimeAgo: Int?, wasHeld: Bool, expected: Int) {
        let age = Lateness.missedAge(
            sinceDowntime: downtimeAgo.map { .milliseconds($0) }, wasHeld: wasHeld)
        #expect(age == .milliseconds(expected))
    }

    @Test(
        arguments: [
            (.runOnce, 1, 0, false, .together), (.runOnce, 5, 3, false, .together),
            (.runOnce, 5, 3, true, .together),
            (.skip, 1, 0, false, .together), (.skip, 5, 3, false, .skipMissed),
            (.skip, 1, 1, true, .skipMissed), (.skip, 1, 0, true, .together),
            (.runAll, 1, 0, false, .together), (.runAll, 2, 1, false, .each(surplus: 0)),
            (.runAll, 1, 0, true, .each(surplus: 0)), (.runAll, 100, 100, false, .each(surplus: 0)),
            (.runAll, 101, 101, false, .each(surplus: 1)),
            (.runAll, 250, 2, true, .each(surplus: 150)),
        ] as [(Policy.Missed, Int, Int, Bool, CatchUp)])
    func onMissedDecides(
        onMissed: Policy.Missed, count: Int, missed: Int, isDelayed: Bool, expected: CatchUp
    ) {
        let policy = policy { $0.onMissed = onMissed }
        #expect(policy.catchUp(of: count, missed: missed, isDelayed: isDelayed) == expected)
    }

    // MARK: - Age

    /// Seconds: the deadline, `accuracy`, the age, and above which age a firing counts as missed.
    @Test(
        arguments: [
            (.runOnce, nil, 0, 1_000_000, 60, nil), (.runAll, nil, 0, 1_000_000, 60, nil),
            (.skip, nil, 0, 60, 60, nil), (.skip, nil, 0, 61, 60, .missed),
            (.skip, nil, 5, 65, 60, nil), (.skip, nil, 5, 66, 60, .missed),
            (.runOnce, 8, 0, 8, 60, nil), (.runOnce, 8, 0, 9, 60, .deadline),
            (.runOnce, 8, 2, 10, 60, nil), (.runOnce, 8, 2, 11, 60, .deadline),
            // Both apply: a deadline that is exceeded is a failure, and must be seen.
            (.skip, 8, 0, 61, 60, .deadline), (.skip, 90, 0, 61, 60, .missed),
            (.skip, 90, 0, 91, 60, .deadline),
        ] as [(Policy.Missed, Int?, Int, Int, Int, SkipKind?)])
    func aFiringOfThisAgeIsSkipped(
        onMissed: Policy.Missed, deadline: Int?, accuracy: Int, age: Int, missedAge: Int,
        expected: SkipKind?
    ) {
        let policy = policy {
            $0.onMissed = onMissed
            $0.startingDeadline = deadline.map { .seconds($0) }
            $0.accuracy = .seconds(accuracy)
        }
        let missedAge = Duration.seconds(missedAge)
        let reason = policy.reasonToSkip(age: .seconds(age), missedAge: missedAge)
        #expect(reason == expected)
        // The decision changes at no other age than at those that the rule names.
        let ages = policy.agesThatDecide(missedAge: missedAge)
        for limit in ages {
            #expect(
                policy.reasonToSkip(age: limit, missedAge: missedAge)
                    != policy.reasonToSkip(age: limit + .nanoseconds(1), missedAge: missedAge)
                    || ages.contains { $0 < limit })
        }
        #expect((reason == nil) == !ages.contains { $0 < .seconds(age) })
    }

    /// Seconds: the deadline, `accuracy`, `random-delay`, and the age.
    @Test(
        arguments: [
            (nil, 0, 0, 1, 1_000_000, false), (5, 0, 0, 1, 5, false), (5, 0, 0, 1, 6, true),
            (5, 2, 0, 1, 7, false), (5, 2, 0, 1, 8, true), (5, 2, 3, 1, 10, false),
            (5, 2, 3, 1, 11, true), (5, 0, 0, 2, 1_000_000, false),
        ] as [(Int?, Int, Int, Int, Int, Bool)])
    func aRunThatWaitedIsTooLate(
        deadline: Int?, accuracy: Int, randomDelay: Int, attempt: Int, age: Int, expected: Bool
    ) {
        let policy = policy {
            $0.startingDeadline = deadline.map { .seconds($0) }
            $0.accuracy = .seconds(accuracy)
            $0.randomDelay = .seconds(randomDelay)
        }
        #expect(policy.isTooLate(attempt: attempt, age: .seconds(age)) == expected)
    }

    // MARK: - skip-next

    @Test(
        arguments: [
            (0, nil), (1, 0), (2, 1), (1_000_000, 999_999), (-1, nil),
        ] as [(Int64, Int64?)])
    func skipNextTakesAFiring(requested: Int64, left: Int64?) {
        #expect(SkipNext.left(of: requested) == left)
    }

    @Test(
        arguments: [
            (-1, 0), (0, 0), (7, 7), (1_000_000, 1_000_000), (1_000_001, 1_000_000),
            (.max, 1_000_000), (.min, 0),
        ] as [(Int64, Int64)]) func aRequestIsLimited(requested: Int64, expected: Int64)
    {
        #expect(SkipNext.accepted(requested) == expected)
        #expect(SkipNext.accepted(Int(requested)) == Int(expected))
    }

    // MARK: - Retries

    /// Three retries, after 10 s, 20 s and 25 s; one of a lost run if a fleet says so.
    @Test(
        arguments: [
            (.exited(1), 1, 0, .after(.seconds(10))), (.exited(1), 2, 0, .after(.seconds(20))),
            (.exited(1), 3, 0, .after(.seconds(25))), (.exited(1), 4, 0, .none),
            (.exited(0), 1, 0, .none), (.exited(3), 1, 0, .none),
            (.signalled("SIGKILL"), 1, 0, .after(.seconds(10))),
            (.timedOut, 1, 0, .after(.seconds(10))),
            (.spawnFailed(errno: "ENOENT", what: "exec"), 1, 0, .after(.seconds(10))),
            (.stopped, 1, 1, .none), (.replaced, 1, 1, .none),
            (.lost(.machine), 1, 0, .none), (.lost(.machine), 1, 1, .onceCertain),
            (.lost(.machine), 2, 1, .none),
            (.lost(.unstarted), 1, 1, .none), (.lost(.deadline), 1, 1, .none),
            (.lost(.reboot), 1, 1, .none), (.lost(.daemon), 1, 1, .none),
            (.lost(.runner), 1, 1, .none),
        ] as [(RunOutcome, Int, Int, NextAttempt)])
    func anotherAttemptFollows(
        outcome: RunOutcome, attempt: Int, retriesOfLost: Int, expected: NextAttempt
    ) {
        var retry = Policy.Retry()
        retry.retries = 3
        retry.delayMax = .seconds(25)
        let next = retry.next(
            after: outcome, attempt: attempt, success: SuccessExitStatus(exitCodes: [0, 3]),
            retriesOfLost: retriesOfLost)
        #expect(next == expected)
        retry.retries = 0
        let none = retry.next(
            after: outcome, attempt: attempt, success: SuccessExitStatus(exitCodes: [0, 3]),
            retriesOfLost: retriesOfLost)
        #expect(none == (expected == .onceCertain ? .onceCertain : .none))
    }

    @Test(
        arguments: [
            (.leave, 0, 0), (.leave, 3, 0), (.retry, 0, 1), (.retry, 1, 1), (.retry, 3, 3),
        ] as [(FleetPolicy.Loss, Int, Int)])
    func lostRunsAreRepeated(onLost: FleetPolicy.Loss, retries: Int, expected: Int) {
        var retry = Policy.Retry()
        retry.retries = retries
        #expect(onLost.retries(retry) == expected)
    }

    // MARK: - Words

    @Test func eachReasonHasAWordOfItsOwn() {
        #expect(Set(SkipKind.allCases.map(\.word)).count == SkipKind.allCases.count)
        #expect(SkipKind.allCases.allSatisfy { SkipKind(word: $0.word) == $0 })
        #expect(SkipKind(word: "overlap") == nil)
    }

    /// What a machine alone decides is counted, and the vector of the counts has a place for each.
    @Test func theReasonsOfAFleetAreNotCounted() {
        #expect(
            SkipKind.counted.map(\.word) == [
                "still-running", "concurrency-max", "queue-full", "missed", "catch-up-max",
                "deadline", "clock-set", "by-order", "slot-busy",
                "outside-window",
            ])
        let counts = SkipCounts()
        #expect(SkipKind.allCases.allSatisfy { counts[$0] == 0 })
    }
}

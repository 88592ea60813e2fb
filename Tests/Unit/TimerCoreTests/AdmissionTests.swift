// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// What `concurrency` decides about one more run, for each reason to make it and each kind of run
/// that has not ended.
@Suite struct AdmissionTests {
    private enum Beside: String, CaseIterable {
        case none, running, capacity, previousRun, retryDelay

        var runs: [ActiveRun] {
            switch self {
            case .none: []
            case .running: [run(.running(since: WallInstant(secondsSinceEpoch: 1)))]
            case .capacity: [run(.waiting(.capacity))]
            case .previousRun: [run(.waiting(.previousRun))]
            case .retryDelay:
                [run(.waiting(.retryDelay(until: AwakeInstant(nanoseconds: 1))), attempt: 2)]
            }
        }

        private func run(_ state: RunState, attempt: Int = 1) -> ActiveRun {
            let job = Job.every(.seconds(60))
            let id = Firing.ID(job: job.name, scheduled: WallInstant(secondsSinceEpoch: 1))
            let firing = Firing(id: id, missed: 0, active: .zero)
            return ActiveRun(Run(firing: firing, attempt: attempt, job: job), state)
        }
    }

    private static func word(_ admission: Admission<ActiveRun>) -> String {
        switch admission {
        case .start: "start"
        case .wait: "wait"
        case .replaceDelayed: "instead"
        case .replaceAll: "replace"
        case .skip(.stillRunning), .skip(.queueFull), .skip(.concurrencyMax), .skip(.slotBusy):
            "skip"
        }
    }

    /// One word for each case of `Beside`, in their order.
    @Test(arguments: [
        (Policy.Concurrency.forbid, "due", "start skip skip skip instead"),
        (.forbid, "caught up", "start wait wait wait instead"),
        (.forbid, "caught up by a fleet", "start wait wait wait instead"),
        (.forbid, "requested", "start skip skip skip instead"),
        (.forbid, "first in line", "start wait wait start wait"),
        (.forbid, "retry", "start start start start start"),
        (.queue, "due", "start wait wait skip wait"),
        (.queue, "caught up", "start wait wait wait wait"),
        (.queue, "requested", "start wait wait skip instead"),
        (.queue, "first in line", "start wait wait start wait"),
        (.queue, "retry", "start start start start start"),
        (.replace, "due", "start replace replace replace replace"),
        (.replace, "caught up", "start wait wait wait wait"),
        (.replace, "requested", "start replace replace replace instead"),
        (.replace, "first in line", "start wait wait start wait"),
        (.replace, "retry", "start start start start start"),
        (.allow, "due", "start skip skip skip start"),
        (.allow, "caught up", "start wait wait start start"),
        (.allow, "caught up by a fleet", "start wait wait wait instead"),
        (.allow, "requested", "start skip skip start start"),
        (.allow, "first in line", "start wait wait start start"),
        (.allow, "retry", "start wait wait start start"),
    ]) func decides(concurrency: Policy.Concurrency, candidate: String, expected: String) throws {
        let candidates: [String: Candidate] = [
            "due": .due, "caught up": .caughtUp(after: nil),
            "caught up by a fleet": .caughtUpByFleet, "requested": .requested,
            "first in line": .firstInLine, "retry": .retry,
        ]
        var policy = Policy()
        policy.concurrency = concurrency
        if concurrency == .allow { policy.concurrencyMax = 1 }
        let wanted = try #require(candidates[candidate])
        let words = Beside.allCases.map {
            Self.word(policy.admission(of: wanted, beside: $0.runs))
        }
        #expect(words.joined(separator: " ") == expected)
    }

    /// A run that is older than all missed firings prevents each of them, if runs may not be active
    /// at the same time.
    @Test func anOlderRunPreventsCaughtUpFirings() throws {
        let before = try #require(Beside.running.runs.first)
        let admission = Policy().admission(of: .caughtUp(after: before.id), beside: [before])
        guard case .skip(.stillRunning(let other)) = admission else {
            Issue.record("\(admission)")
            return
        }
        #expect(other.id == before.id)
    }
}

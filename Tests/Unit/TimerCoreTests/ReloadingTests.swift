// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// The steps of a reload, and how many of them one portion has.
@Suite struct ReloadingTests {
    private static func reloading(_ names: [Job.Name], portion: Int, places: Int) -> Reloading {
        Reloading(
            JobSet(names.map { .every(.seconds(60), $0) }), portion: portion, places: places,
            changesNotifiers: false)
    }

    /// The steps of the next portion, each of which is handled by `note`.
    private static func portion(
        _ state: inout Reloading, _ note: (Reloading.Step, inout Reloading) -> Void
    ) -> [String] {
        var steps: [String] = []
        state.beginPortion()
        while let step = state.next() {
            switch step {
            case .check(let place): steps.append("check \(place)")
            case .apply(let job): steps.append("apply \(job.name)")
            }
            note(step, &state)
        }
        return steps
    }

    @Test func firstTheOldJobsAreChecked_thenTheNewOnesAreApplied() {
        var state = Self.reloading(["a", "new"], portion: 10, places: 3)
        let steps = Self.portion(&state) { step, state in
            switch step {
            case .check(1): state.noteRemoved("gone", 1)
            case .check(2): state.noteRenamed("old", to: "renamed")
            case .check: break
            case .apply(let job) where job.name == "a": state.noteKept(0)
            case .apply(let job): state.noteAdded(job.name, 5)
            }
        }
        #expect(steps == ["check 0", "check 1", "check 2", "apply a", "apply new"])
        #expect(state.isDone && state.order == [0, 5] && state.freed == [1])
        #expect(
            state.notice
                == .reloaded(
                    added: ["renamed", "new"], changed: [], removed: ["gone", "old"], kept: 0))
    }

    @Test func aChangeCostsAsMuchAsEightComparisons() {
        let names = (0..<20).map { Job.Name("j\($0)")! }
        var state = Self.reloading(names, portion: 1, places: 0)
        #expect(Self.portion(&state) { _, state in state.noteKept(0) }.count == 8)
        // The last step of a portion may be a change.
        var steps = 0
        let changed = Self.portion(&state) { _, state in
            steps += 1
            if steps < 8 { state.noteKept(0) } else { state.noteChanged("j15", 15) }
        }
        #expect(changed.count == 8 && !state.isDone)
        #expect(Self.portion(&state) { _, state in state.noteChanged("j16", 16) }.count == 1)
        #expect(Self.portion(&state) { _, state in state.noteKept(0) }.count == 3)
        #expect(state.isDone && Self.portion(&state) { _, _ in }.isEmpty)
        #expect(
            state.notice == .reloaded(added: [], changed: ["j15", "j16"], removed: [], kept: 18))
    }

    @Test func aPortionHasAtLeastOneStep_andAReloadKnowsWhetherItActed() {
        var state = Self.reloading(["a"], portion: -1, places: 0)
        #expect(Self.portion(&state) { _, state in state.noteKept(0) }.count == 1)
        #expect(!state.hasActed)
        state.noteActions()
        #expect(state.hasActed)
    }
}

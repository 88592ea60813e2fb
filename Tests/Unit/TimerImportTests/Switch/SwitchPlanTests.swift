// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerImport

/// From each state a switch goes on, and each change leaves exactly one side with the jobs.
@Suite struct SwitchPlanTests {
    private static let states = SwitchState.File.allCases.flatMap { file in
        [SwitchState(file, isSourceOn: true), SwitchState(file, isSourceOn: false)]
    }

    @Test(
        arguments: [
            (.missing, true, .load, nil), (.missing, false, nil, .switchOn),
            (.guarded, true, .switchOff, .removeFile),
            (.guarded, false, .removeGuards, .switchOn),
            (.plain, true, .addGuards, .removeFile), (.plain, false, nil, .addGuards),
        ] as [(SwitchState.File, Bool, SwitchState.Step?, SwitchState.Step?)])
    func eachStateHasANextChange(
        file: SwitchState.File, isOn: Bool, toTimerd: SwitchState.Step?, back: SwitchState.Step?
    ) {
        let state = SwitchState(file, isSourceOn: isOn)
        #expect(state.next(.toTimerd) == toTimerd)
        #expect(state.next(.back) == back)
    }

    /// Also if the direction changes after any change, as after an interruption.
    @Test(arguments: states, SwitchState.Direction.allCases)
    func nothingIsLostOrDoubledOnTheWay(start: SwitchState, direction: SwitchState.Direction) {
        var state = start
        var hasOneSide = state.isSourceOn != state.isTimerdOn
        var steps = 0
        while let step = state.next(direction) {
            let before = state
            state = state.after(step)
            let isOne = state.isSourceOn != state.isTimerdOn
            #expect(isOne || !hasOneSide, "\(before) \(step)")
            // The side changes with the change of the source, and with nothing else.
            if isOne, hasOneSide {
                #expect(
                    (state.isTimerdOn != before.isTimerdOn) == step.isCommit, "\(before) \(step)")
            }
            hasOneSide = isOne
            steps += 1
            #expect(steps <= 4)
            for other in SwitchState.Direction.allCases where isOne {
                if let next = state.next(other) {
                    let later = state.after(next)
                    #expect(later.isSourceOn != later.isTimerdOn, "\(state) \(next)")
                }
            }
        }
        switch direction {
        // Without the file it is not known what the jobs were.
        case .toTimerd:
            #expect(state.file == (start == .init(.missing, isSourceOn: false) ? .missing : .plain))
            #expect(!state.isSourceOn)
        case .back: #expect(state == SwitchState(.missing, isSourceOn: true))
        }
    }
}

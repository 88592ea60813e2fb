// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

/// The conditions that are being checked. First a thread looks at the machine; if that is as it must
/// be, the command is executed. Instants are of CLOCK_MONOTONIC, in nanoseconds.
struct ConditionChecks {
    /// How long a command may take with everything around it: its user is looked up, its files are read, and after its
    /// time limit it may be blocked in the kernel. Then the answer does not wait for it.
    static let commandTimeMax: Duration = .seconds(40)

    private enum Stage {
        /// A thread looks at the machine, until this instant at the latest.
        case looking(until: Int64)
        /// The command waits until others have ended.
        case waiting
        /// The command was started, as this run.
        case executing(Run.ID)
    }

    private struct Check {
        var request: CheckRequest
        var condition: Condition
        var definition: Definition
        var stage: Stage
    }

    private struct Command {
        var run: Run.ID
        /// When its check fails although it has not ended.
        var until: Int64
    }

    /// A command to start.
    struct Start {
        /// The run whose condition it is.
        var checked: Run.ID
        /// The run of the command.
        var run: Run.ID
        var definition: Definition
    }

    private var checks: [Run.ID: Check] = [:]
    /// The checks that look, in the order of their deadlines. Some of them may not look any more.
    private var deadlines: ArraySlice<(request: CheckRequest, at: Int64)> = []
    /// The checks whose commands wait. Some of them may be gone.
    private var waiting: ArraySlice<CheckRequest> = []
    /// The commands that have not ended, by their runs.
    private var commands: [Run.ID: Command] = [:]
    private var lastCommand = WallInstant(microsecondsSinceEpoch: 0)

    /// How many are not answered.
    var count: Int { checks.count }

    /// When `takeLate` has something; nil if nothing can be late.
    var next: Int64? {
        let looking = deadlines.first?.at
        let executing = commands.values.lazy.map(\.until).min()
        return [looking, executing].compactMap { $0 }.min()
    }

    /// Whether a request is not being answered already. One with another number, or for another
    /// definition, replaces an earlier one for the same run.
    func isNew(_ request: CheckRequest) -> Bool { checks[request.run]?.request != request }

    /// Begins to look at the machine.
    mutating func begin(
        _ request: CheckRequest, _ condition: Condition, _ definition: Definition, at now: Int64
    ) {
        let until = now + Condition.timeout.wholeNanoseconds
        checks[request.run] = Check(
            request: request, condition: condition, definition: definition,
            stage: .looking(until: until))
        deadlines.append((request, until))
    }

    /// A thread has looked.
    /// - Returns: the answer to send, with the request; nil if the command decides, or if nothing waits
    ///   for it any more.
    mutating func didLook(
        _ run: Run.ID, number: UInt64, _ answer: Condition.Answer
    ) -> (CheckRequest, Condition.Answer)? {
        guard let check = checks[run], check.request.number == number, case .looking = check.stage
        else { return nil }
        guard case .yes = answer, !check.condition.command.isEmpty else {
            checks[run] = nil
            return (check.request, answer)
        }
        checks[run]?.stage = .waiting
        waiting.append(check.request)
        return nil
    }

    /// Takes the commands that may start now.
    mutating func takeStarts(at now: Int64, wall: WallInstant) -> [Start] {
        var starts: [Start] = []
        while commands.count < StartQueue.activeChecksMax, let request = waiting.popFirst() {
            guard let check = checks[request.run], check.request == request,
                case .waiting = check.stage
            else { continue }
            // No two commands have one identity, also if the clock is set back.
            lastCommand = max(wall, lastCommand + .microseconds(1))
            let run = Run.ID(firing: Firing.ID(job: .checks, scheduled: lastCommand))
            checks[request.run]?.stage = .executing(run)
            commands[run] = Command(
                run: request.run, until: now + Self.commandTimeMax.wholeNanoseconds)
            starts.append(
                Start(
                    checked: request.run, run: run,
                    definition: ConditionCommand.definition(check.condition, of: check.definition))
            )
        }
        return starts
    }

    /// Whether a command is one of these. Otherwise it is one of an earlier runner.
    func knows(_ command: Run.ID) -> Bool { commands[command] != nil }

    /// A command has ended.
    /// - Returns: the answer to send, with the request.
    mutating func didEnd(
        _ command: Run.ID, _ outcome: RunOutcome, line: [UInt8]
    ) -> (CheckRequest, Condition.Answer)? {
        guard let run = commands.removeValue(forKey: command)?.run, let check = checks[run],
            case .executing(command) = check.stage
        else { return nil }
        checks[run] = nil
        return ConditionCommand.answer(outcome, line: line).map { (check.request, $0) }
    }

    /// Removes the checks that have taken too long.
    /// - Returns: the answers to send.
    mutating func takeLate(at now: Int64) -> [(CheckRequest, Condition.Answer)] {
        var answers: [(CheckRequest, Condition.Answer)] = []
        while let first = deadlines.first, first.at <= now {
            _ = deadlines.popFirst()
            guard let check = checks[first.request.run], check.request == first.request,
                case .looking(until: first.at) = check.stage
            else { continue }
            checks[first.request.run] = nil
            let what = check.condition.mounted.isEmpty ? "path-exists" : "mounted, path-exists"
            answers.append((check.request, .tooLate(what)))
        }
        for (command, one) in commands where one.until <= now {
            // Its place is free again once it has ended.
            commands[command]?.until = .max
            guard let check = checks[one.run], case .executing(command) = check.stage else {
                continue
            }
            checks[one.run] = nil
            answers.append((check.request, .tooLate("command")))
        }
        return answers
    }
}

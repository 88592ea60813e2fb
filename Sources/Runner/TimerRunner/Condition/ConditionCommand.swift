// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

/// How the command of a condition is executed, and what its end means.
enum ConditionCommand {
    /// How much of its first line is kept, in bytes.
    static let lineBytesMax = 1 << 10

    /// The definition of its run: that of the job with another command. It is killed as soon as its time is
    /// over, with everything in its process group and its control group.
    static func definition(_ condition: Condition, of job: Definition) -> Definition {
        var definition = job
        definition.command = .arguments(condition.command)
        var execution = job.execution
        execution.condition = nil
        execution.timeout = Condition.timeout
        execution.killTimeout = .zero
        execution.killsLeftovers = true
        execution.pamService = nil
        execution.credentials = [:]
        execution.stdin = nil
        execution.outputTail = 0
        // The limit is for all runs of a job together, and these are of one for all conditions.
        execution.logRateLimitInterval = nil
        definition.execution = execution
        return definition
    }

    /// The answer of a command that ended so; nil if the runner ended it because it shuts down: then
    /// the next one is asked.
    ///
    /// - Parameter line: the first line that it wrote.
    static func answer(_ outcome: RunOutcome, line: [UInt8]) -> Condition.Answer? {
        let text = words(of: line)
        let said = text.isEmpty ? "" : ": \(text)"
        switch outcome {
        case .exited(0): return .yes
        case .exited(Condition.failureCode):
            return .failed(errno: "ECANCELED", why: "command exited with 255\(said)")
        case .exited(let code): return .no("command exited with \(code)\(said)")
        case .signalled(let name):
            return .failed(errno: "ECANCELED", why: "command was ended by \(name)\(said)")
        case .timedOut: return .tooLate("command\(said)")
        case .spawnFailed(let errno, let what):
            return .failed(errno: errno, why: "command: \(what)")
        case .stopped: return nil
        case .replaced, .windowEnded, .lost, .skipped:
            return .failed(errno: "ECANCELED", why: "command ended, and how is not known")
        }
    }

    /// The line without what a terminal or a log would take for a command.
    private static func words(of line: [UInt8]) -> String {
        var text = ""
        for scalar in String(decoding: line.prefix(lineBytesMax), as: UTF8.self).unicodeScalars {
            text.unicodeScalars.append(scalar.isPrintable ? scalar : " ")
        }
        while text.last == " " { text.removeLast() }
        return text
    }
}

extension Condition.Answer {
    /// The check took longer than it may.
    static func tooLate(_ what: String) -> Self {
        .failed(
            errno: "ETIMEDOUT",
            why: "\(what): no answer within \(Condition.timeout.components.seconds) s")
    }

    /// The run could not start either, for this reason.
    init(_ outcome: RunOutcome) {
        guard case .spawnFailed(let errno, let what) = outcome else {
            self = .failed(errno: "ECANCELED", why: outcome.description)
            return
        }
        self = .failed(errno: errno, why: what)
    }
}

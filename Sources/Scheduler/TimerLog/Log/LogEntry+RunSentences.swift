// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import TimerCore

extension LogEntry {
    static func fired(_ run: Run, late: Duration, remaining: Duration?) -> String {
        let cause = run.firing.cause.chain.map { " after \($0.run) (\($0.result.word))" } ?? ""
        var text = "fires\(cause) (run \(run.id))"
        if late >= .milliseconds(100) { text += ", \(span(late, .milliseconds(1))) late" }
        if run.firing.missed > 0 { text += ", for \(run.firing.missed + 1) due runs" }
        return text + (remaining.map { "; next in \(span($0, .milliseconds(1)))" } ?? "")
    }

    static func runOrdered(_ run: Run, by initiator: Initiator) -> String {
        let words = run.firing.cause.arguments.words
        let with = words.isEmpty ? "" : ", with \(RunArguments.shown(words))"
        return "run now, requested by \(initiator)\(with) (run \(run.id))"
    }

    static func retrying(_ run: Run.ID, after delay: Duration, retries: Int) -> String {
        "attempt \(run.attempt) of \(retries + 1) starts in \(span(delay)) (run \(run))"
    }

    static func killed(_ run: Run.ID, by initiator: Initiator, _ signal: String?) -> String {
        signal.map { "\($0) sent to run \(run), requested by \(initiator)" }
            ?? "run \(run) is being stopped, requested by \(initiator)"
    }

    static func ended(
        _ run: Run.ID, _ outcome: RunOutcome, _ usage: RunUsage, failed: Bool
    ) -> (Logger.Level, String) {
        let level: Logger.Level = failed ? .error : outcome.isIntended ? .notice : .info
        let took = span(usage.elapsed, .milliseconds(1))
        let words = outcome.words(failed: failed, after: outcome.hasProcess ? usage.elapsed : nil)
        switch outcome {
        case .exited(0) where !failed: return (level, "succeeded in \(took)")
        case .exited, .signalled:
            return (level, "run \(run) \(failed ? "failed: \(words)" : words), after \(took)")
        case .replaced, .stopped, .windowEnded:
            return (level, "run \(run) ended: \(words), after \(took)")
        case .timedOut, .spawnFailed, .lost, .skipped:
            let verb = outcome.sentence == .passive ? "is " : ""
            return (level, "run \(run) \(verb)\(words)")
        }
    }
}

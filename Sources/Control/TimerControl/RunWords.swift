// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore

/// Runs in plain words, for the commands and the notifications alike.
public enum RunWords {
    /// How a run ended, in the words of `RunOutcome.words`; nil if it has not ended. An outcome that this
    /// version does not know is not changed.
    public static func end(of run: RunStatus) -> String? {
        guard run.result == nil, let text = run.outcome else { return run.result }
        guard let outcome = RunOutcome(text) else { return text }
        return outcome.words(
            failed: run.failed ?? outcome.isFailure(),
            after: run.began == nil ? nil : run.elapsedUsec.map { .microseconds($0) })
    }

    /// The same with how long it took: `exit 1, after 4.100 s`.
    public static func ending(of run: RunStatus) -> String? {
        guard let end = end(of: run) else { return nil }
        // The words for a timeout say it already.
        let hasProcess = run.outcome.flatMap { RunOutcome($0) }?.hasProcess ?? true
        guard hasProcess, run.reason != "timed-out", let elapsed = run.elapsedUsec, elapsed > 0
        else { return end }
        return "\(end), after \(TimeSpan.roundedText(.microseconds(elapsed)))"
    }

    /// Why a run was skipped before it was made, from the word of the API.
    public static func skip(_ reason: String) -> String {
        switch reason {
        case "still-running": "the previous run had not ended (concurrency)"
        case "concurrency-max":
            "as many of its runs as concurrency-max allows were still running"
        case "queue-full": "another run was already waiting (concurrency)"
        case "slot-busy": "a slot that it needs was taken (on-busy-slot)"
        case "missed": "it was missed (on-missed)"
        case "outside-window": "its window was closed (outside-window)"
        case "clock-set": "the wall clock was set past it"
        case "catch-up-max": "too many runs were missed to catch up with all of them"
        case "deadline": "it was later than starting-deadline allows"
        case "by-order": "as requested (skip-next)"
        case "paused": "the job was paused"
        case "held": "the fleet was held"
        case "redefined": "the job was changed"
        case "adopted": "it was due before the fleet was adopted"
        case "away": "it was due while no machine was connected to the fleet"
        default: reason
        }
    }

    /// Why a run was made, with the attempt if it is not the first.
    public static func cause(of run: RunStatus) -> String {
        let missed = run.missed ?? 0
        let others = missed > 0 ? ", for \(missed + 1) due runs" : ""
        let cause =
            switch run.cause {
            case "catch-up": "to catch up a missed run"
            case "resume": "due during the pause that ended"
            case "chain": "after \(run.causeRun ?? "?") (\(run.causeResult ?? "?"))"
            case "requested":
                "requested by \(run.requestedBy ?? "an unknown user")"
                    + (run.arguments.map { ", with \(RunArguments.shown($0))" } ?? "")
                    + (run.alone == true ? ", alone" : "")
                    + (run.forced == true ? ", whatever its condition says" : "")
            default: "by its schedule"
            }
        let attempt = attempt(of: run.id)
        return cause + others + (attempt > 1 ? ", attempt \(attempt)" : "")
    }

    /// The reason why a run waits, from the word of the API; nil for a run that does not wait.
    public static func wait(_ run: RunStatus, instant: (String) -> String) -> String? {
        switch run.waits {
        case "capacity": "waits for max-concurrent"
        case "slot": "waits for the slot \(Printable.text(run.slot ?? "?"))"
        case "previous-run": "waits for the previous run to end"
        case "window":
            "waits for its window" + (run.startsAt.map { ", until \(instant($0))" } ?? "")
        case "check": "waits for the check of its condition"
        case "condition": "waits for its condition" + condition(run, instant)
        case "retry-delay", "catch-up-delay":
            "waits for its delay" + (run.startsAt.map { ", until \(instant($0))" } ?? "")
        case let other?: "waits (\(other))"
        case nil: nil
        }
    }

    private static func condition(_ run: RunStatus, _ instant: (String) -> String) -> String {
        (run.unmet.map { ": \(Printable.text($0))" } ?? "")
            + (run.waitsUntil.map { ", until \(instant($0))" } ?? "")
    }

    /// The number of the attempt in the identity of a run; 1 for a text that is not one.
    public static func attempt(of run: String) -> Int { Run.ID(run)?.attempt ?? 1 }

    private static let signals: [String: Int32] = [
        "SIGHUP": SIGHUP, "SIGINT": SIGINT, "SIGQUIT": SIGQUIT, "SIGILL": SIGILL,
        "SIGTRAP": SIGTRAP, "SIGABRT": SIGABRT, "SIGBUS": SIGBUS, "SIGFPE": SIGFPE,
        "SIGKILL": SIGKILL, "SIGUSR1": SIGUSR1, "SIGSEGV": SIGSEGV, "SIGUSR2": SIGUSR2,
        "SIGPIPE": SIGPIPE, "SIGALRM": SIGALRM, "SIGTERM": SIGTERM, "SIGSTKFLT": SIGSTKFLT,
        "SIGXCPU": SIGXCPU, "SIGXFSZ": SIGXFSZ, "SIGVTALRM": SIGVTALRM, "SIGPROF": SIGPROF,
        "SIGPOLL": SIGPOLL, "SIGIO": SIGIO, "SIGPWR": SIGPWR, "SIGSYS": SIGSYS,
    ]

    /// The number of a signal on this machine, if it ends processes by default; nil for another
    /// name.
    public static func number(ofSignal name: String) -> Int32? { signals[name] }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerCore

@testable import TimerControl

/// Runs in plain words.
@Suite struct RunWordsTests {
    @Test(arguments: [
        ("exited(0)", "succeeded"), ("exited(3)", "exit 3"),
        ("signalled(SIGKILL)", "killed by SIGKILL"), ("timed-out", "timed out after 2 h"),
        ("replaced", "replaced by a newer run"), ("stopped", "stopped on request"),
        ("stopped(window)", "stopped because its window closed"),
        ("spawn-failed(ENOENT, exec /bin/x)", "could not start: no such program /bin/x"),
        (
            "spawn-failed(EACCES, exec /bin/x)",
            "could not start: /bin/x may not be executed (permission denied)"
        ),
        ("spawn-failed(ENOENT, chdir /srv)", "could not start: no such directory /srv"),
        (
            "spawn-failed(ENOENT, look up the user \"nosuch\")",
            "could not start: no such user \"nosuch\""
        ),
        (
            "spawn-failed(ENOENT, look up the group \"nosuch\")",
            "could not start: no such group \"nosuch\""
        ),
        (
            "spawn-failed(EMFILE, open /dev/null)",
            "could not start: too many open files (open /dev/null)"
        ),
        ("spawn-failed(PAM_ACCT_EXPIRED, account)", "could not start: PAM_ACCT_EXPIRED (account)"),
        ("lost(reboot)", "lost: the machine went down while it ran"),
        ("lost(deadline)", "never started: later than starting-deadline allows"),
        ("skipped(exit 75)", "skipped: exit 75"),
        (
            "skipped(condition mounted /mnt/backup)",
            "skipped: condition not met: mounted /mnt/backup"
        ),
        ("of a later version", "of a later version"),
    ])
    func anOutcomeHasWords(outcome: String, words: String) throws {
        var run = try run(nil)
        run.outcome = outcome
        run.began = "2026-11-21T04:38:52Z"
        run.elapsedUsec = 7_200_300_000
        #expect(RunWords.end(of: run) == words)
    }

    /// What counts is how the run was judged, by the exit codes of its job.
    @Test(arguments: [
        ("exited(0)", true, "exit 0"), ("exited(3)", false, "succeeded (exit 3)"),
        ("signalled(SIGTERM)", false, "succeeded (SIGTERM)"),
    ])
    func theVerdictIsSaid(outcome: String, failed: Bool, words: String) throws {
        var run = try run(nil)
        (run.outcome, run.failed) = (outcome, failed)
        #expect(RunWords.end(of: run) == words)
    }

    @Test func howLongItTookIsSaidOnce() throws {
        var run = try run(nil)
        run.began = "2026-11-21T04:38:52Z"
        (run.outcome, run.elapsedUsec) = ("exited(1)", 12_197_000)
        #expect(RunWords.ending(of: run) == "exit 1, after 12 s")
        (run.outcome, run.reason) = ("timed-out", "timed-out")
        #expect(RunWords.ending(of: run) == "timed out after 12 s")
        (run.outcome, run.reason, run.elapsedUsec) = ("lost(runner)", "lost", 0)
        #expect(RunWords.ending(of: run) == "lost: the runner went down while it ran")
        run.outcome = nil
        #expect(RunWords.ending(of: run) == nil)
    }

    private func run(
        _ cause: String?, by: String? = nil, attempt: Int = 1, missed: Int? = nil,
        waits: String? = nil
    ) throws -> RunStatus {
        var status = try ControlJSON.decode(
            RunStatus.self,
            from: Array(
                #"{"id":"a:20261121T043852.000000Z:\#(attempt)","job":"a","scheduled":"2026-11-21T04:38:52Z"}"#
                    .utf8))
        (status.cause, status.requestedBy, status.waits) = (cause, by, waits)
        status.missed = missed
        status.startsAt = waits == "retry-delay" ? "2026-11-21T05:00:00Z" : nil
        return status
    }

    @Test func aCauseHasASentence() throws {
        #expect(RunWords.cause(of: try run("schedule")) == "by its schedule")
        #expect(
            RunWords.cause(of: try run("catch-up", missed: 2))
                == "to catch up a missed run, for 3 due runs")
        #expect(RunWords.cause(of: try run("resume")) == "due during the pause that ended")
        #expect(
            RunWords.cause(of: try run("requested", by: "ada", attempt: 2))
                == "requested by ada, attempt 2")
        var full = try run("requested", by: "ada")
        full.arguments = ["full", "a b"]
        #expect(RunWords.cause(of: full) == "requested by ada, with full \"a b\"")
        #expect(RunWords.cause(of: try run(nil)) == "by its schedule")
    }

    @Test func theReasonWhyARunWaitsHasASentence() throws {
        func wait(_ word: String?) throws -> String? {
            RunWords.wait(try run("schedule", waits: word)) { "<\($0)>" }
        }
        #expect(try wait(nil) == nil)
        #expect(try wait("capacity") == "waits for max-concurrent")
        #expect(try wait("previous-run") == "waits for the previous run to end")
        #expect(try wait("retry-delay") == "waits for its delay, until <2026-11-21T05:00:00Z>")
    }

    @Test(arguments: [("SIGKILL", SIGKILL), ("SIGSEGV", SIGSEGV), ("SIGNOT", nil)])
    func signalsHaveNumbers(name: String, number: Int32?) {
        #expect(RunWords.number(ofSignal: name) == number)
    }
}

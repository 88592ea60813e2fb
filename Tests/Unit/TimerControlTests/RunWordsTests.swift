// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerCore

@testable import TimerControl

/// Runs in plain words.
@Suite struct RunWordsTests {
    @Test(arguments: [
        ("exited(0)", "exit status 0"), ("exited(3)", "exit status 3"),
        ("signalled(SIGKILL)", "killed by SIGKILL"),
        ("timed-out", "stopped because it ran longer than its timeout"),
        ("replaced", "replaced by a newer run"), ("stopped", "stopped on request"),
        (
            "spawn-failed(ENOENT, exec /bin/x)",
            "failed to start: no such file or directory (exec /bin/x)"
        ),
        (
            "spawn-failed(ENOENT, look up the user \"nosuch\")",
            "failed to start: there is no user \"nosuch\" on this machine"
        ),
        (
            "spawn-failed(ENOENT, look up the group \"nosuch\")",
            "failed to start: there is no group \"nosuch\" on this machine"
        ),
        ("spawn-failed(PAM_ACCT_EXPIRED, account)", "failed to start: PAM_ACCT_EXPIRED (account)"),
        ("lost(reboot)", "lost: the machine went down while it ran"),
        ("lost(deadline)", "never started: later than starting-deadline allows"),
        ("skipped(exit 75)", "skipped: exit status 75"),
        (
            "skipped(condition mounted /mnt/backup)",
            "skipped: condition not met: mounted /mnt/backup"
        ),
        ("of a later version", "of a later version"),
    ])
    func anOutcomeHasASentence(outcome: String, words: String) {
        #expect(RunWords.end(outcome) == words)
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

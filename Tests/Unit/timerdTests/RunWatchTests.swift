// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing
import TimerControl
import TimerCore

@testable import timerctl

/// `timerctl run --wait`, with simulated answers of the daemon.
@Suite struct RunWatchTests {
    private static let run = Run.ID("a:20261118T060000.000000Z:1")!

    /// The output of the watch.
    private final class Heard {
        var out: [String] = []
        var err: [String] = []
        var said: [String] = []
        var pauses = 0
    }

    /// One answer: the state of the run and the new lines, or why there is no answer.
    private enum Look {
        case run(
            String, waits: String? = nil, outcome: String? = nil, failed: Bool = false,
            lines: [String] = [], from: Int = 1, since: String = "1", output: String = "")
        case failure(Int32)
    }

    private func status(_ state: String, waits: String?, outcome: String?, failed: Bool) throws
        -> RunStatus
    {
        var status = try ControlJSON.decode(
            RunStatus.self,
            from: Array(#"{"id":"\#(Self.run)","job":"a","scheduled":"2026-11-18T06:00:00Z"}"#.utf8)
        )
        (status.waits, status.outcome) = (waits, outcome)
        status.began =
            waits == nil && state != "starting" && outcome?.hasPrefix("spawn") != true
            ? "2026-11-18T06:00:00Z" : nil
        status.failed = outcome == nil ? nil : failed
        return status
    }

    /// Watches a run with these answers, one after the other.
    private func watch(
        _ looks: [Look], _ heard: Heard
    ) throws -> Result<RunReply, Connection.Failure> {
        var current = 0
        var isAsked = false
        let statuses = try looks.map { look in
            if case .run(let state, let waits, let outcome, let failed, _, _, _, _) = look {
                try status(state, waits: waits, outcome: outcome, failed: failed)
            } else {
                nil as RunStatus?
            }
        }
        var watch = RunWatch(Self.run) { request throws(Connection.Failure) in
            if request == .run(Self.run) {
                if isAsked { current += 1 }
                isAsked = true
            }
            guard
                case .run(let state, _, _, _, let lines, let first, let since, let output) =
                    looks[current], let status = statuses[current]
            else {
                guard case .failure(let code) = looks[current] else { return [] }
                throw Connection.Failure(code, ErrorReply("code \(code)", code: .failed))
            }
            let bytes: [UInt8]?
            if request == .run(Self.run) {
                var run = status
                run.output = output
                bytes = try? ControlJSON.encode(
                    RunReply(
                        runStatus: run, state: state, attempt: 1, live: 3, maxConcurrent: 4,
                        now: "2026-11-18T06:00:00Z", since: since))
            } else {
                let numbered = lines.enumerated().map { index, text in
                    LogReply.Line(
                        run: "\(Self.run)", number: first + index, isError: text.hasPrefix("e"),
                        text: text)
                }
                bytes = try? ControlJSON.encode(
                    LogReply(
                        past: nil, lines: numbered, cursor: UInt64(first + lines.count),
                        since: since)
                )
            }
            return bytes ?? []
        }
        watch.pause = { _ in heard.pauses += 1 }
        watch.put = { line, isError in
            if isError { heard.err.append(line) } else { heard.out.append(line) }
        }
        watch.say = { heard.said.append($0) }
        do throws(Connection.Failure) { return .success(try watch.finish()) } catch {
            return .failure(error)
        }
    }

    @Test func eachStreamIsPassedOnUntilTheEnd() throws {
        let heard = Heard()
        let reply = try watch(
            [
                .run("starting"), .run("running", lines: ["one", "err"]),
                .run("running", lines: ["two"], from: 3),
                .run("ended", outcome: "exited(3)", failed: true, lines: ["three"], from: 4),
            ], heard
        ).get()
        #expect(heard.out == ["one", "two", "three"] && heard.err == ["err"])
        #expect(heard.said == ["run \(Self.run) started"] && heard.pauses == 3)
        #expect(RunWatch.exitStatus(of: reply) == 3)
        #expect(Text.ended(reply) == "a: run \(Self.run) ended: exit 3")
    }

    @Test func theReasonToWaitIsPrintedOnce() throws {
        let heard = Heard()
        _ = try watch(
            [
                .run("waiting", waits: "previous-run"), .run("waiting", waits: "previous-run"),
                .run("waiting", waits: "capacity"), .run("running"),
                .run("ended", outcome: "exited(0)"),
            ], heard
        ).get()
        #expect(
            heard.said == [
                "run \(Self.run) waits for the previous run to end",
                "run \(Self.run) waits for max-concurrent: 3 of 4 runs are active",
                "run \(Self.run) started",
            ])
    }

    /// The daemon is away for a while; the next instance counts its lines from 1 again.
    @Test func aRestartOfTheDaemonIsWaitedFor() throws {
        let heard = Heard()
        let reply = try watch(
            [
                .run("running", lines: ["one", "two"]), .failure(3), .failure(3), .failure(1),
                .failure(4), .run("running", lines: ["four"], since: "2"),
                .run("ended", outcome: "exited(0)", lines: ["five"], from: 2, since: "2"),
            ], heard
        ).get()
        #expect(heard.out == ["one", "two", "four", "five"])
        #expect(heard.said.count { $0.contains("does not answer") } == 1)
        #expect(heard.said.count { $0.contains("was restarted") } == 1)
        #expect(RunWatch.exitStatus(of: reply) == 0)
    }

    @Test func aRunThatIsUnknownToTheRunnerIsLost() throws {
        let heard = Heard()
        let result = try watch(
            [.run("running")] + Array(repeating: .failure(4), count: 40), heard)
        guard case .failure(let failure) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(failure.status == 1 && failure.message.contains("is lost"))
    }

    /// If the output came so fast that no line is left, the end is stored with the run.
    @Test func theEndOfTheOutputIsShownWhereNothingElseIsLeft() throws {
        let heard = Heard()
        _ = try watch([.run("ended", outcome: "exited(0)", output: "x\ny\n")], heard).get()
        #expect(
            heard.out == ["x", "y"] && heard.said.last?.contains("the end of its output") == true)
    }

    @Test(
        arguments: [
            ("exited(0)", false, 0), ("exited(7)", true, 7), ("exited(7)", false, 0),
            ("exited(0)", true, 1), ("signalled(SIGKILL)", true, 137),
            ("signalled(SIGSEGV)", true, 139), ("signalled(SIGRTMIN+1)", true, 1),
            ("timed-out", true, 1), ("stopped", false, 1), ("replaced", false, 1),
            ("spawn-failed(ENOENT, exec /x)", true, 1), ("lost(reboot)", true, 1),
            ("signalled(SIGTERM)", false, 0), ("skipped(exit 75)", false, 75),
            ("skipped(condition ac-power)", false, 1),
        ] as [(String, Bool, Int32)])
    func theExitStatusIsThatOfTheRun(outcome: String, failed: Bool, expected: Int32) throws {
        let reply = RunReply(
            runStatus: try status("ended", waits: nil, outcome: outcome, failed: failed),
            state: "ended", attempt: 1,
            now: "2026-11-18T06:00:00Z", since: "1")
        #expect(RunWatch.exitStatus(of: reply) == expected)
    }

    @Test func aRunThatWasRequestedSaysWhatBecameOfIt() throws {
        func start(
            _ state: String, waits: String? = nil, outcome: String? = nil
        ) throws -> RunStart.Start {
            RunStart.start(
                try status(state, waits: waits, outcome: outcome, failed: true), live: 4, of: 4)
        }
        #expect(try start("starting") == .requested && start("running") == .started)
        #expect(try start("ended", outcome: "exited(1)") == .started)
        #expect(
            try start("waiting", waits: "capacity")
                == .waits("waits for max-concurrent: 4 of 4 runs are active"))
        let failure = try start("ended", outcome: "spawn-failed(EACCES, exec /x)").failure
        #expect(failure == "could not start: /x may not be executed (permission denied)")
        #expect(
            Text.requested("a", run: "\(Self.run)", .started, left: 5_000_000)
                == "a: run \(Self.run) started; next run in 5 s")
        #expect(
            Text.requested("a", run: "r", .waits("waits for x"), left: nil)
                == "a: run r waits for x")
    }

    @Test(arguments: [
        ["run", "a", "b", "--wait"], ["run", "--all", "--wait"], ["retry"],
        ["retry", "--failed", "--wait"], ["retry", "a", "--failed"], ["log", "a", "-n", "0"],
        ["log", "a:20261118T060000.000000Z:1", "--since", "1h"], ["log", "a:b"], ["show", "a:b:c"],
        ["show", "a", "--lines", "-1"],
    ])
    func contradictoryOptionsAreRefused(arguments: [String]) {
        #expect(throws: (any Error).self) { try Timerctl.parseAsRoot(arguments) }
    }
}

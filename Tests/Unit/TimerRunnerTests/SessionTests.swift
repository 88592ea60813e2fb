// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Dispatch
import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// Runs with `pam-service`.
@Suite(.enabled(if: PamService.isPossible, "not root, or no PAM")) struct SessionTests {
    static let opened = "open_session nobody cron"
    static let closed = "close_session nobody cron"

    func request(
        _ fixture: RunnerFixture, _ service: PamService, _ line: String,
        environment: [String: String] = [:], user: String? = "nobody",
        _ execution: (inout Execution) -> Void = { _ in }
    ) -> RunRequest {
        fixture.request(.shell(line), environment: environment, in: "/") {
            $0.user = user
            $0.pamService = service.name
            execution(&$0)
        }
    }

    func hasBegun(_ request: RunRequest, _ fixture: RunnerFixture) -> Bool {
        fixture.events.contains {
            if case .began(request.id, _, _) = $0 { true } else { false }
        }
    }

    @Test func aSessionIsOpenBeforeTheJob_andClosedAfterIt() throws {
        let service = try PamService("session required LOG")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = request(
            fixture, service, "cat \(service.folder)/log; id -un; echo problem >&2; exit 7")
        let end = fixture.run(request)
        #expect(end.outcome == .exited(7))
        #expect(end.lines == [Self.opened, "nobody"] && end.errors == ["problem"])
        #expect(service.log == [Self.opened, Self.closed])
        #expect(hasBegun(request, fixture))
    }

    /// A job without `user` runs as root.
    @Test func aRunOfRootHasASessionToo() throws {
        let service = try PamService("session required LOG")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        #expect(fixture.run(request(fixture, service, "id -un", user: nil)).lines == ["root"])
        #expect(service.log == ["open_session root cron", "close_session root cron"])
    }

    /// The name of PAM's error, and PAM's message.
    @Test(arguments: [
        (
            "account required pam_debug.so acct=acct_expired",
            "spawn-failed(PAM_ACCT_EXPIRED, check the account nobody with the PAM service NAME: User account has expired)"
        ),
        (
            "account required pam_deny.so",
            "spawn-failed(PAM_AUTH_ERR, check the account nobody with the PAM service NAME: Authentication failure)"
        ),
        (
            "session required pam_deny.so",
            "spawn-failed(PAM_SESSION_ERR, open a session of nobody with the PAM service NAME: "
                + "Cannot make/remove an entry for the specified session)"
        ),
        (
            "auth required pam_debug.so cred=cred_expired",
            "spawn-failed(PAM_CRED_EXPIRED, set the credentials of nobody with the PAM service NAME: "
                + "User credentials expired)"
        ),
        (
            "account required no-such-module.so",
            "spawn-failed(PAM_MODULE_UNKNOWN, check the account nobody with the PAM service NAME: Module is unknown)"
        ),
    ])
    func aRefusalPreventsTheRun(rule: String, outcome: String) throws {
        let service = try PamService("\(rule)\naccount required LOG\nsession required LOG")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = request(fixture, service, "echo it runs")
        let end = fixture.run(request)
        #expect(end.outcome.description == outcome.replacing("NAME", with: service.name))
        #expect(end.lines == [] && !hasBegun(request, fixture))
        if !rule.hasPrefix("session") {
            #expect(!service.log.contains(Self.opened), "\(service.log)")
        }
    }

    /// PAM itself would use the rules of `other`.
    @Test func aMissingServicePreventsTheRun() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let name = "timerd-test-missing"
        let end = fixture.shell("echo it runs") {
            $0.user = "nobody"
            $0.pamService = name
        }
        #expect(
            end.outcome.description
                == "spawn-failed(ENOENT, find the PAM service \(name): neither /etc/pam.d/\(name) nor "
                + "/usr/lib/pam.d/\(name) exists; create it or change pam-service)")
        #expect(end.lines == [])
    }

    /// After the session was opened.
    @Test func aMissingProgramIsReported_andTheSessionIsClosed() throws {
        let service = try PamService("session required LOG")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = fixture.request(.arguments(["/nowhere/at/all"]), in: "/") {
            $0.user = "nobody"
            $0.pamService = service.name
        }
        let end = fixture.run(request)
        #expect(end.outcome.description == "spawn-failed(ENOENT, exec /nowhere/at/all)")
        #expect(!hasBegun(request, fixture))
        #expect(service.log == [Self.opened, Self.closed])
    }

    @Test(arguments: ["KILL", "SEGV", "ALRM", "TERM", "USR1"])
    func theSignalThatEndedTheJobIsTheResult(signal: String) throws {
        let service = try PamService("session required LOG")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let end = fixture.run(request(fixture, service, "kill -\(signal) $$"))
        #expect(end.outcome == .signalled("SIG\(signal)"))
        #expect(service.log == [Self.opened, Self.closed])
    }

    /// `timerctl kill --signal` is for the job: its session stays open while the job runs.
    @Test(arguments: [SIGTERM, SIGALRM, SIGSEGV, SIGHUP, SIGTSTP, SIGUSR1])
    func aSignalForTheJobDoesNotEndItsSession(number: Int32) throws {
        let service = try PamService("session required LOG")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let name = try #require(cspawn_signal_name(number).map { String(cString: $0) })
        let request = request(
            fixture, service,
            "trap 'echo got it; exit 5' \(name); echo ready; while :; do sleep 0.01; done")
        fixture.runner.start([request])
        fixture.wait(forLine: "ready")
        fixture.runner.signal(request.id, number)
        let end = fixture.end(of: request)
        #expect(end.outcome == .exited(5) && end.lines == ["ready", "got it"])
        #expect(service.log == [Self.opened, Self.closed])
    }

    /// Whether it ends by SIGTERM, or has to be killed.
    @Test(arguments: ["exec sleep 1000", "trap '' TERM; echo ready; while :; do sleep 1; done"])
    func aTerminatedRunHasItsSessionClosed(line: String) throws {
        let service = try PamService("session required LOG")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let timed = request(fixture, service, line) {
            $0.timeout = .seconds(1)
            $0.killTimeout = .milliseconds(100)
        }
        #expect(fixture.run(timed).outcome == .timedOut)
        #expect(service.log == [Self.opened, Self.closed])
        let stopped = request(fixture, service, "echo here; \(line)")
        fixture.runner.start([stopped])
        fixture.wait(forLine: "here")
        fixture.runner.end(stopped.id, grace: .milliseconds(100))
        #expect(fixture.end(of: stopped).outcome == .stopped)
        #expect(service.log == [Self.opened, Self.closed, Self.opened, Self.closed])
    }
}

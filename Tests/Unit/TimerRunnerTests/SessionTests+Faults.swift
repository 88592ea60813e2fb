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

/// Modules that hang, end the process or fail, and helpers that are killed.
extension SessionTests {
    @Test func aModuleThatHangsDelaysNoOtherRun_andIsAborted() throws {
        let service = try PamService("session required pam_exec.so /bin/sleep 1000")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let held = (0..<10).map { _ in request(fixture, service, "echo it runs") }
        fixture.runner.start(held)
        for _ in 0..<10 {
            let other = fixture.request(.arguments(["/bin/true"]), in: "/") { $0.user = "nobody" }
            #expect(fixture.run(other).outcome == .exited(0))
        }
        // They had not started when the others had ended.
        #expect(fixture.ends == 10 && !held.contains { hasBegun($0, fixture) })
        fixture.runner.end(held[0].id, grace: .seconds(60))
        #expect(fixture.end(of: held[0]).outcome == .stopped)
        let outcome =
            "spawn-failed(ETIMEDOUT, open a session of nobody with the PAM service \(service.name) within 10 seconds)"
        for request in held.dropFirst() {
            #expect(fixture.end(of: request).outcome.description == outcome)
        }
    }

    @Test func theTimeLimitIncludesTheModules() throws {
        let service = try PamService("session required pam_exec.so /bin/sleep 1000")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = request(fixture, service, "echo it runs") { $0.timeout = .milliseconds(300) }
        #expect(fixture.run(request).outcome == .timedOut)
        #expect(!hasBegun(request, fixture))
    }

    /// The session stays open then, but nothing waits for it without limit.
    @Test func aModuleThatHangsAtTheEndDoesNotChangeTheResult() throws {
        let service = try PamService(
            "session required pam_exec.so type=close_session /bin/sleep 1000")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        #expect(fixture.run(request(fixture, service, "exit 3")).outcome == .exited(3))
    }

    /// Compiles a module for the test, whose function executes only this statement.
    private func compile(_ statement: String, in function: String, _ service: PamService) throws {
        let source = """
            #include <signal.h>
            #include <stdlib.h>
            #include <unistd.h>
            int pam_sm_\(function)_session(void *handle, int flags, int count, const char **arguments) {
                \(statement)
                return 0;
            }
            int pam_sm_\(function == "open" ? "close" : "open")_session(void *handle) { return 0; }
            """
        try service.write(source, to: "module.c")
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/cc")
        compiler.arguments = [
            "-shared", "-fPIC", "-o", "\(service.folder)/module.so", "\(service.folder)/module.c",
        ]
        try compiler.run()
        compiler.waitUntilExit()
        try #require(compiler.terminationStatus == 0)
    }

    private static let mistakes = [
        "exit(0);", "_exit(0);", "abort();", "*(volatile int *)0 = 1;", "kill(getpid(), SIGKILL);",
    ]

    @Test(arguments: mistakes)
    func aModuleThatEndsTheProcessBeforeTheJobFailsTheRun(statement: String) throws {
        let service = try PamService("session required FOLDER/module.so")
        try compile(statement, in: "open", service)
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = request(fixture, service, "echo it runs")
        let end = fixture.run(request)
        #expect(
            end.outcome.description.hasPrefix(
                "spawn-failed(ECHILD, open a session with the PAM service"), "\(end.outcome)")
        #expect(end.lines == [] && !hasBegun(request, fixture))
    }

    @Test(arguments: ["exit(0);", "abort();", "*(volatile int *)0 = 1;", "raise(SIGTERM);"])
    func aModuleThatFailsAtTheEndDoesNotChangeTheResult(statement: String) throws {
        let service = try PamService("session required FOLDER/module.so")
        try compile(statement, in: "close", service)
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        #expect(fixture.run(request(fixture, service, "exit 3")).outcome == .exited(3))
        #expect(
            fixture.run(request(fixture, service, "kill -HUP $$")).outcome == .signalled("SIGHUP"))
    }

    @Test func aKilledHelperFailsTheRun() throws {
        let service = try PamService(
            "session required LOG\nsession required pam_exec.so FOLDER/kill")
        try service.write("#!/bin/sh\nkill -KILL $PPID", to: "kill")
        chmod("\(service.folder)/kill", 0o755)
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = request(fixture, service, "echo it runs")
        let end = fixture.run(request)
        #expect(
            end.outcome.description
                == "spawn-failed(ECHILD, open a session with the PAM service \(service.name): timerd-session ended; "
                + "see the system log for what a PAM module says)")
        #expect(end.lines == [] && !hasBegun(request, fixture))
    }

    @Test func aLongRequestIsPassed() throws {
        let service = try PamService("session required LOG")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        // More than a socket or a pipe can hold; each part is below the limit of the kernel
        // (execve(2)).
        let environment = Dictionary(
            uniqueKeysWithValues: (0..<10).map {
                ("LONG_\($0)", String(repeating: "x", count: 100_000))
            })
        let end = fixture.run(
            request(fixture, service, "echo ${#LONG_0} ${#LONG_9}", environment: environment))
        #expect(end.lines == ["100000 100000"])
    }

    @Test func manyAtOnceEachHaveASession_andTheirOutput() throws {
        let service = try PamService("session required LOG")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let requests = (0..<50).map { number in
            request(fixture, service, "seq 100; exit \(number)")
        }
        fixture.runner.start(requests)
        let lines = (1...100).map { "\($0)" }
        for (number, request) in requests.enumerated() {
            let end = fixture.end(of: request)
            #expect(end.outcome == .exited(Int32(number)) && end.lines == lines)
            // Its output is reported after its start.
            let first = fixture.events.first { $0.run == request.id }
            if case .began = first {} else { Issue.record("\(String(describing: first))") }
        }
        #expect(service.log.count == 100)
        fixture.runner.shutdown(grace: .zero)
    }

    @Test func theNextRunnerReattachesTheRun_andTheSessionIsClosed() throws {
        let service = try PamService("session required LOG")
        let folder = "/tmp/timerd-registry-\(UUID().uuidString)"
        // The runner does not shut down; its records are in its registry.
        let before = try RunnerFixture(registry: folder)
        let request = request(
            before, service, "echo ready; while [ ! -e \(service.folder)/go ]; do sleep 0.01; done")
        before.runner.start([request])
        before.wait(forLine: "ready")
        let after = try RunnerFixture(registry: folder)
        #expect(hasBegun(request, after))
        try service.write("", to: "go")
        #expect(after.end(of: request).outcome == .lost(.runner))
        #expect(before.end(of: request).outcome == .exited(0))
        #expect(service.log == [Self.opened, Self.closed])
        before.runner.shutdown(grace: .zero)
        after.runner.shutdown(grace: .zero)
    }

    /// A run that another runner started is terminated by its process group.
    @Test func aReattachedRunCanBeTerminated_andTheSessionIsClosed() throws {
        let service = try PamService("session required LOG")
        let folder = "/tmp/timerd-registry-\(UUID().uuidString)"
        let before = try RunnerFixture(registry: folder)
        let request = request(before, service, "echo ready; exec sleep 1000")
        before.runner.start([request])
        before.wait(forLine: "ready")
        let after = try RunnerFixture(registry: folder)
        after.runner.end(request.id, grace: .seconds(60))
        #expect(after.end(of: request).outcome == .stopped)
        #expect(before.end(of: request).outcome == .signalled("SIGTERM"))
        #expect(service.log == [Self.opened, Self.closed])
        before.runner.shutdown(grace: .zero)
        after.runner.shutdown(grace: .zero)
    }
}

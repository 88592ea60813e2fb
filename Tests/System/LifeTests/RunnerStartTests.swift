// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// The start of a runner, and what may happen during it.
@Suite(.ownThreads) struct RunnerStartTests {
    private static let canTrace = access("/usr/bin/strace", X_OK) == 0

    /// A runner of this daemon's, started by hand.
    private func runner(
        of daemon: LiveDaemon, _ options: [String] = [], tracedBy strace: [String]? = nil,
        saysTo errors: Pipe? = nil
    ) -> Process {
        let process = Process()
        let program = "\(LiveDaemon.programs)/timerd-runner"
        let arguments =
            options + ["--config", daemon.config, "--runtime", "\(daemon.folder)/run"]
        process.executableURL = URL(fileURLWithPath: strace == nil ? program : "/usr/bin/strace")
        process.arguments = (strace.map { $0 + [program] } ?? []) + arguments
        if let errors {
            process.standardError = errors
        } else {
            process.standardError = FileHandle.nullDevice
        }
        return process
    }

    private func make() throws -> LiveDaemon {
        let daemon = try LiveDaemon("[job.a]\nevery = \"1h\"\nFIRE\n")
        mkdir("\(daemon.folder)/run", 0o700)
        return daemon
    }

    private func wait(_ seconds: Double = 20, until isDone: () -> Bool) -> Bool {
        let deadline = LiveDaemon.now() + seconds
        while LiveDaemon.now() < deadline, !isDone() { usleep(10_000) }
        return isDone()
    }

    /// Starts a runner that is suspended at its first call of this kind, sends it a signal there,
    /// and resumes it.
    private func start(
        _ daemon: LiveDaemon, _ options: [String] = [], sending number: Int32, at call: String,
        followsForks: Bool = true
    ) throws -> Process {
        let log = "\(daemon.folder)/strace"
        let process = runner(
            of: daemon, options,
            tracedBy: (followsForks ? ["-f"] : []) + [
                "-o", log, "-e", "trace=\(call)", "-e", "inject=\(call):signal=STOP:when=1",
            ])
        try process.run()
        func children() throws -> [Int32] {
            let pid = process.processIdentifier
            let path = "/proc/\(pid)/task/\(pid)/children"
            return try String(contentsOfFile: path, encoding: .utf8).split(separator: " ")
                .compactMap { Int32($0) }
        }
        func isStopped() -> Bool {
            let text = try? String(contentsOfFile: log, encoding: .utf8)
            return text?.contains("stopped by SIGSTOP") == true
        }
        #expect(wait { isStopped() }, "it never came to \(call)")
        let pid = try #require(try children().first)
        kill(pid, number)
        kill(pid, SIGCONT)
        return process
    }

    private func expectCleanEnd(_ process: Process) {
        guard wait(until: { !process.isRunning }) else {
            Issue.record("it goes on")
            return process.terminate()
        }
        #expect(process.terminationReason == .exit && process.terminationStatus == 0)
    }

    @Test(
        .enabled(if: canTrace, "strace holds it up"),
        arguments: ["umask", "flock", "bind", "listen"], [SIGTERM, SIGINT])
    func aStopInTheMidstOfAStartEndsItCleanly(step: String, number: Int32) throws {
        let daemon = try make()
        expectCleanEnd(try start(daemon, sending: number, at: step))
    }

    @Test(.enabled(if: canTrace, "strace holds it up"))
    func aHangUpInTheMidstOfAStartEndsNothing() throws {
        let daemon = try make()
        let process = try start(daemon, sending: SIGHUP, at: "umask")
        #expect(wait { daemon.runner() != nil })
        let pid = try #require(daemon.runner())
        // Each later SIGHUP reads the configuration again.
        kill(pid, SIGHUP)
        kill(pid, SIGTERM)
        expectCleanEnd(process)
    }

    /// A stop of the process that was started is passed on to the process that continues in the
    /// background.
    @Test(.enabled(if: canTrace, "strace holds it up"))
    func aStopOfOneThatDetachesIsPassedOn() throws {
        let daemon = try make()
        // Without -f strace traces only the first process, which waits for the other one with
        // poll(2).
        expectCleanEnd(
            try start(daemon, ["--detach"], sending: SIGTERM, at: "poll", followsForks: false))
        #expect(wait { daemon.runner() == nil })
    }

    /// Swift's locks identify a thread by a number that is read once. After a fork it is that of
    /// another process, and two threads that meet at such a lock for the first time wait for each
    /// other for ever, at full load.
    @Test func aRunnerThatDetachesIsANewProcess_andEnds() throws {
        let daemon = try make()
        let process = runner(of: daemon, ["--detach", "--exit-idle", "1s"])
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let pid = try #require(daemon.runner())
        let line = try String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)
        #expect(line.contains("--ready-descriptor") && !line.contains("--detach"), "\(line)")
        // ps and pgrep use this name, which must not be that of the link by which the program was
        // started.
        let name = try String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8)
        #expect(name == "timerd-runner\n")
        #expect(wait { daemon.runner() == nil }, "it did not end")
    }

    /// Every name in the runtime directory, with the metadata that would change if a program
    /// touched it.
    private func listing(of daemon: LiveDaemon) throws -> [String] {
        let folder = "\(daemon.folder)/run"
        return try FileManager.default.subpathsOfDirectory(atPath: folder).sorted().map { name in
            var status = stat()
            lstat("\(folder)/\(name)", &status)
            return "\(name) \(status.st_ino) \(status.st_mode) \(status.st_size) "
                + "\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
        }
    }

    @Test(arguments: [[], ["--detach"], ["--socket", "other.sock"]])
    func aSecondRunnerIsRefused_andChangesNothing(options: [String]) throws {
        let daemon = try make()
        let first = runner(of: daemon)
        try first.run()
        // The registry is the last file that it makes, and it listens a little earlier. The file is empty at
        // first, and its first record comes last.
        let registry = "\(daemon.folder)/run/runs/registry"
        func isWritten() -> Bool {
            FileManager.default.contents(atPath: registry)?.contains { $0 != 0 } ?? false
        }
        #expect(wait(60) { daemon.runner() != nil && isWritten() })
        let before = try listing(of: daemon)
        let errors = Pipe()
        defer { if first.isRunning { first.terminate() } }
        let second = runner(of: daemon, options, saysTo: errors)
        try second.run()
        let said = String(
            decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        second.waitUntilExit()
        #expect(second.terminationStatus == 1)
        #expect(said.contains("another timerd-runner is using it"), "\(said)")
        let after = try listing(of: daemon)
        #expect(after == before, "\(after.filter { !before.contains($0) })")
        #expect(daemon.runner() == first.processIdentifier)
        first.terminate()
        expectCleanEnd(first)
    }

    @Test func anUnusedRunnerEnds_andTheNextOneReplacesItAtOnce() throws {
        let daemon = try make()
        for _ in 0..<3 {
            let process = runner(of: daemon, ["--exit-idle", "100ms"])
            try process.run()
            expectCleanEnd(process)
        }
        // A scheduler keeps this one connected, and finds no trace of the others.
        let kept = runner(of: daemon, ["--exit-idle", "5s"])
        try kept.run()
        // Otherwise the scheduler may start one of its own first.
        #expect(wait { daemon.runner() == kept.processIdentifier })
        try daemon.start()
        LiveDaemon.pass(until: LiveDaemon.now() + 5.5)
        #expect(kept.isRunning)
        #expect(try daemon.ask(.command(.run, Job.Name("a")!)).status == 200)
        #expect(daemon.nextFiring(until: LiveDaemon.now() + 10)?.text == "a 0")
        _ = daemon.kill()
        expectCleanEnd(kept)
    }
}

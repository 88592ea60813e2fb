// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// What happens in the first milliseconds of a start.
@Suite(.ownThreads, .serialized) struct StartTests {
    private let jobs = "[job.a]\nevery = \"100h\"\nFIRE\n"

    private func spawn(
        _ daemon: LiveDaemon, _ changed: [String: String] = [:], isSupervised: Bool = false,
        under tracer: [String] = []
    ) throws -> Spawned {
        let options = [
            "--config": daemon.config, "--state": "\(daemon.folder)/state",
            "--runtime": "\(daemon.folder)/run", "--log": "stderr",
        ].merging(changed) { $1 }
        return try Spawned(
            tracer + ["\(LiveDaemon.programs)/timerd", "run"]
                + options.flatMap { [$0.key, $0.value] },
            isSupervised ? ["NOTIFY_SOCKET": "\(daemon.folder)/notify"] : [:],
            log: "\(daemon.folder)/log")
    }

    private func stop(_ process: Spawned) {
        process.signal(SIGTERM)
        #expect(process.wait() == 0)
    }

    /// Each start ends cleanly, or was killed before it did anything; the next start takes none for
    /// a crash.
    @Test func aStopThatComesAtAnyTimeOfAStartIsClean() throws {
        let daemon = try LiveDaemon(jobs)
        try daemon.start()
        #expect(daemon.stop() == 0)
        for step in 0..<60 {
            let runtime = "\(daemon.folder)/run-\(step)"
            let process = try spawn(daemon, ["--runtime": runtime])
            usleep(UInt32(step * 250))
            let number = step % 3 == 0 ? SIGINT : SIGTERM
            process.signal(number)
            let status = process.wait()
            // It reports that it stops before it ends.
            let deadline = LiveDaemon.now() + 10
            while daemon.runner(in: "run-\(step)") != nil, LiveDaemon.now() < deadline {}
            #expect(daemon.runner(in: "run-\(step)") == nil, "\(step): left a runner behind")
            guard status != 0 else { continue }
            // Before the first instruction of the program, a signal cannot be blocked.
            #expect(status == number, "\(step): \(status), \(daemon.log)")
            #expect(access(runtime, F_OK) != 0, "\(step): ended by the signal after it had begun")
        }
        try daemon.start()
        #expect(daemon.stop() == 0)
        #expect(!daemon.log.contains("killed or crashed"), "\(daemon.log)")
        #expect(daemon.runner() == nil)
    }

    private static let hasTracer = access("/usr/bin/strace", X_OK) == 0

    /// The stop is asked for while the daemon starts its runner, connects to it, and talks to it
    /// for the first time. The calls of other threads, and of the runner, are not counted.
    @Test(
        .enabled(if: hasTracer, "strace sends the signal at each call"),
        arguments: ["clone3", "connect", "sendto", "poll", "recvfrom"])
    func aStopThatComesWithTheRunnerLeavesNoRunner(call: String) throws {
        let daemon = try LiveDaemon(jobs)
        var interrupted = 0
        for when in 1...6 {
            let process = try spawn(
                daemon, isSupervised: true,
                under: [
                    "/usr/bin/strace", "-qq", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
                    "inject=\(call):signal=TERM:when=\(when)",
                ])
            var isReady = false
            while !process.isOver, !isReady {
                isReady = daemon.waitForManager("READY=1", seconds: 0.02) != nil
            }
            // There is no such call any more: this start ended well.
            if isReady { process.signalChildren(SIGTERM) }
            #expect(process.wait() == 0, "\(when): \(daemon.log)")
            let deadline = LiveDaemon.now() + 10
            while daemon.runner() != nil, LiveDaemon.now() < deadline { usleep(1000) }
            #expect(daemon.runner() == nil, "\(when): left a runner behind")
            if isReady { break }
            interrupted += 1
        }
        #expect(interrupted > 0, "no start was interrupted")
    }

    /// It reaches its runner before it looks at its sockets and at the saved state.
    @Test func aStartThatFailsLeavesNoRunner() throws {
        let daemon = try LiveDaemon(jobs)
        let taken = "\(daemon.folder)/taken"
        #expect(mkdir(taken, 0o700) == 0)
        let process = try spawn(daemon, ["--socket": taken])
        #expect((process.wait() >> 8) & 0xff == 1)
        #expect(daemon.log.contains("exists and is not a socket"), "\(daemon.log)")
        let deadline = LiveDaemon.now() + 10
        while daemon.runner() != nil, LiveDaemon.now() < deadline { usleep(1000) }
        #expect(daemon.runner() == nil, "left a runner behind")
    }

    /// The runner and its runs in this directory belong to the first daemon, although the second
    /// one has another state directory and another socket.
    @Test func aSecondDaemonWithTheSameRuntimeDirectoryChangesNothing() throws {
        let daemon = try LiveDaemon("[job.a]\nevery = \"100h\"\nshell = \"exec sleep 300\"\n")
        try daemon.start()
        #expect(try daemon.timerctl("run", "a").status == 0)
        let deadline = LiveDaemon.now() + 20
        while try daemon.show("a").running.first?.began == nil, LiveDaemon.now() < deadline {}
        let running = try daemon.show("a").running.map(\.id)
        let runner = daemon.runner()
        let second = try Spawned(
            [
                "\(LiveDaemon.programs)/timerd", "run", "--accept-data-loss", "--config",
                daemon.config,
                "--state", "\(daemon.folder)/state2", "--socket", "\(daemon.folder)/other.sock",
                "--runtime", "\(daemon.folder)/run", "--log", "stderr",
            ], log: "\(daemon.folder)/log2")
        // A daemon that is not refused runs until it is told to stop.
        usleep(2_000_000)
        second.signal(SIGTERM)
        #expect((second.wait() >> 8) & 0xff == 1)
        let said = try String(contentsOfFile: "\(daemon.folder)/log2", encoding: .utf8)
        #expect(said.contains("another timerd is using it"), "\(said)")
        #expect(daemon.runner() == runner && runner != nil)
        #expect(try daemon.show("a").running.map(\.id) == running && running.count == 1)
        #expect(try daemon.timerctl("kill", "a").status == 0)
        #expect(daemon.stop() == 0)
    }

    /// The reload happens once the daemon is ready.
    @Test func aReloadThatIsAskedForDuringTheStartIsNotLost() throws {
        let daemon = try LiveDaemon(jobs)
        let process = try spawn(daemon, isSupervised: true)
        // As soon as the lock exists, signals wait.
        let deadline = LiveDaemon.now() + 20
        while access("\(daemon.folder)/state/timerd.lock", F_OK) != 0, LiveDaemon.now() < deadline {
            usleep(100)
        }
        process.signal(SIGHUP)
        #expect(daemon.waitForManager("READY=1") != nil)
        #expect(daemon.waitForLog("Configuration reloaded"), "\(daemon.log)")
        stop(process)
    }

    /// Every refusal happens before anything is written.
    @Test(arguments: ["socket", "runtime", "state", "config"])
    func aStartThatIsRefusedChangesNothing(fault: String) throws {
        let daemon = try LiveDaemon(jobs)
        try daemon.start()
        #expect(daemon.stop() == 0)
        let first = try LiveDaemon(
            "[job.run]\nevery = \"100h\"\nfirst = \"0s\"\ncommand = [\"sleep\", \"60\"]\n")
        try first.start()
        #expect(first.waitForLog("run: "))
        let runner = try #require(first.runner())
        let plain = "\(daemon.folder)/plain"
        try "".write(toFile: plain, atomically: true, encoding: .utf8)
        let changed =
            switch fault {
            case "socket": ["--socket": plain]
            case "runtime": ["--runtime": "\(first.folder)/run"]
            case "state": ["--state": "\(first.folder)/state"]
            default: ["--config": plain + "-that-is-not-there"]
            }
        let status = try spawn(daemon, changed).wait()
        #expect(status == (fault == "config" ? 78 : 1) << 8, "\(daemon.log)")
        #expect(daemon.runner() == nil)
        #expect(first.runner() == runner)
        #expect(try first.show("run").running.count == 1)
        _ = first.stop()
        try daemon.start()
        #expect(daemon.stop() == 0)
        #expect(!daemon.log.contains("killed or crashed"), "\(daemon.log)")
    }

    /// A client that connects before the jobs are loaded waits, and then sees all of them.
    @Test func aRequestDuringTheStartIsAnsweredWithTheJobs() throws {
        let count = 300
        let text = (0..<count).map { "[job.j\($0)]\nevery = \"100h\"\nFIRE\n" }.joined()
        let daemon = try LiveDaemon(text)
        for round in 0..<10 {
            let process = try spawn(daemon)
            var answer: (status: Int, text: String)?
            let deadline = LiveDaemon.now() + 20
            while answer == nil, LiveDaemon.now() < deadline {
                answer =
                    round % 2 == 0
                    ? try? daemon.ask(.command(.pause, Job.Name("j299")!, CommandBody()))
                    : try? daemon.ask(.show(Job.Name("j299")!))
            }
            #expect(answer?.status == 200, "\(round): \(String(describing: answer))")
            stop(process)
        }
        try daemon.start()
        #expect(try daemon.show("j299").state == "paused")
        #expect(daemon.stop() == 0)
    }
}

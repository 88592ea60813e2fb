// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import TimerRunner

/// A runner with a directory of marks of its own, and everything it told.
final class Bench: Sendable {
    let marks: String
    private let descriptor: Int32
    private let told = Mutex<[RunnerEvent]>([])
    private let more = DispatchSemaphore(value: 0)
    private let next = Mutex(0)
    let runner: Runner

    private final class Box: Sendable {
        let handler = Mutex<(@Sendable (RunnerEvent) -> Void)?>(nil)
    }

    init() throws {
        marks = "/tmp/timerd-marks-\(UUID().uuidString)"
        mkdir(marks, 0o700)
        descriptor = open(marks, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        let box = Box()
        runner = try Runner(marks: descriptor) { event in
            box.handler.withLock { $0 }?(event)
        }
        box.handler.withLock { handler in
            handler = { [weak self] event in
                guard let self else { return }
                told.withLock { $0.append(event) }
                more.signal()
            }
        }
    }

    deinit {
        close(descriptor)
        try? FileManager.default.removeItem(atPath: marks)
    }

    var events: [RunnerEvent] { told.withLock { $0 } }
    var markNames: Set<String> { Runner.marks(in: descriptor) }

    /// Waits until what was told satisfies the condition, for at most a minute.
    func wait(until isDone: ([RunnerEvent]) -> Bool) {
        while !isDone(events) {
            guard more.wait(timeout: .now() + 60) == .success else {
                Issue.record("nothing more was told: \(events.suffix(5))")
                return
            }
        }
    }

    func request(
        _ command: Job.Command, environment: [String: String] = [:], in directory: String? = nil
    )
        -> RunRequest
    {
        let number = next.withLock { number in
            number += 1
            return number
        }
        let job = Job(
            name: Job.Name("probe")!, command: command, schedule: .every(.seconds(1)),
            environment: environment, workingDirectory: directory)
        let scheduled = WallInstant(microsecondsSinceEpoch: 1_795_000_000_000_000 + Int64(number))
        let firing = Firing(
            id: Firing.ID(job: job.name, scheduled: scheduled), missed: 2, active: .seconds(90))
        return RunRequest(Run(firing: firing, job: job))
    }

    /// Runs a command to its end.
    func run(_ request: RunRequest) -> (outcome: RunOutcome, lines: [String], errors: [String]) {
        runner.start([request])
        return end(of: request)
    }

    func end(of request: RunRequest) -> (outcome: RunOutcome, lines: [String], errors: [String]) {
        wait { $0.contains { if case .ended(request.id, _, _, _) = $0 { true } else { false } } }
        var outcome = RunOutcome.timedOut
        var lines: [RunStream: [String]] = [:]
        for event in events {
            switch event {
            case .ended(request.id, let found, _, _): outcome = found
            case .output(request.id, let stream, let line, _):
                lines[stream, default: []].append(String(decoding: line, as: UTF8.self))
            default: break
            }
        }
        return (outcome, lines[.stdout] ?? [], lines[.stderr] ?? [])
    }

    func shell(_ line: String) -> (outcome: RunOutcome, lines: [String], errors: [String]) {
        run(request(.shell(line)))
    }
}

@Suite struct OutcomeTests {
    @Test func tellsExitCodesAndSignals() throws {
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        #expect(bench.shell("true").outcome == .exited(0))
        #expect(bench.shell("exit 3").outcome == .exited(3))
        #expect(bench.shell("kill -KILL $$").outcome == .signalled("SIGKILL"))
        #expect(bench.shell("kill -TERM $$").outcome == .signalled("SIGTERM"))
        #expect(bench.run(bench.request(.arguments(["true"]))).outcome == .exited(0))
        #expect(bench.run(bench.request(.arguments(["/bin/true"]))).outcome == .exited(0))
    }

    @Test func saysWhichStepFailed() throws {
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        func outcome(_ command: [String], in directory: String? = "/") -> String {
            bench.run(bench.request(.arguments(command), in: directory)).outcome.description
        }
        let script = "\(bench.marks)/../timerd-script-\(getpid())"
        try "echo no interpreter".write(toFile: script, atomically: true, encoding: .utf8)
        defer { unlink(script) }
        chmod(script, 0o755)
        #expect(outcome(["nosuch"]) == "spawn-failed(ENOENT, exec nosuch)")
        #expect(outcome(["/no/such"]) == "spawn-failed(ENOENT, exec /no/such)")
        #expect(outcome(["/etc/passwd"]) == "spawn-failed(EACCES, exec /etc/passwd)")
        #expect(outcome([script]) == "spawn-failed(ENOEXEC, exec \(script))")
        #expect(outcome(["true"], in: "/no/such") == "spawn-failed(ENOENT, chdir /no/such)")
        #expect(
            outcome(["true"], in: "/etc/passwd") == "spawn-failed(ENOTDIR, chdir /etc/passwd)")
        let huge = String(repeating: "x", count: 4 << 20)
        #expect(outcome(["true", huge]) == "spawn-failed(E2BIG, exec true)")
    }

    @Test func accountsForWhatARunUsed() throws {
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let request = bench.request(.shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"))
        #expect(bench.run(request).outcome == .exited(0))
        for case .ended(_, _, let usage, _) in bench.events {
            #expect(usage.elapsed > .zero && usage.user + usage.system > .zero)
            #expect(usage.user + usage.system <= usage.elapsed + .milliseconds(100))
            #expect(usage.peakResidentBytes > 100_000)
        }
    }
}

@Suite struct ChildTests {
    /// Started from a dispatch queue, whose threads block signals.
    @Test func hasOwnSessionNoMaskDefaultDispositionsAndThreeDescriptors() throws {
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        signal(SIGPIPE, SIG_IGN)
        let request = bench.request(
            .shell(
                """
                grep -E '^(SigBlk|SigIgn|SigCgt):' /proc/self/status
                echo fds; ls -m /proc/$$/fd
                echo ids $$ $(cut -d' ' -f5,6,19 /proc/$$/stat)
                echo umask $(umask)
                echo in $(readlink /proc/$$/fd/0)
                """), in: "/")
        DispatchQueue(label: "starter", qos: .background).sync { bench.runner.start([request]) }
        let lines = bench.end(of: request).lines
        #expect(lines.contains("SigBlk:\t0000000000000000"))
        #expect(lines.contains("SigIgn:\t0000000000000000"))
        #expect(lines.contains("0, 1, 2"))
        #expect(lines.contains("umask 0022") && lines.contains("in /dev/null"))
        let ids = try #require(lines.first { $0.hasPrefix("ids ") }).split(separator: " ")
        #expect(ids[1] == ids[2] && ids[1] == ids[3], "its group and its session are its own")
        #expect(ids[4] == "0", "the nice value")
    }

    @Test func hasABuiltEnvironment() throws {
        setenv("TIMERD_TEST_SECRET", "x", 1)
        setenv("NOTIFY_SOCKET_TEST", "x", 1)
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let request = bench.request(
            .arguments(["/usr/bin/env"]), environment: ["WHOM": "a b", "PATH": "/bin"], in: "/tmp")
        let lines = Set(bench.run(request).lines)
        let account = getpwuid(geteuid())!
        let user = String(cString: account.pointee.pw_name)
        #expect(
            lines == [
                "PATH=/bin", "HOME=\(String(cString: account.pointee.pw_dir))",
                "SHELL=\(String(cString: account.pointee.pw_shell))", "USER=\(user)",
                "LOGNAME=\(user)", "WHOM=a b", "TIMERD_JOB=probe", "TIMERD_MISSED=2",
                "TIMERD_RUN_ID=\(request.id)", "TIMERD_ACTIVE_SECONDS=90",
                "TIMERD_SCHEDULED=\(request.id.firing.scheduled.rfc3339)",
            ])
        #expect(bench.run(bench.request(.arguments(["pwd"]), in: "/tmp")).lines == ["/tmp"])
    }
}

@Suite struct OutputTests {
    @Test func comesLineByLine_fromBothStreams() throws {
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let end = bench.shell("printf 'one\\n\\ntwo'; echo bad >&2")
        #expect(end.lines == ["one", "", "two"] && end.errors == ["bad"])
    }

    @Test(arguments: [0, 1, 8191, 8192, 8193, 16_384, 16_385, 20_000])
    func aLongLineComesInPieces(length: Int) {
        for step in [1, 7, 4096, 100_000] {
            var cutter = LineCutter()
            var pieces: [(Int, Bool)] = []
            let bytes = [UInt8](repeating: 120, count: length) + Array("\nnext\n".utf8)
            for start in stride(from: 0, to: bytes.count, by: step) {
                bytes[start..<min(start + step, bytes.count)].withUnsafeBytes { part in
                    cutter.take(part) { pieces.append(($0.count, $1)) }
                }
            }
            cutter.finish { pieces.append(($0.count, $1)) }
            #expect(pieces.last?.0 == 4)
            #expect(pieces.dropLast().map(\.0).reduce(0, +) == length)
            #expect(pieces.allSatisfy { $0.0 <= LineCutter.lineBytesMax })
            #expect(pieces.dropLast().dropLast().allSatisfy { $0.1 })
        }
    }

    @Test func endlessOutputIsReadToItsEnd_inBoundedPieces() throws {
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let request = bench.request(.shell("head -c 5000000 /dev/zero"))
        #expect(bench.run(request).outcome == .exited(0))
        var total = 0
        for case .output(_, _, let line, _) in bench.events { total += line.count }
        #expect(total == 5_000_000)
        for case .ended(_, _, _, let tail) in bench.events {
            #expect(tail.count == Tail.bytesMax)
        }
    }

    @Test func aGrandchildWithThePipeInHandHoldsUpNoOutcome() throws {
        let bench = try Bench()
        let end = bench.shell("setsid sleep 300 & echo $!; echo done")
        #expect(end.outcome == .exited(0) && end.lines.last == "done")
        if let pid = end.lines.first.flatMap({ Int32($0) }) { kill(pid, SIGKILL) }
        bench.runner.shutdown(grace: .zero)
    }

    @Test func whatALeftoverWritesLaterIsStillTold() throws {
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let gate = "\(bench.marks)/../timerd-gate-\(UUID().uuidString)"
        mkfifo(gate, 0o600)
        defer { unlink(gate) }
        let request = bench.request(.shell("(read go < \(gate); echo late) & exit 0"))
        #expect(bench.run(request).outcome == .exited(0))
        try "go\n".write(to: URL(fileURLWithPath: gate), atomically: false, encoding: .utf8)
        bench.wait {
            $0.contains {
                if case .output(request.id, _, Array("late".utf8), _) = $0 { true } else { false }
            }
        }
    }
}

@Suite struct RunnerTests {
    @Test func aRunIsMarkedUntilItIsForgotten_andNeverBegunTwice() throws {
        let bench = try Bench()
        let request = bench.request(.arguments(["true"]))
        #expect(bench.run(request).outcome == .exited(0))
        #expect(bench.markNames == [request.id.description])
        bench.runner.start([request])
        bench.wait { events in
            events.count { if case .ended = $0 { true } else { false } } == 2
        }
        guard case .ended(_, .lost(.daemon), _, _) = bench.events.last else {
            Issue.record("it ran twice: \(bench.events)")
            return
        }
        bench.runner.forget(request.id)
        bench.runner.shutdown(grace: .zero)
        #expect(bench.markNames.isEmpty)
    }

    @Test func aSignalReachesTheWholeGroup() throws {
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let request = bench.request(.shell("sleep 300 & echo up; wait; echo survived"))
        bench.runner.start([request])
        bench.wait { $0.contains { if case .output = $0 { true } else { false } } }
        bench.runner.signal(request.id, SIGTERM)
        #expect(bench.end(of: request).outcome == .signalled("SIGTERM"))
        // The grandchild held the pipe; its end is the end of the pipe.
        #expect(!bench.end(of: request).lines.contains("survived"))
    }

    @Test func shutdownEndsEvenWhoIgnoresSIGTERM() throws {
        let bench = try Bench()
        let requests = [
            bench.request(.shell("trap '' TERM; echo up; while :; do sleep 300; done")),
            bench.request(.shell("echo up; sleep 300")),
        ]
        bench.runner.start(requests)
        bench.wait { events in
            events.count { if case .output = $0 { true } else { false } } == 2
        }
        bench.runner.shutdown(grace: .milliseconds(200))
        #expect(requests.allSatisfy { bench.end(of: $0).outcome == .stopped })
    }

    @Test func twoThousandRunsLeaveNoDescriptorAndNoZombie() throws {
        let bench = try Bench()
        #expect(bench.run(bench.request(.arguments(["/bin/true"]))).outcome == .exited(0))
        let before = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
        let requests = (0..<2000).map { number in
            bench.request(.arguments(number % 10 == 0 ? ["/no/such"] : ["/bin/true"]))
        }
        bench.runner.start(requests)
        bench.wait { events in
            events.count { if case .ended = $0 { true } else { false } } == 2001
        }
        for request in requests { bench.runner.forget(request.id) }
        bench.runner.shutdown(grace: .zero)
        let failed = bench.events.count {
            if case .ended(_, .spawnFailed, _, _) = $0 { true } else { false }
        }
        #expect(failed == 200)
        // Other tests run beside this one, so only this runner's own pipes and processes are counted.
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
        #expect(threads <= before + 8)
        let fds = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        #expect(fds < 200, "descriptors: \(fds)")
    }
}

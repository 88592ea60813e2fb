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

@Suite struct OutcomeTests {
    @Test func reportsExitCodesAndSignals() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        #expect(fixture.shell("true").outcome == .exited(0))
        #expect(fixture.shell("exit 3").outcome == .exited(3))
        #expect(fixture.shell("kill -KILL $$").outcome == .signalled("SIGKILL"))
        #expect(fixture.shell("kill -TERM $$").outcome == .signalled("SIGTERM"))
        #expect(fixture.run(fixture.request(.arguments(["true"]))).outcome == .exited(0))
        #expect(fixture.run(fixture.request(.arguments(["/bin/true"]))).outcome == .exited(0))
    }

    @Test func reportsWhichStepFailed() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        func outcome(_ command: [String], in directory: String? = "/") -> String {
            fixture.run(fixture.request(.arguments(command), in: directory)).outcome.description
        }
        let script = "\(fixture.registry)/../timerd-script-\(getpid())"
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

    @Test func reportsTheResourceUsageOfARun() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let end = fixture.shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
        #expect(end.outcome == .exited(0))
        #expect(end.usage.elapsed > .zero && end.usage.user + end.usage.system > .zero)
        #expect(end.usage.user + end.usage.system <= end.usage.elapsed + .milliseconds(100))
    }

    /// The kernel starts the peak of a child at its memory before its program, which is almost
    /// nothing of this process's. The spawner only scans for memory that other threads have mapped
    /// every 256 starts, and the tests that run in parallel map much memory.
    @Test func thePeakMemoryOfARunDoesNotIncludeItsParents() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        var small: Int64 = .max
        for _ in 0...256 where small >= 8 << 20 {
            small = Int64(fixture.shell("true").usage.peakResidentBytes)
        }
        #expect(small > 0 && small < 8 << 20)
        let size = 100_000 << 10
        let end = fixture.shell("dd if=/dev/zero of=/dev/null bs=\(size) count=1 2>/dev/null")
        #expect(end.outcome == .exited(0))
        #expect(end.usage.peakResidentBytes >= size)
        #expect(end.usage.peakResidentBytes < size + 100 << 20)
    }
}

@Suite struct OutputTests {
    @Test func outputIsReportedLineByLine_fromBothStreams() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let end = fixture.shell("printf 'one\\n\\ntwo'; echo bad >&2")
        #expect(end.lines == ["one", "", "two"] && end.errors == ["bad"])
    }

    @Test(arguments: [0, 1, 8191, 8192, 8193, 16_384, 16_385, 20_000])
    func aLongLineIsReportedInPieces(length: Int) {
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

    @Test func longOutputIsReadToItsEnd_inBoundedPieces() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = fixture.request(.shell("head -c 5000000 /dev/zero"))
        #expect(fixture.run(request).outcome == .exited(0))
        var total = 0
        for case .output(_, _, let line, _) in fixture.events { total += line.count }
        #expect(total == 5_000_000)
        #expect(fixture.end(of: request).tail.count == 8192)
    }

    @Test func aGrandchildWithTheOpenPipeDoesNotDelayTheOutcome() throws {
        let fixture = try RunnerFixture()
        let end = fixture.shell("setsid sleep 300 & echo $!; echo done")
        #expect(end.outcome == .exited(0) && end.lines.last == "done")
        if let pid = end.lines.first.flatMap({ Int32($0) }) { kill(pid, SIGKILL) }
        fixture.runner.shutdown(grace: .zero)
    }

    @Test func laterOutputOfALeftoverIsStillReported() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let gate = "\(fixture.registry)/../timerd-gate-\(UUID().uuidString)"
        mkfifo(gate, 0o600)
        defer { unlink(gate) }
        let request = fixture.request(.shell("(read go < \(gate); echo late) & exit 0"))
        #expect(fixture.run(request).outcome == .exited(0))
        try "go\n".write(to: URL(fileURLWithPath: gate), atomically: false, encoding: .utf8)
        fixture.wait {
            $0.contains {
                if case .output(request.id, _, Array("late".utf8), _) = $0 { true } else { false }
            }
        }
    }
}

@Suite struct RunnerTests {
    @Test func aRunIsRecordedUntilItIsForgotten_andNeverStartedTwice() throws {
        let fixture = try RunnerFixture()
        let request = fixture.request(.arguments(["true"]))
        #expect(fixture.run(request).outcome == .exited(0))
        #expect(fixture.markNames == [request.id.description])
        fixture.runner.start([request])
        fixture.wait(forEnds: 2)
        guard case .ended(_, let end) = fixture.events.last, end.outcome == .lost(.runner) else {
            Issue.record("it ran twice: \(fixture.events)")
            return
        }
        fixture.runner.forget(request.id)
        fixture.runner.shutdown(grace: .zero)
        #expect(fixture.markNames.isEmpty)
    }

    @Test func aSignalReachesTheWholeGroup() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = fixture.request(.shell("sleep 300 & echo up; wait; echo survived"))
        fixture.runner.start([request])
        fixture.wait { $0.contains { if case .output = $0 { true } else { false } } }
        fixture.runner.signal(request.id, SIGTERM)
        #expect(fixture.end(of: request).outcome == .signalled("SIGTERM"))
        // The grandchild had the pipe open, so the pipe reaches its end when it ends.
        #expect(!fixture.end(of: request).lines.contains("survived"))
    }

    @Test func shutdownEndsARunThatIgnoresSIGTERM() throws {
        let fixture = try RunnerFixture()
        let requests = [
            fixture.request(.shell("trap '' TERM; echo up; while :; do sleep 300; done")),
            fixture.request(.shell("echo up; sleep 300")),
        ]
        fixture.runner.start(requests)
        fixture.wait { events in
            events.count { if case .output = $0 { true } else { false } } == 2
        }
        fixture.runner.shutdown(grace: .milliseconds(200))
        #expect(requests.allSatisfy { fixture.end(of: $0).outcome == .stopped })
    }
}

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

/// Runs that would never end, or end unexpectedly.
@Suite struct LimitTests {
    private func span(_ body: () -> Void) -> Duration {
        let clock = ContinuousClock()
        return clock.measure(body)
    }

    private func isRunning(_ pid: Int32) -> Bool { kill(pid, 0) == 0 }

    @Test func aRunIsTerminatedAtItsTimeLimit() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let end = fixture.shell("trap 'echo bye; exit 0' TERM; echo up; sleep 300 & wait") {
            $0.timeout = .seconds(2)
        }
        #expect(end.outcome == .timedOut && end.lines == ["up", "bye"])
        #expect(end.usage.elapsed >= .seconds(2) && end.usage.elapsed < .seconds(60))
    }

    @Test func aRunThatIgnoresSIGTERMIsKilled_withItsWholeGroup() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let end = fixture.shell("trap '' TERM; sleep 300 & echo $!; while :; do sleep 300; done") {
            $0.timeout = .milliseconds(200)
            $0.killTimeout = .milliseconds(300)
        }
        #expect(end.outcome == .timedOut)
        #expect(end.usage.elapsed >= .milliseconds(500) && end.usage.elapsed < .seconds(60))
        #expect(!isRunning(try #require(Int32(end.lines[0]))))
    }

    /// SIGTERM ends a shell; the program that it waited for has the same grace period. Only then
    /// the run is over.
    @Test func aRunEndsWhenItsGroupIsEmpty() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = fixture.request(
            .shell(
                "sh -c 'trap \"sleep 0.5; echo cleaned; exit\" TERM; echo up; while :; do sleep 0.1; done'; :"
            ))
        fixture.runner.start([request])
        fixture.wait(forLine: "up")
        fixture.runner.end(request.id, grace: .seconds(60))
        let end = fixture.end(of: request)
        #expect(end.outcome == .stopped && end.lines == ["up", "cleaned"])
    }

    @Test func aTerminatedRunIsStopped_andAWaitingOneNeverStarts() throws {
        let fixture = try RunnerFixture()
        let first = fixture.request(.shell("echo up; exec sleep 300"))
        fixture.runner.start([first])
        fixture.wait(forLine: "up")
        fixture.runner.end(first.id, grace: .seconds(60))
        #expect(fixture.end(of: first).outcome == .stopped)
        // More than are started in one loop iteration; the last of them is cancelled at once.
        let others = (0..<200).map { _ in fixture.request(.arguments(["/bin/true"])) }
        fixture.runner.start(others)
        fixture.runner.end(others[199].id, grace: .zero)
        fixture.wait(forEnds: 201)
        #expect(fixture.end(of: others[199]).outcome == .stopped)
        #expect(others.dropLast().allSatisfy { fixture.end(of: $0).outcome == .exited(0) })
        fixture.runner.shutdown(grace: .zero)
    }

    @Test func theGracePeriodCanBeShortened() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = fixture.request(.shell("trap '' TERM; echo up; while :; do sleep 300; done"))
        fixture.runner.start([request])
        fixture.wait(forLine: "up")
        let span = span {
            fixture.runner.end(request.id, grace: .seconds(60))
            fixture.runner.end(request.id, grace: .milliseconds(100))
            fixture.runner.end(request.id, grace: .seconds(60))
            _ = fixture.end(of: request)
        }
        #expect(fixture.end(of: request).outcome == .stopped && span < .seconds(10))
    }

    @Test func theTimeLimitIsSuspendedWithTheRun() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = fixture.request(.shell("echo up; while :; do sleep 0.05; done")) {
            $0.timeout = .milliseconds(600)
        }
        fixture.runner.start([request])
        fixture.wait(forLine: "up")
        fixture.runner.suspend(request.id)
        usleep(1_000_000)
        #expect(fixture.events.count == 2, "it ended while it was suspended")
        fixture.runner.resume(request.id)
        let end = fixture.end(of: request)
        #expect(end.outcome == .timedOut)
        #expect(end.usage.elapsed >= .milliseconds(1600) && end.usage.elapsed < .seconds(60))
        // A suspended run can be terminated too.
        let other = fixture.request(.shell("echo standing; exec sleep 300"))
        fixture.runner.start([other])
        fixture.wait(forLine: "standing")
        fixture.runner.suspend(other.id)
        fixture.runner.end(other.id, grace: .seconds(60))
        #expect(fixture.end(of: other).outcome == .stopped)
    }

    /// When a descriptor table that threads share grows, the thread that causes it has to wait.
    @Test func theDescriptorTableIsLargeEnoughForManyRunsFromTheStart() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("FDSize:") })
        let room = try #require(UInt64(line.split(separator: "\t")[1]))
        #expect(room >= min(4096, UInt64(limit.rlim_cur)))
    }

    @Test func manyTimeLimitsAtOnceAreEachEnforcedInTime() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        var seed = SystemRandomNumberGenerator()
        let requests = (0..<100).map { _ in
            let timeout = Duration.milliseconds(Int.random(in: 50...1500, using: &seed))
            return (
                fixture.request(.arguments(["sleep", "300"])) { $0.timeout = timeout }, timeout
            )
        }
        fixture.runner.start(requests.map(\.0))
        for (request, timeout) in requests {
            let end = fixture.end(of: request)
            #expect(end.outcome == .timedOut)
            #expect(end.usage.elapsed >= timeout && end.usage.elapsed < .seconds(60))
        }
    }

    @Test func outputWithoutANewlineAndBinaryOutputArriveComplete_inBoundedPieces() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = fixture.request(
            .shell(
                "head -c 1000000 /dev/urandom | tee /dev/stderr | md5sum | cut -c1-32 >/dev/null"))
        #expect(fixture.run(request).outcome == .exited(0))
        var bytes = 0
        for case .output(_, .stderr, let line, let isCut) in fixture.events {
            #expect(line.count <= LineCutter.lineBytesMax)
            bytes += line.count + (isCut ? 0 : 1)
        }
        // The last line may have no newline.
        #expect((1_000_000...1_000_001).contains(bytes))
    }

    /// 100 MB here, 10 GB if `TIMERD_SOAK` is set. The memory of the runner does not grow.
    @Test func endlessOutputTakesNoMemory() async {
        await #expect(processExitsWith: .success) {
            let folder = "/tmp/timerd-registry-\(UUID().uuidString)"
            mkdir(folder, 0o700)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let registry = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            let done = DispatchSemaphore(value: 0)
            nonisolated(unsafe) var bytes = 0
            // Written on the runner's thread, read after its shutdown.
            let runner = try Runner(registry: registry) { event in
                switch event {
                case .output(_, _, let line, _): bytes += line.count
                case .ended: done.signal()
                case .began, .unfinished, .dropped, .limited, .slowed, .leftBehind: break
                }
            }
            let isSoak = ProcessInfo.processInfo.environment["TIMERD_SOAK"] != nil
            let size = isSoak ? 10_000_000_000 : 100_000_000
            var definition = Definition(.shell("head -c \(size) /dev/zero"))
            definition.execution.outputTail = 100
            definition.execution.logRateLimitInterval = nil
            let id = Run.ID("probe:20261121T043852.000000Z:1")!
            runner.start([RunRequest(id: id, definition: definition, missed: 0, active: .zero)])
            done.wait()
            runner.shutdown(grace: .zero)
            #expect(bytes == size)
            // The memory of this program only: the value of getrusage(2) starts with that of its
            // parent.
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let peak = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
            let kibibytes = peak?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
            #expect(try #require(kibibytes) < 200_000)
        }
    }

    /// All runs of a job share one limit, and dropped lines are counted for the run that wrote
    /// them.
    @Test func beyondItsLimitTheLinesOfAJobAreDroppedAndCounted() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        func run(_ line: String, of job: String = "loud", keeping tail: Int = 10) -> [Int] {
            var request = fixture.request(.shell(line)) {
                $0.logRateLimitInterval = .seconds(3600)
                $0.logRateLimitBurst = 100
                $0.outputTail = tail
            }
            request.id.firing.job = Job.Name(job)!
            let end = fixture.run(request)
            #expect(end.outcome == .exited(0))
            var limited = 0
            for case .limited(request.id, let lines) in fixture.events { limited += lines }
            #expect(tail == 0 || !end.tail.isEmpty)
            return [end.lines.count + end.errors.count, limited]
        }
        #expect(run("seq 90") == [90, 0])
        // The tail for the history is the end of the output, as before.
        #expect(run("seq 100000; echo bad >&2; printf last") == [10, 99_992])
        #expect(run("echo one") == [0, 1])
        #expect(run(":", keeping: 0) == [0, 0])
        #expect(run("seq 100", of: "other") == [100, 0])
    }

    /// When the interval is over, lines are passed on again, after the report of the dropped ones.
    @Test func afterTheIntervalAJobMayWriteAgain() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = fixture.request(
            .shell("seq 100; read go < \(fixture.registry)-go; echo again; exec sleep 300")
        ) {
            $0.logRateLimitInterval = .milliseconds(500)
            $0.logRateLimitBurst = 10
        }
        mkfifo("\(fixture.registry)-go", 0o600)
        defer { unlink("\(fixture.registry)-go") }
        fixture.runner.start([request])
        // It is reported although nothing more is written.
        fixture.wait { $0.contains { if case .limited = $0 { true } else { false } } }
        try "go\n".write(toFile: "\(fixture.registry)-go", atomically: false, encoding: .utf8)
        fixture.wait(forLine: "again")
        let lines = fixture.lines(of: request)
        var told: [Int] = []
        for case .limited(_, let lines) in fixture.events { told.append(lines) }
        #expect(lines.count + told.reduce(0, +) == 101 && lines.count >= 11)
        let last = try #require(fixture.events.last)
        #expect(last == .output(request.id, .stdout, line: Array("again".utf8), isCut: false))
        fixture.runner.end(request.id, grace: .zero)
        _ = fixture.end(of: request)
    }

    @Test func aTailHasTheRequestedLength() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        for size in [0, 1, 100, 70_000] {
            let end = fixture.shell("yes 12345678 | head -n 10000") { $0.outputTail = size }
            #expect(end.tail.count == size)
            #expect(
                String(decoding: end.tail.suffix(10), as: UTF8.self).hasSuffix(size > 0 ? "\n" : "")
            )
        }
    }

    /// A scheduler does not start more runs than `max-concurrent`; if one does, the runner lets
    /// them wait, in their order.
    @Test func runsAboveTheLimitOfTheRunnerWaitForAnother() throws {
        let fixture = try RunnerFixture()
        let requests = ["first", "second", "third", "fourth"].map {
            fixture.request(.shell("echo \($0); exec sleep 300"))
        }
        func place(_ isIt: (RunnerEvent) -> Bool) -> Int? { fixture.events.firstIndex(where: isIt) }
        func start(of request: RunRequest) -> Int? {
            place { if case .began(request.id, _, _) = $0 { true } else { false } }
        }
        func end(of request: RunRequest) -> Int? {
            place { if case .ended(request.id, _) = $0 { true } else { false } }
        }
        fixture.runner.limit(to: 2)
        fixture.runner.start(requests)
        fixture.wait(forLine: "first")
        fixture.wait(forLine: "second")
        // A waiting run is cancelled, and the next one takes its place.
        fixture.runner.end(requests[2].id, grace: .seconds(60))
        #expect(fixture.end(of: requests[2]).outcome == .stopped)
        fixture.runner.end(requests[0].id, grace: .seconds(60))
        fixture.wait(forLine: "fourth")
        #expect(start(of: requests[2]) == nil)
        #expect(try #require(start(of: requests[3])) > #require(end(of: requests[0])))
        // A higher limit takes effect at once, a lower one for further runs.
        let more = ["fifth", "sixth"].map { fixture.request(.shell("echo \($0); exec sleep 300")) }
        fixture.runner.start(more)
        fixture.runner.limit(to: 3)
        fixture.wait(forLine: "fifth")
        fixture.runner.limit(to: 1)
        fixture.runner.shutdown(grace: .zero)
        #expect(start(of: more[1]) == nil)
    }
}

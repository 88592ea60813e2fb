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

/// Cases in which the runner could hang or leave something behind. Each of these tests changes or
/// counts resources of the whole process, so each runs in its own process.
@Suite struct RobustnessTests {
    /// The process that starts the daemon may ignore SIGCHLD, and the kernel then discards the exit
    /// statuses of children.
    @Test func anIgnoredSIGCHLDLosesNoExitStatus() async {
        await #expect(processExitsWith: .success) {
            signal(SIGCHLD, SIG_IGN)
            let fixture = try RunnerFixture()
            #expect(fixture.shell("exit 3").outcome == .exited(3))
            fixture.runner.shutdown(grace: .zero)
        }
    }

    /// The limit of the runner does not apply to its jobs.
    @Test func theMemoryOfTheRunnerIsLimited_andThatOfItsJobsIsNot() async {
        await #expect(processExitsWith: .success) {
            let resource = __rlimit_resource_t(RLIMIT_DATA.rawValue)
            var before = rlimit()
            getrlimit(resource, &before)
            RunnerProcess.limitMemory()
            var own = rlimit()
            getrlimit(resource, &own)
            #expect(own.rlim_cur == min(before.rlim_cur, rlim_t(RunnerProcess.dataBytesMax)))
            #expect(own.rlim_max == before.rlim_max)
            let fixture = try RunnerFixture()
            let line = fixture.shell("cat /proc/self/limits").lines.first {
                $0.hasPrefix("Max data")
            }
            let soft = before.rlim_cur == .max ? "unlimited" : "\(before.rlim_cur)"
            #expect(line?.split(separator: " ").dropFirst(3).first == Substring(soft))
            fixture.runner.shutdown(grace: .zero)
        }
    }

    @Test func aRunThatOtherCodeReapedIsLost() async {
        await #expect(processExitsWith: .success) {
            let fixture = try RunnerFixture()
            signal(SIGCHLD, SIG_IGN)
            #expect(fixture.shell("exit 3").outcome == .lost(.runner))
            fixture.runner.shutdown(grace: .zero)
        }
    }

    @Test func thousandsOfRunsLeaveNoDescriptorNoThreadNoZombieAndNoRecord() async {
        await #expect(processExitsWith: .success) {
            func count(_ what: String) throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(what)").count
            }
            func runnerThreads() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count {
                    let name = try? String(
                        contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8)
                    return name == "timerd.runner\n"
                }
            }
            let fixture = try RunnerFixture()
            // Everything that is created once and kept exists by now.
            #expect(fixture.run(fixture.request(.arguments(["/bin/true"]))).outcome == .exited(0))
            let descriptors = try count("fd")
            // Dispatch creates and ends threads at any time; the runner has one thread.
            let threads = try runnerThreads()
            let isSoak = ProcessInfo.processInfo.environment["TIMERD_SOAK"] != nil
            let total = isSoak ? 100_000 : 2000
            let requests = (0..<total).map { number in
                fixture.request(.arguments(number % 10 == 0 ? ["/no/such"] : ["/bin/true"]))
            }
            fixture.runner.start(requests)
            fixture.wait(forEnds: total + 1)
            let failed = fixture.events.count {
                guard case .ended(_, let end) = $0, case .spawnFailed = end.outcome else {
                    return false
                }
                return true
            }
            #expect(failed == total / 10)
            #expect(try count("fd") == descriptors)
            #expect(try runnerThreads() == threads && threads == 1)
            var info = siginfo_t()
            let found = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT)
            #expect(found == -1 && errno == ECHILD, "a child is left: \(info)")
            for event in fixture.events {
                if case .ended(let run, _) = event { fixture.runner.forget(run) }
            }
            fixture.runner.shutdown(grace: .zero)
            #expect(fixture.markNames.isEmpty)
        }
    }

    /// New threads inherit the signal mask and the nice value of the thread that creates the
    /// runner, and the threads of dispatch queues change both; the daemon ignores signals.
    @Test func aRunInheritsNothingOfTheThreadThatCreatedTheRunner() async {
        await #expect(processExitsWith: .success) {
            for number in [SIGPIPE, SIGHUP, SIGTERM, SIGUSR1] { signal(number, SIG_IGN) }
            let done = DispatchSemaphore(value: 0)
            DispatchQueue(label: "starter", qos: .background).async {
                defer { done.signal() }
                var all = sigset_t()
                sigfillset(&all)
                pthread_sigmask(SIG_SETMASK, &all, nil)
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 7)
                do {
                    let fixture = try RunnerFixture()
                    let status = fixture.run(
                        fixture.request(.arguments(["/bin/cat", "/proc/self/status"]), in: "/"))
                    for set in ["SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"] {
                        #expect(status.lines.contains("\(set):\t0000000000000000"), "\(set)")
                    }
                    let stat = fixture.run(
                        fixture.request(.arguments(["/bin/cat", "/proc/self/stat"])))
                    let fields = stat.lines[0].split(separator: " ")
                    // Only root can lower it again.
                    #expect(fields[18] == (geteuid() == 0 ? "0" : "7"), "the nice value")
                    fixture.runner.shutdown(grace: .zero)
                } catch {
                    Issue.record(error)
                }
            }
            done.wait()
        }
    }

    @Test func aRunnerThatCannotBeCreatedLeavesNoDescriptor() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = 256
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            // All descriptors are in use, and then none, one and two are free: not enough,
            // whichever one is created first.
            var taken: [Int32] = []
            func fill() -> Int {
                let before = taken.count
                while case let next = dup(0), next >= 0 { taken.append(next) }
                return taken.count - before
            }
            for room in 0..<3 {
                // This includes descriptors that the test library has closed meanwhile.
                while fill() > 0 { usleep(10_000) }
                for _ in 0..<room { close(taken.removeLast()) }
                #expect(throws: Runner.Failure.self) { try Runner(registry: 0) { _ in } }
                #expect(fill() == room, "room for \(room)")
            }
        }
    }
}

/// What a shutdown does to runs that do not end by themselves.
@Suite struct ShutdownTests {
    @Test func aRunThatEndedByItselfJustBeforeIsNotReportedAsStopped() throws {
        // The handler blocks the runner's thread until the process has ended and the shutdown is
        // requested.
        let fixture = try RunnerFixture()
        let request = fixture.request(.arguments(["/bin/true"]))
        fixture.onBegan { pid in
            var info = siginfo_t()
            waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT)
            fixture.shutdownSoon(grace: .seconds(60))
        }
        #expect(fixture.run(request).outcome == .exited(0))
        fixture.runner.shutdown(grace: .zero)
    }

    /// SIGTERM ends a shell at once, and the program that it waits for may need the grace period.
    @Test func aMemberWhoseLeaderHasEndedHasTheWholeGracePeriod() throws {
        let fixture = try RunnerFixture()
        let request = fixture.request(
            .shell(
                "sh -c 'trap \"sleep 0.3; echo cleaned up; exit\" TERM; echo up; while :; do sleep 0.1; done'; :"
            ))
        fixture.runner.start([request])
        fixture.wait(forLine: "up")
        fixture.runner.shutdown(grace: .seconds(30))
        let end = fixture.end(of: request)
        #expect(end.outcome == .stopped)
        #expect(end.lines == ["up", "cleaned up"])
    }

    @Test func aMemberWhoseLeaderHasEndedAndThatIgnoresSIGTERMIsKilled() throws {
        let fixture = try RunnerFixture()
        let request = fixture.request(
            .shell("(trap '' TERM; exec sleep 300) >/dev/null 2>&1 & echo $!; wait"))
        fixture.runner.start([request])
        fixture.wait { $0.contains { if case .output = $0 { true } else { false } } }
        let member = try #require(fixture.lines(of: request).first.flatMap { Int32($0) })
        let pidfd = cspawn_open_process(member)
        defer { close(pidfd) }
        fixture.runner.shutdown(grace: .milliseconds(200))
        #expect(fixture.end(of: request).outcome == .stopped)
        // The pidfd is readable once the process has ended; a SIGKILL does not take a minute.
        var poller = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        #expect(poll(&poller, 1, 60_000) == 1, "process \(member) is still running")
    }
}

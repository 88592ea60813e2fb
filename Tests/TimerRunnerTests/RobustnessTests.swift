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

/// What could leave the runner waiting for ever, or leave something behind. Each of these tests changes or
/// counts what belongs to the whole process, so each has a process of its own.
@Suite struct RobustnessTests {
    /// Whoever starts the daemon may have SIGCHLD ignored, and the kernel then throws away how children end.
    @Test func anIgnoredSIGCHLDLosesNoEnd() async {
        await #expect(processExitsWith: .success) {
            signal(SIGCHLD, SIG_IGN)
            let bench = try Bench()
            #expect(bench.shell("exit 3").outcome == .exited(3))
            bench.runner.shutdown(grace: .zero)
        }
    }

    /// Its limit is not theirs.
    @Test func theRunnersOwnMemoryIsLimited_andThatOfItsJobsIsNot() async {
        await #expect(processExitsWith: .success) {
            let resource = __rlimit_resource_t(RLIMIT_DATA.rawValue)
            var before = rlimit()
            getrlimit(resource, &before)
            RunnerProcess.limitMemory()
            var own = rlimit()
            getrlimit(resource, &own)
            #expect(own.rlim_cur == min(before.rlim_cur, rlim_t(RunnerProcess.dataBytesMax)))
            #expect(own.rlim_max == before.rlim_max)
            let bench = try Bench()
            let line = bench.shell("cat /proc/self/limits").lines.first { $0.hasPrefix("Max data") }
            let soft = before.rlim_cur == .max ? "unlimited" : "\(before.rlim_cur)"
            #expect(line?.split(separator: " ").dropFirst(3).first == Substring(soft))
            bench.runner.shutdown(grace: .zero)
        }
    }

    @Test func anEndThatSomebodyElseTookIsLost() async {
        await #expect(processExitsWith: .success) {
            let bench = try Bench()
            signal(SIGCHLD, SIG_IGN)
            #expect(bench.shell("exit 3").outcome == .lost(.runner))
            bench.runner.shutdown(grace: .zero)
        }
    }

    @Test func thousandsOfRunsLeaveNoDescriptorNoThreadNoZombieAndNoMark() async {
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
            let bench = try Bench()
            // What is made once and kept is made by now.
            #expect(bench.run(bench.request(.arguments(["/bin/true"]))).outcome == .exited(0))
            let descriptors = try count("fd")
            // Dispatch makes and ends threads as it likes; the runner has the one.
            let threads = try runnerThreads()
            let isSoak = ProcessInfo.processInfo.environment["TIMERD_SOAK"] != nil
            let total = isSoak ? 100_000 : 2000
            let requests = (0..<total).map { number in
                bench.request(.arguments(number % 10 == 0 ? ["/no/such"] : ["/bin/true"]))
            }
            bench.runner.start(requests)
            bench.wait(forEnds: total + 1)
            let failed = bench.events.count {
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
            for event in bench.events {
                if case .ended(let run, _) = event { bench.runner.forget(run) }
            }
            bench.runner.shutdown(grace: .zero)
            #expect(bench.markNames.isEmpty)
        }
    }

    /// The thread that makes the runner hands its mask and its nice value on, and dispatch's queues have
    /// both; the daemon ignores signals.
    @Test func aRunInheritsNothingOfTheThreadThatMadeTheRunner() async {
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
                    let bench = try Bench()
                    let status = bench.run(
                        bench.request(.arguments(["/bin/cat", "/proc/self/status"]), in: "/"))
                    for set in ["SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"] {
                        #expect(status.lines.contains("\(set):\t0000000000000000"), "\(set)")
                    }
                    let stat = bench.run(
                        bench.request(.arguments(["/bin/cat", "/proc/self/stat"])))
                    let fields = stat.lines[0].split(separator: " ")
                    // Who is not root cannot lower it again.
                    #expect(fields[18] == (geteuid() == 0 ? "0" : "7"), "the nice value")
                    bench.runner.shutdown(grace: .zero)
                } catch {
                    Issue.record(error)
                }
            }
            done.wait()
        }
    }

    @Test func aRunnerThatCannotBeLeavesNoDescriptor() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = 256
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            // Every number taken, and then room for none, one and two descriptors: not enough, whichever
            // is asked for first.
            var taken: [Int32] = []
            func fill() -> Int {
                let before = taken.count
                while case let next = dup(0), next >= 0 { taken.append(next) }
                return taken.count - before
            }
            for room in 0..<3 {
                // Also what the test library has closed since.
                while fill() > 0 { usleep(10_000) }
                for _ in 0..<room { close(taken.removeLast()) }
                #expect(throws: Runner.Failure.self) { try Runner(registry: 0) { _ in } }
                #expect(fill() == room, "room for \(room)")
            }
        }
    }
}

/// What stopping does to runs that would rather go on.
@Suite struct ShutdownTests {
    @Test func aRunThatEndedByItselfJustBeforeIsNotCalledStopped() throws {
        // The handler, which the runner waits in, holds it until the process has ended and the shutdown
        // is asked for.
        let bench = try Bench()
        let request = bench.request(.arguments(["/bin/true"]))
        bench.onBegan { pid in
            var info = siginfo_t()
            waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT)
            bench.shutdownSoon(grace: .seconds(60))
        }
        #expect(bench.run(request).outcome == .exited(0))
        bench.runner.shutdown(grace: .zero)
    }

    /// A shell dies of SIGTERM at once, and the program it waits for may need its grace.
    @Test func aMemberThatOutlivesItsLeaderHasTheWholeGrace() throws {
        let bench = try Bench()
        let request = bench.request(
            .shell(
                "sh -c 'trap \"sleep 0.3; echo cleaned up; exit\" TERM; echo up; while :; do sleep 0.1; done'; :"
            ))
        bench.runner.start([request])
        bench.wait(forLine: "up")
        bench.runner.shutdown(grace: .seconds(30))
        let end = bench.end(of: request)
        #expect(end.outcome == .stopped)
        #expect(end.lines == ["up", "cleaned up"])
    }

    @Test func aMemberThatOutlivesItsLeaderAndIgnoresSIGTERMIsKilledInTheEnd() throws {
        let bench = try Bench()
        let request = bench.request(
            .shell("(trap '' TERM; exec sleep 300) >/dev/null 2>&1 & echo $!; wait"))
        bench.runner.start([request])
        bench.wait { $0.contains { if case .output = $0 { true } else { false } } }
        let member = try #require(bench.lines(of: request).first.flatMap { Int32($0) })
        let pidfd = cspawn_open_process(member)
        defer { close(pidfd) }
        bench.runner.shutdown(grace: .milliseconds(200))
        #expect(bench.end(of: request).outcome == .stopped)
        // Readable once it has ended; a SIGKILL needs no minute.
        var poller = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        #expect(poll(&poller, 1, 60_000) == 1, "process \(member) lives on")
    }
}

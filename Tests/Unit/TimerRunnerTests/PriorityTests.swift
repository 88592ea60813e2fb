// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// The priorities of the processes of a job according to the kernel.
@Suite struct PriorityTests {
    /// Prints the I/O class, the number of the policy with its priority (proc_pid_stat(5)), the
    /// nice value and the OOM score adjustment.
    private static let probe = """
        ionice; awk '{ print $41, $40, $19 }' /proc/self/stat; cat /proc/self/oom_score_adj
        """

    static func has(_ capability: String) -> Bool {
        var set = CapabilitySet()
        let text = ProcFile.text("/proc/self/status") ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("CapEff:\t") }
        let own = line.flatMap { UInt64($0.dropFirst("CapEff:\t".count), radix: 16) } ?? 0
        return set.insert(capability) && own & set.bits != 0
    }

    private static let mayRaise = has("CAP_SYS_NICE")
    private static let users: [String?] = geteuid() == 0 ? [nil, "nobody"] : [nil]

    private func lines(
        _ user: String?, on fixture: RunnerFixture, _ change: (inout Execution) -> Void = { _ in }
    ) -> [String] {
        let request = fixture.request(.shell(Self.probe), in: "/") {
            $0.user = user
            change(&$0)
        }
        let end = fixture.run(request)
        #expect(end.outcome == .exited(0), "\(end.errors)")
        return end.lines
    }

    @Test(arguments: users)
    func withoutTheKeysARunHasTheDefaultsOfTheKernel(user: String?) throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        #expect(lines(user, on: fixture) == ["none: prio 0", "0 0 0", "0"])
    }

    @Test(arguments: users)
    func aRunHasTheDeclaredPriorities(user: String?) throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let batch = lines(user, on: fixture) {
            $0.nice = 7
            $0.priorities.io = .bestEffort(2)
            $0.priorities.cpu = .batch
            $0.priorities.oomScore = 321
        }
        #expect(batch == ["best-effort: prio 2", "3 0 7", "321"])
        let idle = lines(user, on: fixture) {
            $0.priorities.io = .idle
            $0.priorities.cpu = .idle
            $0.priorities.oomScore = 0
        }
        #expect(idle == ["idle", "5 0 0", "0"])
    }

    /// With and without a start that waits for an instant, for which the slack is the least.
    @Test(arguments: [nil, 700_000], [0, 1])
    func aRunHasTheDeclaredTimerSlack(slack: Int?, notBefore: Int64) throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        var request = fixture.request(.shell("cat /proc/self/timerslack_ns"), in: "/") {
            if let slack { $0.timerSlack = slack }
        }
        request.notBefore = AwakeInstant(nanoseconds: notBefore)
        #expect(fixture.run(request).lines == ["\(slack ?? Execution.standard.timerSlack)"])
    }

    @Test(.enabled(if: mayRaise, "needs CAP_SYS_NICE"), arguments: users)
    func aRunHasTheDeclaredRealtimePriorities(user: String?) throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let fifo = lines(user, on: fixture) {
            $0.priorities.io = .realtime(7)
            $0.priorities.cpu = .fifo(1)
        }
        #expect(fifo == ["realtime: prio 7", "1 1 0", "0"])
        // No capability that the job keeps is needed for it.
        let rr = lines(user, on: fixture) {
            $0.priorities.io = .realtime(0)
            $0.priorities.cpu = .rr(99)
            $0.confinement.noNewPrivileges = true
            $0.confinement.capabilities = CapabilitySet()
        }
        #expect(rr == ["realtime: prio 0", "2 99 0", "0"])
    }

    @Test(arguments: users)
    func aLowOOMScoreNeedsAPrivilege_andTheErrorNamesIt(user: String?) throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = fixture.request(.arguments(["cat", "/proc/self/oom_score_adj"]), in: "/") {
            $0.user = user
            $0.priorities.oomScore = -1000
        }
        let end = fixture.run(request)
        if Self.has("CAP_SYS_RESOURCE") {
            #expect(end.lines == ["-1000"])
        } else {
            #expect(
                end.outcome.description == "spawn-failed(EACCES, set the OOM score -1000)")
        }
    }

    /// Without the privilege, the step that failed is named, as for nice.
    @Test(.enabled(if: mayRaise, "there must be a privilege to lose"))
    func aPriorityThatMayNotBeSetFailsTheRun() async {
        await #expect(processExitsWith: .success) {
            // PR_CAPBSET_DROP of CAP_SYS_ADMIN and CAP_SYS_NICE, which become root's own limits when
            // it executes a program; and the capabilities of this process, without these two.
            for capability in [21, 23] as [Int32] {
                #expect(Native.prctl(24, UInt(capability)) == 0)
            }
            try PriorityTests.dropCapabilities([21, 23])
            let fixture = try RunnerFixture()
            defer { fixture.runner.shutdown(grace: .zero) }
            for (change, outcome) in PriorityTests.refused {
                let end = fixture.shell("exit 3") { change(&$0) }
                #expect(end.outcome.description == outcome)
            }
        }
    }

    private static let refused: [(@Sendable (inout Execution) -> Void, String)] = [
        (
            { $0.priorities.io = .realtime(3) },
            "spawn-failed(EPERM, set the I/O priority realtime 3)"
        ),
        ({ $0.priorities.cpu = .fifo(50) }, "spawn-failed(EPERM, set the CPU policy fifo 50)"),
        ({ $0.priorities.cpu = .rr(1) }, "spawn-failed(EPERM, set the CPU policy rr 1)"),
        ({ $0.priorities.cpu = .batch }, "exited(3)"),
        ({ $0.priorities.io = .idle }, "exited(3)"),
    ]

    /// Removes capabilities from the effective and the permitted set of the calling thread, which
    /// the threads that it creates inherit.
    static func dropCapabilities(_ numbers: [Int]) throws {
        // _LINUX_CAPABILITY_VERSION_3; for each half the effective, permitted and inheritable set.
        var head: [UInt32] = [0x2008_0522, 0]
        var sets = [UInt32](repeating: 0, count: 6)
        #expect(Native.capabilities("capget", &head, &sets) == 0)
        for number in numbers {
            for set in 0..<2 { sets[number / 32 * 3 + set] &= ~(1 << UInt32(number % 32)) }
        }
        #expect(Native.capabilities("capset", &head, &sets) == 0)
    }

    /// What the runner itself has does not reach the runs, except what they may not change.
    @Test func aRunInheritsNoPriorityOfTheRunner() async {
        await #expect(processExitsWith: .success) {
            try "200".write(toFile: "/proc/self/oom_score_adj", atomically: false, encoding: .utf8)
            // SCHED_BATCH, for this thread and the threads that it creates.
            var parameter = sched_param()
            #expect(sched_setscheduler(0, 3, &parameter) == 0)
            let fixture = try RunnerFixture()
            defer { fixture.runner.shutdown(grace: .zero) }
            for user in PriorityTests.users {
                let lines = PriorityTests().lines(user, on: fixture)
                #expect(lines == ["none: prio 0", "0 0 0", "0"])
                let declared = PriorityTests().lines(user, on: fixture) {
                    $0.priorities.cpu = .idle
                    $0.priorities.oomScore = 1000
                }
                #expect(declared == ["none: prio 0", "5 0 0", "1000"])
            }
        }
    }
}

/// What a run reads from its standard input.
@Suite struct StandardInputTests {
    private static let users: [String?] = geteuid() == 0 ? [nil, "nobody"] : [nil]

    private static let texts = [
        "a", "one\ntwo\n", "ä\u{1F600}%\\\n", String(repeating: "0123456789abcdef", count: 4096),
    ]

    @Test(arguments: users, texts.indices)
    func aRunReadsExactlyTheText_thenTheEnd(user: String?, index: Int) throws {
        let text = Self.texts[index]
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = fixture.request(
            .shell("cat | wc -c; wc -c </dev/stdin; cat; echo $?"), in: "/"
        ) {
            $0.user = user
            $0.stdin = text
        }
        let sum = fixture.request(.arguments(["cksum"]), in: "/") { $0.stdin = text }
        fixture.runner.start([request, sum])
        let end = fixture.end(of: request)
        #expect(end.outcome == .exited(0))
        // What was read does not come again, except for a program that opens /dev/stdin.
        let count = "\(text.utf8.count)"
        #expect(end.lines == [count, count, "0"], "\(end.errors)")
        #expect(fixture.end(of: sum).lines == [Self.sum(of: text)])
    }

    private static func sum(of text: String) -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/cksum")
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        guard (try? process.run()) != nil else { return "?" }
        // At most the 64 KiB that a pipe takes.
        input.fileHandleForWriting.write(Data(text.utf8))
        try? input.fileHandleForWriting.close()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Runs that have different texts at the same time, and one that has none.
    @Test func eachRunHasItsOwnText() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let requests = (0..<200).map { number in
            fixture.request(.arguments(["cat"])) {
                if number % 3 != 0 { $0.stdin = "text \(number)" }
            }
        }
        fixture.runner.start(requests)
        for (number, request) in requests.enumerated() {
            let expected = number % 3 == 0 ? [] : ["text \(number)"]
            #expect(fixture.end(of: request).lines == expected)
        }
    }

    /// A job that never reads its input neither hangs nor fails, and none can change the text.
    @Test func aTextNeedNotBeRead_andCannotBeChanged() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let text = String(repeating: "x", count: 64 << 10)
        for line in ["exit 3", "exec <&-; exit 3", "echo y 1<>/dev/stdin && exit 4; exit 3"] {
            let end = fixture.shell(line) { $0.stdin = text }
            #expect(end.outcome == .exited(3), "\(line): \(end.errors)")
        }
    }

    /// In a process of its own, in which no other test starts runs.
    @Test func theRunnerKeepsNoDescriptor_andAJobHasNoOther() async {
        await #expect(processExitsWith: .success) {
            let fixture = try RunnerFixture()
            defer { fixture.runner.shutdown(grace: .zero) }
            let end = fixture.shell("ls /proc/self/fd") { $0.stdin = "x" }
            // The fourth is that of the directory.
            #expect(end.lines == ["0", "1", "2", "3"])
            let failed = fixture.run(fixture.request(.arguments(["/no/such"])) { $0.stdin = "x" })
            #expect(failed.outcome.description == "spawn-failed(ENOENT, exec /no/such)")
            #expect(fixture.shell("exit 3").outcome == .exited(3))
            let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            let paths = files.compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
            }
            #expect(paths.count > 5 && !paths.contains { $0.contains("timerd-stdin") }, "\(paths)")
        }
    }
}

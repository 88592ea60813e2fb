// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// The resource limits of a run at the ends of their ranges.
@Suite struct ResourceLimitTests {
    private static let users: [String?] = geteuid() == 0 ? [nil, "nobody"] : [nil]

    /// Hard limits below those that a process usually has.
    private static let hard: [(Execution.Limit, Int32, UInt64)] = [
        (.as, Int32(RLIMIT_AS.rawValue), 1 << 45), (.core, Int32(RLIMIT_CORE.rawValue), 1 << 20),
        (.cpu, Int32(RLIMIT_CPU.rawValue), 36_000), (.data, Int32(RLIMIT_DATA.rawValue), 1 << 40),
        (.fsize, Int32(RLIMIT_FSIZE.rawValue), 1 << 30),
        (.memlock, Int32(__RLIMIT_MEMLOCK.rawValue), 1 << 16),
        (.nofile, Int32(RLIMIT_NOFILE.rawValue), 900),
        (.nproc, Int32(__RLIMIT_NPROC.rawValue), 5000),
        (.rss, Int32(__RLIMIT_RSS.rawValue), 1 << 40),
        (.stack, Int32(RLIMIT_STACK.rawValue), 64 << 20),
    ]

    private static func lowerHardLimits() {
        for (_, number, most) in hard {
            var limit = rlimit()
            #expect(getrlimit(__rlimit_resource_t(UInt32(number)), &limit) == 0)
            limit.rlim_max = min(limit.rlim_max, rlim_t(most))
            limit.rlim_cur = min(limit.rlim_cur, limit.rlim_max)
            #expect(setrlimit(__rlimit_resource_t(UInt32(number)), &limit) == 0)
        }
    }

    /// The soft and the hard limit of a run that declares this one.
    private static func limit(
        _ limit: Execution.Limit, _ value: UInt64?, _ user: String?, on fixture: RunnerFixture
    ) -> String {
        let show = "prlimit --\(limit.rawValue) -o SOFT,HARD --noheadings --raw"
        let request = fixture.request(.shell(show), in: "/") {
            $0.user = user
            $0.limits = [limit: value]
        }
        let end = fixture.run(request)
        return end.outcome == .exited(0) ? end.lines.joined() : end.outcome.description
    }

    /// Also for root, if it may not raise a hard limit, as in most containers.
    @Test func withoutAPrivilegeALimitIsTheHighestPossible() async {
        await #expect(processExitsWith: .success) {
            ResourceLimitTests.lowerHardLimits()
            // CAP_SYS_RESOURCE.
            try PriorityTests.dropCapabilities([24])
            let fixture = try RunnerFixture()
            defer { fixture.runner.shutdown(grace: .zero) }
            for user in ResourceLimitTests.users {
                for (limit, number, _) in ResourceLimitTests.hard {
                    // A test that runs in a process of its own has no core dumps.
                    var own = rlimit()
                    getrlimit(__rlimit_resource_t(UInt32(number)), &own)
                    let most = UInt64(own.rlim_max)
                    for value in [nil, most + 1, most, most / 2] as [UInt64?] {
                        let expected = min(value ?? .max, most)
                        let found = ResourceLimitTests.limit(limit, value, user, on: fixture)
                        #expect(
                            found == "\(expected) \(expected)",
                            "\(limit) = \(value as Any) as \(user ?? "-")")
                    }
                }
            }
        }
    }

    @Test(
        .enabled(if: PriorityTests.has("CAP_SYS_RESOURCE"), "needs the privilege to raise limits"))
    func withThePrivilegeNoLimitIsTooHigh_exceptThatOfTheKernel() async throws {
        await #expect(processExitsWith: .success) {
            ResourceLimitTests.lowerHardLimits()
            let text = try #require(ProcFile.text("/proc/sys/fs/nr_open"))
            let most = try #require(UInt64(text.prefix { $0.isNumber }))
            let fixture = try RunnerFixture()
            defer { fixture.runner.shutdown(grace: .zero) }
            for user in ResourceLimitTests.users {
                for (limit, _, hard) in ResourceLimitTests.hard {
                    let all = ResourceLimitTests.limit(limit, nil, user, on: fixture)
                    let highest = limit == .nofile ? "\(most)" : "unlimited"
                    #expect(all == "\(highest) \(highest)", "\(limit) as \(user ?? "-")")
                    let raised = ResourceLimitTests.limit(limit, hard + 1, user, on: fixture)
                    #expect(raised == "\(hard + 1) \(hard + 1)", "\(limit) as \(user ?? "-")")
                }
                let above = ResourceLimitTests.limit(.nofile, most + 1, user, on: fixture)
                #expect(above == "\(most) \(most)")
            }
        }
    }

    /// What `timerd check` says of them.
    @Test(arguments: users) func aLimitOfZeroIsSet(user: String?) throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        for limit in [Execution.Limit.core, .fsize, .memlock, .rss] {
            #expect(Self.limit(limit, 0, user, on: fixture) == "0 0", "\(limit)")
        }
        for limit in [Execution.Limit.as, .data, .stack] {
            let found = Self.limit(limit, 0, user, on: fixture)
            #expect(found.hasPrefix("signalled(SIG"), "\(limit): \(found)")
        }
        #expect(Self.limit(.nofile, 0, user, on: fixture) == "exited(127)")
        let busy = fixture.request(.shell("while :; do :; done"), in: "/") {
            $0.user = user
            $0.limits = [.cpu: .some(0)]
        }
        #expect(fixture.run(busy).outcome == .signalled("SIGKILL"))
    }
}

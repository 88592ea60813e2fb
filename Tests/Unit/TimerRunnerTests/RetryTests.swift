// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// Runs that cannot start because something is used up: they wait, and start when it is free again.
@Suite(.serialized) struct RetryTests {
    private static func limitOpenFiles(to count: rlim_t) {
        var limit = rlimit(rlim_cur: count, rlim_max: count)
        #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    }

    private static func starts(_ fixture: RunnerFixture) -> Int {
        fixture.events.count { if case .began = $0 { true } else { false } }
    }

    // MARK: - Descriptors

    @Test func withFewDescriptorsRunsWaitForAPlace() async {
        await #expect(processExitsWith: .success) {
            RetryTests.limitOpenFiles(to: 256)
            let fixture = try RunnerFixture()
            defer { fixture.runner.shutdown(grace: .zero) }
            #expect((30...70).contains(fixture.runner.placesMax))
            let requests = (0..<200).map { _ in fixture.request(.shell("echo fine; sleep 0.2")) }
            fixture.runner.start(requests)
            for request in requests {
                let end = fixture.end(of: request)
                #expect(end.outcome == .exited(0) && end.lines == ["fine"], "\(end)")
            }
            #expect(RetryTests.starts(fixture) == 200 && fixture.ends == 200)
        }
    }

    /// Daemons that runs leave behind have their pipes open.
    @Test func withFewDescriptorsTheOutputOfEndedRunsTakesNotAllPlaces() async {
        await #expect(processExitsWith: .success) {
            RetryTests.limitOpenFiles(to: 256)
            let fixture = try RunnerFixture()
            defer { fixture.runner.shutdown(grace: .zero) }
            for _ in 0..<80 {
                let end = fixture.shell("sleep 20 & echo fine")
                #expect(end.outcome == .exited(0) && end.lines == ["fine"], "\(end)")
            }
        }
    }

    /// Whatever else has the descriptors, such as the sessions of many runs.
    @Test func aRunWithoutADescriptorIsTriedAgain_andFailsInTheEnd() async {
        await #expect(processExitsWith: .success) {
            RetryTests.limitOpenFiles(to: 256)
            let fixture = try RunnerFixture()
            defer { fixture.runner.shutdown(grace: .zero) }
            var taken: [Int32] = []
            while case let next = open("/dev/null", O_RDONLY), next >= 0 { taken.append(next) }
            let late = fixture.shell("true")
            #expect(late.outcome.description == "spawn-failed(EMFILE, make a pipe, for 5 seconds)")
            let request = fixture.request(.arguments(["true"]))
            fixture.runner.start([request])
            usleep(200_000)
            #expect(fixture.ends == 1)
            for each in taken { close(each) }
            #expect(fixture.end(of: request).outcome == .exited(0))
        }
    }

    @Test(arguments: [
        (rlim_t(65_536), 20, 21_812), (1024, 20, 308), (256, 60, 38), (64, 40, 1), (20, 20, 1),
    ])
    func thePlacesAreWhatTheLimitAllows(limit: rlim_t, open: Int, places: Int) {
        #expect(RunPlaces.max(limit: Int(limit), open: open) == places)
    }

    @Test func theServerWarnsIfMoreRunsAreAllowedThanPossible() async {
        await #expect(processExitsWith: .success) {
            RetryTests.limitOpenFiles(to: 256)
            let most = Mutex(200)
            let fixture = try ServerFixture { settings in
                settings.didApply = {
                    var rules = RunnerServer.RunRules()
                    rules.activeMax = most.withLock(\.self)
                    return rules
                }
            }
            func warnings() -> [String] {
                fixture.configuration.said.withLock { $0 }.filter { $0.contains("open files") }
            }
            fixture.server.refresh()
            wait { warnings().count == 1 }
            #expect(
                warnings().first?.hasPrefix("the limit of open files, 256, is enough for ") == true)
            #expect(warnings().first?.contains("max-concurrent is 200: further runs wait") == true)
            // It is said once, and again after the limit was right meanwhile.
            for (value, count) in [(200, 1), (10, 1), (100, 2)] {
                most.withLock { $0 = value }
                let reads = fixture.configuration.reads.withLock(\.self)
                fixture.server.refresh()
                fixture.waitForReadings(reads + 1)
                wait { warnings().count >= count }
                #expect(warnings().count == count)
            }
            fixture.stop()
        }
    }

    // MARK: - Processes of a user

    private static let isRoot = geteuid() == 0

    /// The user has no other processes on a machine for tests. The kernel compares the limit with the
    /// processes that the user has before the run, when the run becomes that user.
    @Test(.enabled(if: isRoot && getpwnam("irc") != nil, "only root can become another user"))
    func aRunWaitsForTheOtherProcessesOfItsUser() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        func request(_ line: String, limit: UInt64?) -> RunRequest {
            fixture.request(.shell(line), in: "/") {
                $0.user = "irc"
                if let limit { $0.limits = [.nproc: .some(limit)] }
            }
        }
        let first = request("echo up; exec sleep 300", limit: nil)
        fixture.runner.start([first])
        fixture.wait(forLine: "up")
        let second = request("echo second", limit: 0)
        fixture.runner.start([second])
        usleep(300_000)
        #expect(fixture.ends == 0)
        // A signal that arrives meanwhile reaches its program.
        let third = request("trap 'echo got; exit 5' USR1; while :; do :; done", limit: 0)
        fixture.runner.start([third])
        fixture.runner.signal(third.id, SIGUSR1)
        let fourth = request("echo never", limit: 0)
        fixture.runner.start([fourth])
        usleep(300_000)
        fixture.runner.end(fourth.id, grace: .seconds(60))
        #expect(fixture.end(of: fourth).outcome == .stopped)
        fixture.runner.end(third.id, grace: .seconds(60))
        #expect(fixture.end(of: third).outcome == .stopped)
        fixture.runner.end(first.id, grace: .seconds(60))
        let end = fixture.end(of: second)
        #expect(end.outcome == .exited(0) && end.lines == ["second"])
        // Its record is that of one start, and it began once.
        let began = fixture.events.count {
            if case .began(second.id, _, _) = $0 { true } else { false }
        }
        #expect(began == 1 && fixture.markNames.contains(second.id.description))
    }

    @Test(.enabled(if: isRoot && getpwnam("irc") != nil, "only root can become another user"))
    func aRunWithoutAProcessFailsWithTheReason() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let other = fixture.request(.shell("echo up; exec sleep 300"), in: "/") { $0.user = "irc" }
        fixture.runner.start([other])
        fixture.wait(forLine: "up")
        let clock = ContinuousClock()
        var end: RunnerFixture.End?
        let took = clock.measure {
            end = fixture.run(
                fixture.request(.arguments(["/bin/true"]), in: "/") {
                    $0.user = "irc"
                    $0.limits = [.nproc: .some(0)]
                })
        }
        #expect(
            end?.outcome.description
                == "spawn-failed(EAGAIN, exec /bin/true: irc has as many processes as the limit nproc allows, for 5 seconds)"
        )
        #expect(took > .seconds(4) && took < .seconds(60), "\(took)")
        #expect(Self.starts(fixture) == 1)
    }

    /// Nothing is left of a run that waits when the runner is shut down: the next one may start it. One that is being
    /// tried has not failed: it is the same with it, or its process is stopped.
    @Test(.enabled(if: isRoot && getpwnam("irc") != nil, "only root can become another user"))
    func aShutdownDropsARunThatWaits_orIsBeingTried() throws {
        for tries in 0..<6 { try shutDown(afterTries: tries) }
    }

    /// It may be at any point of the next try then.
    private func shutDown(afterTries tries: Int) throws {
        let fixture = try RunnerFixture()
        let other = fixture.request(.shell("echo up; exec sleep 300"), in: "/") { $0.user = "irc" }
        fixture.runner.start([other])
        fixture.wait(forLine: "up")
        let request = fixture.request(.arguments(["/bin/true"]), in: "/") {
            $0.user = "irc"
            $0.limits = [.nproc: .some(0)]
        }
        fixture.runner.start([request])
        for number in 0..<tries { _ = fixture.shell("exit \(number)") }
        fixture.runner.shutdown(grace: .zero)
        let outcomes = fixture.events.compactMap { event in
            if case .ended(request.id, let end) = event { end.outcome } else { nil }
        }
        #expect(outcomes.isEmpty || outcomes == [.stopped])
        #expect(fixture.markNames.contains(request.id.description) == !outcomes.isEmpty)
    }

    // MARK: - Credentials

    /// Root in a container often cannot mount.
    private static let canMount: Bool = {
        let folder = "/tmp/timerd-store-\(UUID().uuidString)"
        mkdir(folder, 0o700)
        defer { rmdir(folder) }
        guard Native.mount("tmpfs", folder, "tmpfs", 0, "") == 0 else { return false }
        Native.detach(folder)
        return true
    }()

    @Test(.enabled(if: canMount, "nothing can be mounted"))
    func aRunWaitsForRoomForItsCredentials() throws {
        let store = "/tmp/timerd-store-\(UUID().uuidString)"
        mkdir(store, 0o711)
        try #require(Native.mount("tmpfs", store, "tmpfs", 0, "size=64k,mode=711") == 0)
        defer {
            Native.detach(store)
            rmdir(store)
        }
        let secret = "\(store)-secret"
        try String(repeating: "s", count: 20_000).write(
            toFile: secret, atomically: false, encoding: .utf8)
        chmod(secret, 0o600)
        defer { unlink(secret) }
        var options = Runner.Options()
        options.credentials = store
        let fixture = try RunnerFixture(options: options)
        defer { fixture.runner.shutdown(grace: .zero) }
        // The tmpfs is full, as with the credentials of other runs.
        let full = open("\(store)/.full", O_WRONLY | O_CREAT, 0o600)
        let zeros = [UInt8](repeating: 0, count: 4096)
        while write(full, zeros, zeros.count) > 0 {}
        close(full)
        func request() -> RunRequest {
            fixture.request(.shell("wc -c <$CREDENTIALS_DIRECTORY/a"), in: "/") {
                $0.credentials = ["a": secret]
            }
        }
        let failed = fixture.run(request()).outcome.description
        #expect(failed.hasPrefix("spawn-failed(ENOSPC, ") && failed.hasSuffix(", for 5 seconds)"))
        let late = request()
        fixture.runner.start([late])
        usleep(200_000)
        #expect(fixture.ends == 1)
        unlink("\(store)/.full")
        let end = fixture.end(of: late)
        #expect(end.outcome == .exited(0) && end.lines == ["20000"], "\(end)")
    }
}

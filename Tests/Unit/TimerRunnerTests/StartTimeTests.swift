// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// Runs that are ordered before they are due: the process is made at once, and its program starts at
/// its time.
@Suite struct StartTimeTests {
    private func request(
        _ fixture: RunnerFixture, _ line: String, in left: Duration
    ) -> RunRequest {
        var request = fixture.request(.shell(line))
        request.notBefore = AwakeInstant(nanoseconds: RunnerClock.awake()) + left
        return request
    }

    private func began(_ request: RunRequest, _ fixture: RunnerFixture) -> WallInstant? {
        for case .began(request.id, _, let instant) in fixture.events { return instant }
        return nil
    }

    @Test func aProgramStartsNoEarlierThanItsTime_andCountsFromIt() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        for milliseconds in [1, 20, 300] {
            let request = request(fixture, "date +%s%6N", in: .milliseconds(milliseconds))
            // A microsecond less, because the clocks are not read at once.
            let due =
                RunnerClock.wall()
                + (request.notBefore - AwakeInstant(nanoseconds: RunnerClock.awake()))
                - .microseconds(1)
            let end = fixture.run(request)
            let started = WallInstant(
                microsecondsSinceEpoch: try #require(end.lines.first.flatMap { Int64($0) }))
            #expect(started >= due)
            let began = try #require(self.began(request, fixture))
            #expect(began >= due && began <= started + .microseconds(1))
        }
    }

    @Test(arguments: [Duration.seconds(3600), .seconds(-3600), .seconds(1 << 40)])
    func aTimeThatIsOfAnotherClockIsNotWaitedFor(_ left: Duration) throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        #expect(fixture.run(request(fixture, "echo up", in: left)).lines == ["up"])
    }

    /// It ends before it is due, but is dated when it was due: the scheduler refuses a run that took
    /// less than no time.
    @Test func aRunThatWaitsForItsTimeCanBeStopped() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = request(fixture, "exec sleep 300", in: .milliseconds(900))
        fixture.runner.start([request])
        fixture.runner.end(request.id, grace: .seconds(60))
        wait(for: request, .stopped, fixture)
    }

    @Test func aSetUpThatFailsBeforeIsDatedWhenItWasDue() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        var request = request(fixture, "true", in: .milliseconds(900))
        request.definition.workingDirectory = "/no/such/folder"
        fixture.runner.start([request])
        wait(for: request, .spawnFailed(errno: "ENOENT", what: "chdir /no/such/folder"), fixture)
    }

    private func wait(for request: RunRequest, _ outcome: RunOutcome, _ fixture: RunnerFixture) {
        let due =
            RunnerClock.wall() - .milliseconds(1)
            + (request.notBefore - AwakeInstant(nanoseconds: RunnerClock.awake()))
        let end = fixture.end(of: request)
        #expect(end.outcome == outcome && end.usage.elapsed >= .zero)
        for case .ended(request.id, let end) in fixture.events { #expect(end.at >= due) }
    }

    /// To wait exactly, the process changes its timer slack.
    @Test func theProgramHasTheTimerSlackOfAnyOther() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let line = "cat /proc/self/timerslack_ns"
        let other = fixture.shell(line).lines
        #expect(fixture.run(request(fixture, line, in: .milliseconds(50))).lines == other)
        #expect(other.count == 1)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import Testing
import TimerControl
import TimerCore
import TimerDaemon
import TimerRecording
import TimerStore

/// The pauses that ended are in the history.
@Suite struct PauseHistoryTests {
    private func job(_ name: String, paused: Bool = false) -> Job {
        var job = Job(
            name: Job.Name(name)!, command: .shell("true"), schedule: .every(.seconds(3600)))
        job.paused = paused
        return job
    }

    private func pauses(_ fixture: LoopFixture) async throws -> [PastPause] {
        let result = await withCheckedContinuation { continuation in
            fixture.recorder.read { store throws(StoreError) in
                try store.pauses(of: nil, since: nil, until: nil, limit: 100)
            } _: {
                continuation.resume(returning: $0)
            }
        }
        return try result.get()
    }

    private func command(
        _ fixture: LoopFixture, _ verb: JobCommand.Verb, _ job: String,
        _ until: JobCommand.PauseEnd? = nil
    ) async {
        await withCheckedContinuation { continuation in
            fixture.loop.later {
                let command = JobCommand(
                    verb, Job.Name(job)!, by: .user(verb == .pause ? "ann" : "eve"),
                    note: verb == .pause ? "why" : nil, until: until)
                $0.handle(command) { _, _ in continuation.resume() }
            }
        }
    }

    @Test func howeverAPauseEnds_itIsInTheHistory() async throws {
        let fixture = try LoopFixture([
            job("resumed"), job("stopped"), job("by-itself"), job("configured", paused: true),
            job("goes-on"),
        ])
        await fixture.waitUntilReady()
        await command(fixture, .pause, "goes-on")
        await command(fixture, .pause, "resumed")
        await command(fixture, .resume, "resumed")
        // The answer comes after the transaction that resumes it, of which the pause is a part.
        let first = try #require(try await pauses(fixture).first)
        #expect(first.job == Job.Name("resumed") && first.pause.note == "why")
        #expect(first.pause.by == .user("ann") && first.endedBy == .user("eve"))
        #expect(first.pause.since <= first.ended)
        await command(fixture, .pause, "stopped")
        await command(fixture, .stop, "stopped")
        // A job that is not paused has no pause that ends.
        await command(fixture, .stop, "stopped")
        await command(fixture, .pause, "by-itself", .after(.milliseconds(50)))
        _ = await fixture.reload([
            job("resumed"), job("stopped"), job("by-itself"), job("configured"), job("goes-on"),
        ])
        try await fixture.wait { (try? await pauses(fixture).count) == 4 }
        let ended = Dictionary(
            uniqueKeysWithValues: try await pauses(fixture).map { ("\($0.job)", $0.endedBy) })
        #expect(
            ended == [
                "resumed": .user("eve"), "stopped": .user("eve"), "by-itself": .pauseEnd,
                "configured": .configuration,
            ])
        let own = try #require(try await pauses(fixture).first { $0.endedBy == .pauseEnd })
        #expect(own.ended == own.pause.until)
    }

    /// Each in the transaction of them all.
    @Test func aCommandForAllJobsEndsThePauseOfEach() async throws {
        let fixture = try LoopFixture((0..<90).map { job("job-\($0)") })
        await fixture.waitUntilReady()
        _ = await fixture.command(.pause, nil, by: .user("ann"))
        #expect(try await pauses(fixture).isEmpty)
        _ = await fixture.command(.resume, nil, by: .user("eve"))
        let found = try await pauses(fixture)
        #expect(Set(found.map(\.job)).count == 90 && found.count == 90)
    }

    @Test func theAnswerSaysWhatThereIs() throws {
        let instant = WallInstant(rfc3339: "2026-11-22T18:00:00Z")!
        let pauses = (0..<3).map { second in
            PastPause(
                job: Job.Name("a")!,
                pause: Pause(
                    since: instant, by: .user("ann"), note: second == 0 ? "why" : nil,
                    until: second == 0 ? nil : instant + .seconds(second), withRun: second == 0),
                by: second == 0 ? .user("eve") : .pauseEnd, at: instant + .seconds(second))
        }
        let text = String(
            decoding: try ControlJSON.encode(PausesReply(pauses, limit: 2)), as: UTF8.self)
        #expect(
            text
                == #"{"has_more":true,"pauses":[{"by":"ann","ended":"2026-11-22T18:00:00.000000Z","ended_by":"eve","job":"a","note":"why","since":"2026-11-22T18:00:00.000000Z","with_run":true},{"by":"ann","ended":"2026-11-22T18:00:01.000000Z","job":"a","since":"2026-11-22T18:00:00.000000Z","until":"2026-11-22T18:00:01.000000Z"}]}"#
        )
        #expect(PausesReply(pauses, limit: 3).hasMore == nil)
    }
}

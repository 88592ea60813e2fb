// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerControl

@Suite struct StatusTests {
    @Test func isWrittenInSnakeCase_andLeavesOutWhatThereIsNot() throws {
        let clock = Now(
            wall: WallInstant(secondsSinceEpoch: 1_795_000_000),
            awake: AwakeInstant(nanoseconds: 0),
            boot: BootInstant(nanoseconds: 0), bootID: BootID(String(repeating: "0", count: 32))!)
        let job = Job(
            name: Job.Name("backup")!, command: .arguments(["restic"]),
            schedule: .every(.seconds(60)))
        let agenda = Agenda.load(
            JobSet([job]), RecoveredState(instance: 1), concurrentRunsMax: 1, at: clock
        ).agenda
        let snapshot = try #require(agenda.snapshot(of: job.name, at: clock))
        let text = String(decoding: try ControlJSON.encode(JobStatus(snapshot)), as: UTF8.self)
        #expect(
            text == #"{"active_usec":0,"checkpoint":"2026-11-18T11:06:40.000000Z","#
                + #""command":["restic"],"count":"active","elapsed_usec":0,"every_usec":60000000,"firings":0,"job":"backup","#
                + #""next":"2026-11-18T11:07:40.000000Z","remaining_usec":60000000,"running":[],"#
                + #""state":"armed"}"#)
        let back = try ControlJSON.decode(JobStatus.self, from: Array(text.utf8))
        #expect(back == JobStatus(snapshot))
    }
}

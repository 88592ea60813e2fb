// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

/// `timerctl next` for a job of which only the daemon knows the dates.
@Suite(.ownThreads) struct NextLifeTests {
    private struct Preview: Decodable {
        var instants: [String]
    }

    @Test func fromIsForAJobThatRunsOnSomeDatesAlone() throws {
        let daemon = try LiveDaemon(
            """
            [job.a]
            calendar = "03:00 UTC"
            every-nth = 2
            counted-from = "2026-01-01"
            command = ["true"]
            """)
        try daemon.start()
        func next(_ arguments: String...) throws -> [String] {
            let all = ["next", "a", "--json", "--socket", daemon.socket] + arguments
            let result = try ProgramResult(of: "timerctl", all)
            #expect(result.status == 0, "\(result.errors)")
            return try ControlJSON.decode(Preview.self, from: Array(result.output.utf8)).instants
        }
        let instants = try next("-n", "20")
        try #require(instants.count == 20)
        #expect(try next("--from", instants[10], "-n", "3") == Array(instants[11...13]))
        for (from, reason) in [
            ("2199-01-01T00:00:00Z", "name an earlier time"),
            ("2026-01-01T00:00:00Z", "from now on alone; name a later time"),
        ] {
            let refused = try ProgramResult(
                of: "timerctl", ["next", "a", "--from", from, "--socket", daemon.socket])
            #expect(refused.status == 2 && refused.errors.contains(reason), "\(refused.errors)")
        }
        #expect(daemon.stop() == 0)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerControl

@Suite struct CommandsBodyTests {
    @Test func aCommandForManyJobsHasAllValuesOfACommandForOne() {
        func names(_ value: Any) -> Set<String> {
            Set(Mirror(reflecting: value).children.compactMap(\.label))
        }
        let many = names(CommandsBody(.all, CommandBody()))
        #expect(many == names(CommandBody()).union(["all", "jobs", "pauses"]))
    }

    @Test func aJobThatIsNamedTwiceIsOrderedOnce() throws {
        let body = Array(#"{"jobs": ["backup", "a", "backup"]}"#.utf8)
        let read = try ControlRequest(method: "POST", path: "/v1/jobs/run", body: body)
        #expect(read == .commands(.run, .jobs([Job.Name("backup")!, Job.Name("a")!])))
    }
}

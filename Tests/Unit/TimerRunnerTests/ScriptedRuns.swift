// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// Runs for the scripts of the values of the runner's thread. Nothing is started.
enum ScriptedRuns {
    /// The run with this number.
    static func run(_ number: Int) -> Run.ID { run(number, of: Job.Name("job")!) }

    /// The run with this number that sends a message.
    static func message(_ number: Int) -> Run.ID { run(number, of: .messages) }

    private static func run(_ number: Int, of job: Job.Name) -> Run.ID {
        let scheduled = WallInstant(microsecondsSinceEpoch: 1_795_000_000_000_000 + Int64(number))
        return Run.ID(firing: Firing.ID(job: job, scheduled: scheduled))
    }

    static func request(
        _ run: Run.ID, _ execution: (inout Execution) -> Void = { _ in }
    ) -> RunRequest {
        var definition = Definition(.arguments(["true"]))
        execution(&definition.execution)
        return RunRequest(id: run, definition: definition, missed: 0, active: .zero)
    }

    static func preparation(_ run: Run.ID) -> Preparation {
        Preparation(request(run), .success(account))
    }

    static let account = Account(name: "user", home: "/home/user", shell: "/bin/sh")

    static let failure = Spawner.failure(12, "find anything")
}

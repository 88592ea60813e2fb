// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

/// Runs whose definitions are unknown until the configuration is read once more, and the commands
/// that arrived for them.
struct WaitingOrders {
    struct Waiting {
        var order: RunOrder
        /// The number of the first reading of the configuration that starts after the request
        /// arrived.
        var reading: UInt64
        /// The commands for the run that came after its start, to execute after it.
        var commands: [WireRequest] = []
        /// When the files were first found not to have its job, by CLOCK_MONOTONIC; nil: not yet.
        var missingSince: Int64?
        fileprivate var number: UInt64
    }

    private var waiting: [Run.ID: Waiting] = [:]
    private var last: UInt64 = 0
    /// How many commands wait with the runs, because they have a limit.
    private(set) var commands = 0
    /// How many bytes of variables the waiting runs have, because these have a limit.
    private(set) var variableBytes = 0

    var isEmpty: Bool { waiting.isEmpty }
    var count: Int { waiting.count }

    mutating func append(_ order: RunOrder, until reading: UInt64) {
        last += 1
        variableBytes += order.variables.cost - (waiting[order.run]?.order.variables.cost ?? 0)
        waiting[order.run] = Waiting(order: order, reading: reading, number: last)
    }

    /// Queues a command if its run waits.
    /// - Returns: whether it was queued.
    mutating func hold(_ command: WireRequest, for run: Run.ID) -> Bool {
        guard !waiting.isEmpty, waiting[run] != nil else { return false }
        waiting[run]?.commands.append(command)
        commands += 1
        return true
    }

    /// Removes all of them, in the order in which they arrived.
    mutating func takeAll() -> [Waiting] {
        defer { (waiting, commands, variableBytes) = ([:], 0, 0) }
        return waiting.values.sorted { $0.number < $1.number }
    }

    /// Puts a run back that must wait longer.
    mutating func keep(_ one: Waiting) {
        waiting[one.order.run] = one
        variableBytes += one.order.variables.cost
        commands += one.commands.count
    }
}

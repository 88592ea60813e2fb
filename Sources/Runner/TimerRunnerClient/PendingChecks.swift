// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

/// The checks of conditions that no runner has answered. They are requested again on each new
/// connection: a check starts nothing, so it does not matter whether it was made before.
struct PendingChecks {
    private var requests: [Run.ID: CheckRequest] = [:]

    /// Adds a request, which replaces an earlier one for the same run.
    mutating func add(_ request: CheckRequest) { requests[request.run] = request }

    /// An answer has arrived.
    /// - Returns: whether it is that of the latest request for the run.
    mutating func take(_ run: Run.ID, number: UInt64) -> Bool {
        guard requests[run]?.number == number else { return false }
        requests[run] = nil
        return true
    }

    /// All of them, in the order in which they were requested.
    var all: [CheckRequest] { requests.values.sorted { $0.number < $1.number } }
}

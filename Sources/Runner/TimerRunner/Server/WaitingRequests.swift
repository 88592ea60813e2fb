// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

/// Runs whose definitions are unknown until the configuration is read once more, and the commands
/// that arrived for them; and messages that wait for a reading.
///
/// If the files have just changed and do not have the job of a run, they may be incomplete: the run
/// waits until they have not changed for long enough, and they are looked at meanwhile. Instants are
/// of CLOCK_MONOTONIC, in nanoseconds.
struct WaitingRequests {
    struct Waiting {
        var request: StartRequest
        /// The number of the request to check its condition, if it is not to be started yet.
        var check: UInt64?
        /// The number of the first reading of the configuration that starts after the request
        /// arrived.
        var reading: UInt64
        /// The commands for the run that came after its start, to execute after it.
        var commands: [WireRequest] = []
        /// When the files were first found not to have its job; nil: not yet.
        var missingSince: Int64?
        fileprivate var number: UInt64
    }

    private var waiting: [Run.ID: Waiting] = [:]
    private var last: UInt64 = 0
    /// How many commands wait with the runs, because they have a limit.
    private(set) var commands = 0
    /// How many bytes of variables and arguments the waiting runs have, because these have a limit.
    private(set) var variableBytes = 0
    /// When to look whether the files have changed again; nil if no run waits for that.
    private(set) var recheckAt: Int64?
    /// When they will not have changed for long enough, if they do not change until then.
    private var settledAt = Int64.max
    /// The messages, each with the number of the reading that it waits for.
    private var messages: [(request: MessageRequest, reading: UInt64)] = []

    var isEmpty: Bool { waiting.isEmpty }
    var count: Int { waiting.count }

    /// - Parameter check: the number of the request if its condition is to be checked only.
    mutating func append(_ request: StartRequest, check: UInt64? = nil, until reading: UInt64) {
        last += 1
        variableBytes += request.cost - (waiting[request.run]?.request.cost ?? 0)
        waiting[request.run] = Waiting(
            request: request, check: check, reading: reading, number: last)
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
    mutating func drain() -> [Waiting] {
        defer { (waiting, commands, variableBytes, recheckAt) = ([:], 0, 0, nil) }
        return waiting.values.sorted { $0.number < $1.number }
    }

    /// Puts a run back that must wait longer.
    mutating func keep(_ one: Waiting) {
        waiting[one.request.run] = one
        variableBytes += one.request.cost
        commands += one.commands.count
    }

    // MARK: - Files that may be incomplete

    /// Puts a run back whose job is missing in files that may be incomplete.
    ///
    /// - Parameters:
    ///   - reading: the number of the next reading.
    ///   - rest: how long the files must not change from now on.
    ///   - longest: for how long the run waits at most.
    ///   - step: how soon the files are looked at.
    /// - Returns: false if the run does not wait: the files are complete, or it has waited for long
    ///   enough.
    mutating func keep(
        _ one: Waiting, until reading: UInt64, rest: Duration, longest: Duration, step: Duration,
        at now: Int64
    ) -> Bool {
        let since = one.missingSince ?? now
        guard rest > .zero, now - since < longest.wholeNanoseconds else { return false }
        var one = one
        one.missingSince = since
        one.reading = reading
        keep(one)
        recheckAt = now + min(rest, step).wholeNanoseconds
        settledAt = now + rest.wholeNanoseconds
        return true
    }

    /// Whether the files must be read once more: they have changed again, or have not changed for
    /// long enough.
    mutating func mustRecheck(
        at now: Int64, step: Duration, hasChanged: () -> Bool
    ) -> Bool {
        guard let at = recheckAt, now >= at else { return false }
        guard now >= settledAt || hasChanged() else {
            recheckAt = min(settledAt, now + step.wholeNanoseconds)
            return false
        }
        recheckAt = nil
        return true
    }

    // MARK: - Messages

    var messageCount: Int { messages.count }

    /// Adds a message.
    /// - Parameter reading: the number of the reading that it waits for; 0: none.
    mutating func append(_ request: MessageRequest, until reading: UInt64) {
        messages.append((request, reading))
    }

    /// Removes the messages that waited for this reading, or an earlier one.
    mutating func takeMessages(through reading: UInt64) -> [MessageRequest] {
        guard !messages.isEmpty else { return [] }
        defer { messages.removeAll { $0.reading <= reading } }
        return messages.filter { $0.reading <= reading }.map(\.request)
    }
}

extension WaitingRequests.Waiting {
    /// The request to check its condition; nil if it is to be started.
    var checkRequest: CheckRequest? {
        check.map { CheckRequest(run: request.run, number: $0, fingerprint: request.fingerprint) }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

/// The runs that were requested or found, until they are forgotten, with what was requested for
/// them: that is sent again to a runner that may not have received it.
///
/// A start is sent again only to a runner with the same memory, which would know whether it was
/// received before. With another memory, the run may have started, and is lost.
struct KnownRuns {
    /// The request for a run that has not started.
    private enum Request {
        case run(StartRequest)
        case message(MessageRequest)
    }

    private struct Known {
        /// Nil once the run has started.
        var request: Request?
        /// The memory of the runner to which its start was sent; nil if it was not sent yet.
        var sentTo: UInt64?
        var isOver = false
        /// The grace period with which it is to be terminated; nil: it is not.
        var end: Duration?
        var isSuspended = false
    }

    /// What follows from the end of a run.
    enum EndAction: Hashable {
        case report
        /// It was reported before.
        case ignore
        /// The scheduler does not know the run, so the runner forgets it.
        case forget
    }

    /// What to do on a new connection.
    struct Reconciliation {
        var requests: [WireRequest] = []
        /// The runs to start.
        var starts: [StartRequest] = []
        /// The runs to report as lost.
        var lost: [Run.ID] = []
    }

    private var runs: [Run.ID: Known] = [:]
    /// Runs of the runner that the scheduler does not know: they are forgotten once they have
    /// ended.
    private var unknown: Set<Run.ID> = []

    /// How many more runs can be requested before the limit.
    var room: Int { max(0, RunnerClient.waitingMax - runs.count) }

    /// The runs that were requested and not sent to any runner.
    var unsent: [Run.ID] {
        runs.filter { run, known in
            if case .run? = known.request { known.sentTo == nil && !known.isOver } else { false }
        }.map(\.key)
    }

    // MARK: - Requests

    /// Adds runs to start.
    /// - Parameter memory: of the runner to which their starts were sent already; nil: to none.
    mutating func add(_ requests: ArraySlice<StartRequest>, sentTo memory: UInt64? = nil) {
        for request in requests {
            runs[request.run] = Known(request: .run(request), sentTo: memory)
        }
    }

    /// Adds a run that sends a message. A run of an earlier scheduler may have ended just now.
    mutating func add(_ request: MessageRequest) {
        if runs[request.run] == nil { runs[request.run] = Known(request: .message(request)) }
    }

    /// The starts of these runs are sent to a runner with this memory.
    mutating func send(_ requests: [StartRequest], to memory: UInt64) {
        for request in requests { runs[request.run]?.sentTo = memory }
    }

    /// A run is to be terminated; the shortest grace period counts. False if it is over or unknown.
    mutating func end(_ run: Run.ID, grace: Duration) -> Bool {
        guard let known = runs[run], !known.isOver else { return false }
        runs[run]?.end = min(known.end ?? grace, grace)
        return true
    }

    mutating func setSuspended(_ run: Run.ID, _ isSuspended: Bool) {
        runs[run]?.isSuspended = isSuspended
    }

    mutating func forget(_ run: Run.ID) { runs[run] = nil }

    // MARK: - Events

    /// The program of a run runs.
    mutating func begin(_ run: Run.ID) { runs[run]?.request = nil }

    /// A run has ended.
    mutating func end(_ run: Run.ID) -> EndAction {
        guard unknown.remove(run) == nil, let known = runs[run] else { return .forget }
        guard !known.isOver else { return .ignore }
        runs[run]?.isOver = true
        runs[run]?.request = nil
        return .report
    }

    // MARK: - Connections

    /// Adds a run that a runner has.
    ///
    /// - Parameter isKnown: whether the scheduler knows it.
    /// - Returns: whether the runner forgets it now.
    mutating func add(_ holding: RunnerClient.Holding, isKnown: Bool) -> Bool {
        if isKnown || holding.run.isMessage {
            runs[holding.run] = Known()
            return false
        }
        if !holding.isOver { unknown.insert(holding.run) }
        return holding.isOver
    }

    /// Compares the runs with those of a runner with this memory.
    mutating func reconcile(
        with holdings: [RunnerClient.Holding], memory: UInt64
    ) -> Reconciliation {
        var result = Reconciliation()
        let held = Set(holdings.map(\.run))
        unknown = []
        for holding in holdings where runs[holding.run] == nil {
            if add(holding, isKnown: false) { result.requests.append(.forget([holding.run])) }
        }
        for (run, known) in runs where !known.isOver {
            if !held.contains(run) {
                switch known.request {
                case .run(let request) where known.sentTo == nil || known.sentTo == memory:
                    result.starts.append(request)
                case .message(let request): result.requests.append(.send(request))
                case .run, nil:
                    runs[run]?.isOver = true
                    result.lost.append(run)
                }
            }
            if let grace = known.end { result.requests.append(.end(run, grace: grace)) }
            if known.isSuspended { result.requests.append(.suspend(run)) }
        }
        result.starts.sort { $0.run.description < $1.run.description }
        return result
    }
}

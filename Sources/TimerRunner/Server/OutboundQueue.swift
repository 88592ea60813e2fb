// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TimerCore
import TimerRunnerProtocol

/// What a runner holds for its scheduler: its runs until they are forgotten, and what it has to tell until it
/// is seen. Filled by the runner's thread, emptied by the server's.
///
/// Beginnings and ends have a lane of their own, which waits for devNull. The end of a run is sent behind what the
/// run wrote, but not later than `endDelayMax`: where the log takes no lines, its next firing would wait for it.
///
/// Output is bounded, see `OutputLane`. Everything else is bounded by the runs there are, and those by
/// `RunnerLimits`.
final class OutboundQueue: Sendable {
    /// How long the end of a run waits for its output to be sent, in nanoseconds.
    static let endDelayMax: Int64 = 100_000_000
    /// About how many bytes are taken at a time by `nextReplies`.
    static let batchBytes = 32 << 10

    private struct Held {
        var began: WallInstant?
        var end: RunEnd?
        /// The number its end was told by last; nil while it was not, or waits for output.
        var endNumber: UInt64?
        /// The end waits for output, at most until this instant of CLOCK_MONOTONIC.
        var endBy: Int64?
    }

    private enum Message {
        case event(RunnerEvent)
        case barrierReached(token: UInt64)
    }

    private struct State {
        var isConnected = false
        var held: [Run.ID: Held] = [:]
        /// How many of them are not over.
        var liveCount = 0
        var lane = Lane<Message>()
        var output = OutputLane()
        /// The runs whose ends wait for output, in the order in which that ends. Some may not wait any more.
        var delayed: ArraySlice<(run: Run.ID, by: Int64)> = []
        /// How many ends wait for output.
        var delayedCount = 0
        /// Tokens that are settled once the ends before them are told.
        var barriers: [UInt64] = []
        /// The bytes of the last lines that are held with the ends.
        var tailBytes = 0
        /// Everything up to this number of the lane is seen.
        var seen: UInt64 = 0

        var hasUnsent: Bool { lane.hasUnsent || output.canSend }

        mutating func tell(_ event: RunnerEvent) {
            lane.append(.event(event), cost: OutputLane.lineCost)
        }

        /// Holds the run, if it is not held yet, until it is forgotten.
        mutating func hold(_ run: Run.ID) {
            guard held[run] == nil else { return }
            held[run] = Held()
            liveCount += 1
        }

        mutating func remove(_ run: Run.ID) {
            guard let gone = held.removeValue(forKey: run) else { return }
            if gone.end == nil { liveCount -= 1 }
            tailBytes -= gone.end?.tail.count ?? 0
        }

        mutating func forget(_ run: Run.ID) {
            undelay(run)
            remove(run)
            output.forget(run)
        }

        /// Keeps how a run ended.
        /// - Returns: whether it was the last one that lived.
        mutating func keep(_ end: RunEnd, of run: Run.ID) -> Bool {
            hold(run)
            let before = held[run]?.end
            tailBytes += end.tail.count - (before?.tail.count ?? 0)
            if before == nil { liveCount -= 1 }
            held[run]?.end = end
            return before == nil && liveCount == 0
        }

        /// Tells the end of a run, at once or once its output is sent.
        mutating func tellEnd(of run: Run.ID, at now: Int64) {
            guard output.hasUnsent(of: run) else { return tellEndNow(of: run) }
            guard held[run]?.endBy == nil else { return }
            held[run]?.endBy = now + OutboundQueue.endDelayMax
            delayed.append((run, now + OutboundQueue.endDelayMax))
            delayedCount += 1
        }

        mutating func tellEndNow(of run: Run.ID) {
            guard let end = held[run]?.end else { return }
            let cost = end.tail.count + OutputLane.lineCost
            held[run]?.endNumber = lane.append(.event(.ended(run, end)), cost: cost)
            undelay(run)
        }

        mutating func undelay(_ run: Run.ID) {
            guard held[run]?.endBy != nil else { return }
            held[run]?.endBy = nil
            delayedCount -= 1
            guard delayedCount == 0 else { return }
            for token in barriers {
                lane.append(.barrierReached(token: token), cost: OutputLane.lineCost)
            }
            barriers = []
        }

        /// Tells the ends that have waited for long enough.
        /// - Returns: when the next one has; nil if none waits.
        mutating func tellDelayed(at now: Int64) -> Int64? {
            while let (run, by) = delayed.first {
                if held[run]?.endBy == by {
                    guard by <= now else { return by }
                    tellEndNow(of: run)
                }
                _ = delayed.popFirst()
            }
            return nil
        }
    }

    private let state = Mutex(State())

    /// Takes what the runner tells.
    /// - Returns: whether the thread that sends must be woken: there was nothing to send before, or no scheduler
    ///   is connected and no run is running, so that the runner may not be needed.
    func take(_ event: RunnerEvent, at now: Int64 = RunnerClock.awake()) -> Bool {
        state.withLock { state in
            let hadUnsent = state.hasUnsent
            switch event {
            case .output: state.output.take(event)
            case .dropped(let run, let lines): state.output.drop(lines, of: run)
            case .limited(let run, let lines): state.output.limit(lines, of: run)
            case .leftBehind: state.output.tell(event)
            case .began(let run, _, let at):
                state.hold(run)
                state.held[run]?.began = at
                state.tell(event)
            case .ended(let run, let end):
                state.output.tellDrops(of: run)
                let isLast = state.keep(end, of: run)
                let isFirst = state.delayedCount == 0
                state.tellEnd(of: run, at: now)
                // The thread that sends does not know yet when to look again.
                if isFirst, state.delayedCount > 0 { return true }
                if isLast, !state.isConnected { return true }
            case .slowed: break
            }
            return !hadUnsent && state.hasUnsent
        }
    }

    /// Whether more may be read of what this run writes.
    func gate(of run: Run.ID, at now: Int64 = RunnerClock.awake()) -> OutputGate {
        state.withLock { state in
            state.output.gate(
                of: run, isConnected: state.isConnected, isHeld: state.held[run] != nil, at: now)
        }
    }

    /// The runner has come to the end of what was to be told for this.
    func barrierReached(_ token: UInt64) {
        state.withLock { state in
            guard state.delayedCount == 0 else { return state.barriers.append(token) }
            state.lane.append(.barrierReached(token: token), cost: OutputLane.lineCost)
        }
    }

    /// Whether the run is new here; from then on it is held. The end of one that is over is told again.
    func isNew(_ run: Run.ID) -> Bool {
        state.withLock { state in
            guard let held = state.held[run] else {
                state.hold(run)
                return true
            }
            // One that is not seen yet is on its way.
            if held.end != nil, let number = held.endNumber, number <= state.seen {
                state.tellEndNow(of: run)
            }
            return false
        }
    }

    /// Forgets those of the runs that are over. One that lives would be begun again if it were asked for again.
    /// - Returns: those that are forgotten.
    @discardableResult
    func forget(_ runs: [Run.ID]) -> [Run.ID] {
        state.withLock { state in
            let over = runs.filter { state.held[$0]?.end != nil }
            for run in over { state.forget(run) }
            return over
        }
    }

    /// These are not begun after all, and may be asked for again.
    func cancelPending(_ runs: [Run.ID]) {
        state.withLock { state in
            for run in runs { state.forget(run) }
        }
    }

    /// How many runs are held, and how many bytes of their last lines.
    var size: (runs: Int, tailBytes: Int) {
        state.withLock { ($0.held.count, $0.tailBytes) }
    }

    /// Whether a run is not over yet.
    var hasLiveRun: Bool {
        state.withLock { $0.liveCount > 0 }
    }

    /// A scheduler has connected: what it has not seen is sent again, and the ends of all runs that are not
    /// forgotten.
    /// - Returns: what is held.
    func connect(at now: Int64 = RunnerClock.awake()) -> [WireReply] {
        state.withLock { state in
            state.isConnected = true
            state.output.rewind()
            // No caller waits for what was settled; the ends come in their order below.
            state.barriers = []
            state.lane.rewind { message in
                if case .event(.began) = message { true } else { false }
            }
            let ends = state.held.filter { $0.value.end != nil }
            for run in ends.keys { state.held[run]?.endBy = nil }
            state.delayed = []
            state.delayedCount = 0
            for (run, _) in ends.sorted(by: {
                $0.value.endNumber ?? .max < $1.value.endNumber ?? .max
            }) {
                state.tellEnd(of: run, at: now)
            }
            return state.held.map { run, held in
                .holds(run, began: held.began, isOver: held.end != nil)
            }
        }
    }

    /// No scheduler is there: runs are not slowed down for it.
    func disconnect() { state.withLock { $0.isConnected = false } }

    /// What is to be sent next.
    struct Batch {
        var replies: [WireReply] = []
        /// The runs that were slowed down, and of which more may be read now.
        var reopened: [Run.ID] = []
        /// When there may be more, by CLOCK_MONOTONIC, even if nothing is told until then.
        var nextAt: Int64?
        /// Whether there is more already.
        var hasMore = false
    }

    /// Takes some of what is to be sent: beginnings and ends first, then output, which the runs send by turns.
    func nextBatch(at now: Int64 = RunnerClock.awake()) -> Batch {
        state.withLock { state in
            var portion = Batch()
            var bytes = 0
            portion.nextAt = state.tellDelayed(at: now)
            while bytes < Self.batchBytes {
                if let entry = state.lane.sendNext() {
                    bytes += entry.cost
                    switch entry.message {
                    case .event(let event): portion.replies.append(.event(entry.number, event))
                    case .barrierReached(let token):
                        portion.replies.append(.barrierReached(entry.number, token: token))
                    }
                } else if let turn = state.output.sendNext() {
                    let run = turn.entry.message.run
                    bytes += turn.entry.cost
                    portion.replies.append(.event(turn.entry.number, turn.entry.message))
                    if turn.isReopened { portion.reopened.append(run) }
                    if turn.isLast, state.held[run]?.endBy != nil { state.tellEndNow(of: run) }
                } else {
                    break
                }
            }
            portion.hasMore = state.hasUnsent
            return portion
        }
    }

    /// Everything up to these numbers is where it belongs: beginnings and ends, and output.
    func seen(_ events: UInt64, output: UInt64) {
        state.withLock { state in
            state.seen = max(state.seen, events)
            state.lane.seen(events)
            state.output.seen(output)
        }
    }

    /// Whether nothing is left that a scheduler should know. A run without an end, once nothing is begun any more,
    /// is the next runner's to begin.
    var isEmpty: Bool {
        state.withLock { state in
            state.lane.isEmpty && state.output.isEmpty && state.held.count == state.liveCount
        }
    }
}

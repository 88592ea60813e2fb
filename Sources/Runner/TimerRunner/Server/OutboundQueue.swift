// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TimerCore
import TimerRunnerProtocol

/// What a runner stores for its scheduler: its runs until they are forgotten, and its events until
/// they are acknowledged. The runner's thread adds to it. The server's thread sends from it; while
/// the server's thread waits, the runner's thread does (`sendDirectly`).
///
/// Starts and ends have their own queue, which never waits for output. The end of a run is sent
/// after the output of the run, but at most `endDelayMax` later: the next firing of the job waits
/// for the end, even if the log is not consumed.
///
/// Output is bounded, see `OutputQueue`. Everything else is bounded by the number of runs, and that
/// by `RunnerLimits`.
final class OutboundQueue: Sendable {
    /// How long the end of a run waits for its output to be sent, in nanoseconds.
    static let endDelayMax: Int64 = 100_000_000
    /// About how many bytes `nextBatch` takes at a time.
    static let batchBytes = 32 << 10

    let state = Mutex(State())

    /// Adds an event of the runner.
    /// - Returns: whether the caller must call `sendDirectly` or wake the server's thread: there was
    ///   nothing to send before, or no scheduler is connected and no run is active, so that the
    ///   runner may not be needed.
    func enqueue(_ event: RunnerEvent, at now: Int64 = RunnerClock.awake()) -> Bool {
        state.withLock { state in
            let hadUnsent = state.hasUnsent
            switch event {
            case .output: state.output.enqueue(event)
            case .unfinished: state.output.enqueueUnfinished(event)
            case .dropped(let run, let lines): state.output.drop(lines, of: run)
            case .limited(let run, let lines): state.output.limit(lines, of: run)
            case .leftBehind: state.output.appendAfterOutput(event)
            case .began(let run, _, let at):
                state.hold(run)
                state.held[run]?.began = at
                state.enqueue(event)
            case .ended(let run, let end):
                state.output.reportDrops(of: run)
                let isLast = state.store(end, of: run)
                let isFirst = state.delayedCount == 0
                state.enqueueEnd(of: run, at: now)
                // The server's thread does not know this deadline yet.
                if isFirst, state.delayedCount > 0 { return true }
                if isLast, !state.isConnected { return true }
            case .slowed: break
            }
            return !hadUnsent && state.hasUnsent
        }
    }

    /// Whether more output of this run may be read.
    func outputGate(of run: Run.ID, at now: Int64 = RunnerClock.awake()) -> OutputGate {
        state.withLock { state in
            state.output.outputGate(
                of: run, isConnected: state.isConnected, isHeld: state.held[run] != nil, at: now)
        }
    }

    /// The runner has reported every end before this barrier.
    func barrierReached(_ token: UInt64) {
        state.withLock { state in
            guard state.delayedCount == 0 else { return state.barriers.append(token) }
            state.messages.append(.barrierReached(token: token), cost: OutputQueue.lineCost)
        }
    }

    /// Whether the run is unknown; it is stored from then on. If the run has ended, its end is sent
    /// again.
    func isNew(_ run: Run.ID) -> Bool {
        state.withLock { state in
            guard let held = state.held[run] else {
                state.hold(run)
                return true
            }
            // An end that is not acknowledged yet is already queued or sent.
            if held.end != nil, let number = held.endNumber, number <= state.seen {
                state.enqueueEndNow(of: run)
            }
            return false
        }
    }

    /// Forgets those of the runs that have ended. An active run is kept, because it would start
    /// again if it were requested again.
    /// - Returns: those that are forgotten.
    @discardableResult
    func forget(_ runs: [Run.ID]) -> [Run.ID] {
        state.withLock { state in
            let over = runs.filter { state.held[$0]?.end != nil }
            for run in over { state.forget(run) }
            return over
        }
    }

    /// Removes runs that are not started after all, so that they can be requested again.
    func cancelPending(_ runs: [Run.ID]) {
        state.withLock { state in
            for run in runs { state.forget(run) }
        }
    }

    /// The number of stored runs, and of bytes in their tails.
    var size: (runs: Int, tailBytes: Int) {
        state.withLock { ($0.held.count, $0.tailBytes) }
    }

    /// Whether any run is active, so that the runner must not end.
    var hasLiveRun: Bool {
        state.withLock { $0.liveCount > 0 }
    }

    /// A scheduler has connected: everything that is not acknowledged is sent again, and the ends
    /// of all runs that are not forgotten.
    /// - Returns: the stored runs.
    func connect(at now: Int64 = RunnerClock.awake()) -> [WireReply] {
        state.withLock { state in
            state.isConnected = true
            state.output.rewind()
            // The barriers were of the previous connection; the ends follow in their order below.
            state.barriers = []
            state.messages.rewind { message in
                if case .event(.began) = message { true } else { false }
            }
            let ends = state.held.filter { $0.value.end != nil }
            for run in ends.keys { state.held[run]?.endBy = nil }
            state.delayed = []
            state.delayedCount = 0
            for (run, _) in ends.sorted(by: {
                $0.value.endNumber ?? .max < $1.value.endNumber ?? .max
            }) {
                state.enqueueEnd(of: run, at: now)
            }
            return state.held.map { run, held in
                .holds(run, began: held.began, isOver: held.end != nil)
            }
        }
    }

    /// The scheduler has disconnected: runs are not slowed down for it.
    func disconnect() { state.withLock { $0.isConnected = false } }

    /// The messages to send next, and what follows from sending them.
    struct Batch {
        var replies: [WireReply] = []
        /// The runs that were slowed down, and whose output may be read again.
        var reopened: [Run.ID] = []
        /// When there may be more, by CLOCK_MONOTONIC, even if no event happens until then.
        var nextAt: Int64?
        /// Whether there is more to send at once.
        var hasMore = false
    }

    /// Takes some of the pending messages: starts and ends first, then output, round-robin between
    /// the runs.
    func nextBatch(at now: Int64 = RunnerClock.awake()) -> Batch {
        state.withLock { state in
            var batch = Batch()
            var bytes = 0
            batch.nextAt = state.enqueueDueEnds(at: now)
            while bytes < Self.batchBytes {
                if let entry = state.messages.sendNext() {
                    bytes += entry.cost
                    batch.replies.append(Self.reply(for: entry))
                } else if let sent = state.output.sendNext() {
                    let run = sent.entry.message.run
                    bytes += sent.entry.cost
                    batch.replies.append(.event(sent.entry.number, sent.entry.message))
                    if sent.isReopened { batch.reopened.append(run) }
                    if sent.isLast, state.held[run]?.endBy != nil { state.enqueueEndNow(of: run) }
                } else {
                    break
                }
            }
            batch.hasMore = state.hasUnsent
            return batch
        }
    }

    /// The scheduler has acknowledged everything up to these numbers: of starts and ends, and of
    /// output.
    func seen(_ events: UInt64, output: UInt64) {
        state.withLock { state in
            state.seen = max(state.seen, events)
            state.messages.seen(events)
            state.output.seen(output)
        }
    }

    /// Whether nothing is left to report to a scheduler. After the shutdown, a run without an end
    /// was never started, and the next runner starts it.
    var isEmpty: Bool {
        state.withLock { state in
            state.messages.isEmpty && state.output.isEmpty && state.held.count == state.liveCount
        }
    }

    // MARK: - Sending while the server's thread waits

    /// Called by the server's thread before it waits.
    ///
    /// - Parameter descriptor: the connection to a scheduler, if nothing is left to write to it; it
    ///   must stay open until `closeLine`.
    func openLine(_ descriptor: Int32) { state.withLock { $0.line.open(descriptor) } }

    /// Called by the server's thread after it has waited.
    /// - Returns: the bytes that it has to write before anything else.
    func closeLine() -> [UInt8] { state.withLock { $0.line.close() } }

    /// Sends starts and ends of runs, as far as this is possible without waiting. While there is
    /// output to send, which may be much, or an end waits for output, everything is left to the
    /// server's thread.
    ///
    /// - Returns: whether nothing is left to do; otherwise the server's thread must be woken.
    func sendDirectly() -> Bool {
        state.withLock { state in
            guard state.line.isOpen, !state.output.canSend, state.delayedCount == 0 else {
                return false
            }
            var frames: [UInt8] = []
            while frames.count < Self.batchBytes, let entry = state.messages.sendNext() {
                FrameSocket.append(Self.reply(for: entry).bytes, to: &frames)
            }
            return state.line.send(frames) == .wholly && !state.messages.hasUnsent
        }
    }

    private static func reply(for entry: UnacknowledgedQueue<Message>.Entry) -> WireReply {
        switch entry.message {
        case .event(let event): .event(entry.number, event)
        case .barrierReached(let token): .barrierReached(entry.number, token: token)
        }
    }
}

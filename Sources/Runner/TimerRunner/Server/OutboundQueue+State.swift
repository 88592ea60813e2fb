// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

extension OutboundQueue {
    struct Held {
        var began: WallInstant?
        var end: RunEnd?
        /// The number of the last message with its end; nil while it was not sent, or waits for
        /// output.
        var endNumber: UInt64?
        /// Set while the end waits for output: the latest instant of CLOCK_MONOTONIC.
        var endBy: Int64?
    }

    enum Message {
        case event(RunnerEvent)
        case barrierReached(token: UInt64)
    }

    struct State {
        var isConnected = false
        var held: [Run.ID: Held] = [:]
        /// The number of runs that have not ended.
        var liveCount = 0
        var messages = UnacknowledgedQueue<Message>()
        var output = OutputQueue()
        /// The runs whose ends wait for output, in the order of their deadlines. Some may not wait
        /// any more.
        var delayed: ArraySlice<(run: Run.ID, by: Int64)> = []
        /// The number of ends that wait for output.
        var delayedCount = 0
        /// The tokens to answer when the ends before them are sent.
        var barriers: [UInt64] = []
        /// The number of bytes in the tails of ended runs.
        var tailBytes = 0
        /// Everything up to this number of `messages` is acknowledged.
        var seen: UInt64 = 0
        /// The connection on which events are sent directly while the server's thread waits.
        var line = DirectLine()

        var hasUnsent: Bool { messages.hasUnsent || output.canSend }

        mutating func enqueue(_ event: RunnerEvent) {
            messages.append(.event(event), cost: OutputQueue.lineCost)
        }

        /// Stores the run, if it is not stored yet, until it is forgotten.
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

        /// Stores how a run ended.
        /// - Returns: whether it was the last active run.
        mutating func store(_ end: RunEnd, of run: Run.ID) -> Bool {
            hold(run)
            let before = held[run]?.end
            tailBytes += end.tail.count - (before?.tail.count ?? 0)
            if before == nil { liveCount -= 1 }
            held[run]?.end = end
            return before == nil && liveCount == 0
        }

        /// Queues the end of a run, at once or when its output is sent.
        mutating func enqueueEnd(of run: Run.ID, at now: Int64) {
            guard output.hasUnsent(of: run) else { return enqueueEndNow(of: run) }
            guard held[run]?.endBy == nil else { return }
            held[run]?.endBy = now + OutboundQueue.endDelayMax
            delayed.append((run, now + OutboundQueue.endDelayMax))
            delayedCount += 1
        }

        mutating func enqueueEndNow(of run: Run.ID) {
            guard let end = held[run]?.end else { return }
            let cost = end.tail.count + OutputQueue.lineCost
            held[run]?.endNumber = messages.append(.event(.ended(run, end)), cost: cost)
            undelay(run)
        }

        mutating func undelay(_ run: Run.ID) {
            guard held[run]?.endBy != nil else { return }
            held[run]?.endBy = nil
            delayedCount -= 1
            guard delayedCount == 0 else { return }
            for token in barriers {
                messages.append(.barrierReached(token: token), cost: OutputQueue.lineCost)
            }
            barriers = []
        }

        /// Queues the ends whose deadline has passed.
        /// - Returns: the deadline of the next one; nil if none waits.
        mutating func enqueueDueEnds(at now: Int64) -> Int64? {
            while let (run, by) = delayed.first {
                if held[run]?.endBy == by {
                    guard by <= now else { return by }
                    enqueueEndNow(of: run)
                }
                _ = delayed.popFirst()
            }
            return nil
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TimerCore

/// What a runner holds for its scheduler: its runs until they are forgotten, and what it has to tell until it
/// is seen. Filled by the runner's thread, emptied by the server's.
///
/// Output is bounded: while more than `outputBytesMax` of it waits, further lines are counted and not kept.
/// Everything else is bounded by the runs there are.
final class Backlog: Sendable {
    /// The most bytes of output that wait to be seen.
    static let outputBytesMax = 16 << 20
    /// The most bytes that are on their way and not seen yet.
    static let windowBytes = 1 << 20
    /// What a line costs beyond its bytes.
    private static let lineCost = 128

    private struct Held {
        var began: WallInstant?
        var end: RunEnd?
        /// The number its end was told by last.
        var endNumber: UInt64 = 0
    }

    private struct Entry {
        var number: UInt64
        var frame: [UInt8]
        var isOutput: Bool
        var cost: Int { frame.count + Backlog.lineCost }
    }

    private struct State {
        var held: [Run.ID: Held] = [:]
        /// In order of their numbers, without gaps; the first `sent` of those from `head` on are on their way.
        var entries: [Entry?] = []
        var head = 0
        var sent = 0
        var sentBytes = 0
        var number: UInt64 = 0
        var outputBytes = 0
        var dropped: [Run.ID: Int] = [:]

        var hasUnsent: Bool { head + sent < entries.count }

        mutating func append(isOutput: Bool = false, _ reply: (UInt64) -> WireReply) {
            number += 1
            let entry = Entry(number: number, frame: reply(number).bytes, isOutput: isOutput)
            if isOutput { outputBytes += entry.cost }
            entries.append(entry)
        }

        mutating func appendDrops(of run: Run.ID) {
            guard !dropped.isEmpty, let lines = dropped.removeValue(forKey: run) else { return }
            append { .event($0, .dropped(run, lines: lines)) }
        }

        mutating func appendEnd(_ run: Run.ID, _ end: RunEnd) {
            append { .event($0, .ended(run, end)) }
            held[run]?.endNumber = number
        }
    }

    private let state = Mutex(State())

    /// Takes what the runner tells.
    /// - Returns: whether there was nothing to send before, so that whoever sends must be woken.
    func take(_ event: RunnerEvent) -> Bool {
        state.withLock { state in
            let hadUnsent = state.hasUnsent
            switch event {
            case .output(let run, _, let line, _):
                guard state.outputBytes + line.count + Self.lineCost <= Self.outputBytesMax else {
                    state.dropped[run, default: 0] += 1
                    return false
                }
                state.appendDrops(of: run)
                state.append(isOutput: true) { .event($0, event) }
            case .began(let run, _, let at):
                state.held[run, default: Held()].began = at
                state.append { .event($0, event) }
            case .ended(let run, let end):
                state.appendDrops(of: run)
                state.held[run, default: Held()].end = end
                state.appendEnd(run, end)
            case .dropped: state.append { .event($0, event) }
            }
            return !hadUnsent
        }
    }

    /// The runner has come to the end of what was to be told for this.
    func settled(_ token: UInt64) {
        state.withLock { $0.append { .settled($0, token: token) } }
    }

    /// Whether the run is new here; from then on it is held. The end of one that is over is told again.
    func isNew(_ run: Run.ID) -> Bool {
        state.withLock { state in
            guard let held = state.held[run] else {
                state.held[run] = Held()
                return true
            }
            if let end = held.end { state.appendEnd(run, end) }
            return false
        }
    }

    func forget(_ runs: [Run.ID]) {
        state.withLock { state in
            for run in runs {
                state.held[run] = nil
                state.dropped[run] = nil
            }
        }
    }

    /// A scheduler is there anew: what it has not seen is to be sent again, and the ends of all runs it has
    /// not had forgotten.
    /// - Returns: what is held.
    func connect() -> [WireReply] {
        state.withLock { state in
            state.sent = 0
            state.sentBytes = 0
            let first = state.entries.count > state.head ? state.entries[state.head]?.number : nil
            for (run, held) in state.held.sorted(by: { $0.value.endNumber < $1.value.endNumber }) {
                guard let end = held.end, held.endNumber < first ?? .max else { continue }
                state.appendEnd(run, end)
            }
            return state.held.map { run, held in
                .holds(run, began: held.began, isOver: held.end != nil)
            }
        }
    }

    /// The next frames to send, as many as may be on their way.
    func nextFrames() -> [[UInt8]] {
        state.withLock { state in
            var frames: [[UInt8]] = []
            while state.hasUnsent, state.sentBytes < Self.windowBytes,
                let entry = state.entries[state.head + state.sent]
            {
                frames.append(entry.frame)
                state.sent += 1
                state.sentBytes += entry.cost
            }
            return frames
        }
    }

    /// Everything up to this number is where it belongs.
    func seen(_ number: UInt64) {
        state.withLock { state in
            while state.sent > 0, let entry = state.entries[state.head], entry.number <= number {
                state.entries[state.head] = nil
                state.head += 1
                state.sent -= 1
                state.sentBytes -= entry.cost
                if entry.isOutput { state.outputBytes -= entry.cost }
            }
            // What was taken out is let go of once it is half of what is kept.
            if state.head >= 1024, state.head * 2 >= state.entries.count {
                state.entries.removeFirst(state.head)
                state.head = 0
            }
        }
    }

    /// Whether nothing is left that a scheduler should know. A run without an end, once nothing is begun any more,
    /// is the next runner's to begin.
    var isEmpty: Bool {
        state.withLock { state in
            state.entries.count == state.head && state.held.values.allSatisfy { $0.end == nil }
        }
    }
}

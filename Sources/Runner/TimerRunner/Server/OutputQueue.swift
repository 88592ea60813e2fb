// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

/// Whether more output of a run may be read.
enum OutputGate: Hashable {
    case open
    /// Not before this instant of CLOCK_MONOTONIC, in nanoseconds: the run waits until its output
    /// is consumed.
    case slow(until: Int64)
    /// Its output must be discarded and counted: the output is not consumed, and no run may wait
    /// for long.
    case discard
}

/// The output of all runs that waits to be sent to the scheduler. Each run has its own queue, and
/// the queues are served round-robin, so that a run with much output delays only itself.
///
/// Only `windowBytes` are sent before the scheduler acknowledges them. Beyond that the queues grow
/// up to their limits. Then the run is slowed down, and after a while, or while no scheduler is
/// connected, its lines are dropped and counted. Jobs with much output lose theirs before jobs with
/// little output, see `OutputShares`.
struct OutputQueue {
    /// The most bytes that are sent and not acknowledged yet.
    static let windowBytes = 256 << 10
    /// A run with at least this many queued bytes is slowed down.
    static let slowBytes = 256 << 10
    /// The most queued bytes of one run; further lines are dropped.
    static let runBytesMax = 2 << 20
    /// The most queued bytes of all runs, without the messages about dropped lines.
    static let bytesMax = 16 << 20
    /// The cost of a line in addition to its bytes.
    static let lineCost = 128
    /// How many bytes of one run are sent before those of other runs.
    static let roundBytes = 4 << 10
    /// How long a run may be slowed down at a time, in nanoseconds; then its lines are dropped.
    static let slowMax: Int64 = 1_000_000_000

    /// The queued output of one run. A queue exists only while it is not empty.
    private struct Queue {
        var events: [RunnerEvent] = []
        var head = 0
        var bytes = 0
        /// The lines that were dropped after the last event.
        var dropped = 0

        var isEmpty: Bool { events.count == head }

        mutating func append(_ event: RunnerEvent) {
            events.append(event)
            bytes += OutputQueue.cost(of: event)
        }

        mutating func popFirst() -> RunnerEvent? {
            guard head < events.count else { return nil }
            let event = events[head]
            head += 1
            bytes -= OutputQueue.cost(of: event)
            if head >= 256, head * 2 >= events.count {
                events.removeFirst(head)
                head = 0
            }
            return event
        }

        /// - Returns: what the latest event cost; nil if there is none.
        mutating func popLast() -> Int? {
            guard head < events.count, let last = events.popLast() else { return nil }
            let cost = OutputQueue.cost(of: last)
            bytes -= cost
            return cost
        }

        /// Drops the latest events, and adds the number of dropped lines in their place.
        ///
        /// - Parameter wanted: how many bytes to drop, if there are so many.
        /// - Returns: whether the message that the run is slowed down was dropped.
        mutating func cut(_ wanted: Int, of run: Run.ID) -> Bool {
            let aim = bytes - wanted - OutputQueue.lineCost
            var lines = dropped
            var hadSlowed = false
            var kept: RunnerEvent?
            while bytes > max(0, aim), head < events.count, let last = events.popLast() {
                bytes -= OutputQueue.cost(of: last)
                switch last {
                case .output: lines += 1
                case .dropped(_, let more), .limited(_, let more):
                    let (sum, overflow) = lines.addingReportingOverflow(more)
                    lines = overflow ? .max : sum
                case .slowed: hadSlowed = true
                case .leftBehind: kept = last
                case .began, .ended, .unfinished: break
                }
            }
            dropped = 0
            if lines > 0 {
                append(.dropped(run, lines: lines))
            } else if hadSlowed {
                append(.slowed(run))
                hadSlowed = false
            }
            if let kept { append(kept) }
            return hadSlowed
        }
    }

    private var queues: [Run.ID: Queue] = [:]
    /// The runs that have a queue, in round-robin order.
    private var roundRobin: ArraySlice<Run.ID> = []
    private var shares = OutputShares(bytesMax: OutputQueue.bytesMax)
    private var unacknowledged = UnacknowledgedQueue<RunnerEvent>()
    /// How many events of each run are still to be sent on this connection: those in its queue, and
    /// those that were sent on an earlier one and are not acknowledged.
    private var unsent: [Run.ID: Int] = [:]
    /// Since when the output of these runs is not read, by CLOCK_MONOTONIC.
    private var closed: [Run.ID: Int64] = [:]
    /// The runs whose slow-down was reported, each once.
    private var slowed: Set<Run.ID> = []

    private static func cost(of event: RunnerEvent) -> Int {
        switch event {
        case .output(_, _, let line, _), .unfinished(_, _, let line): line.count + lineCost
        case .began, .dropped, .limited, .slowed, .ended, .leftBehind: lineCost
        }
    }

    var isEmpty: Bool { unacknowledged.isEmpty && queues.isEmpty }

    /// Whether something could be sent now: there is some, and the window has room.
    var canSend: Bool {
        (unacknowledged.hasUnsent || !queues.isEmpty) && unacknowledged.sentBytes < Self.windowBytes
    }

    /// Whether some output of the run is still to be sent on this connection.
    func hasUnsent(of run: Run.ID) -> Bool { unsent[run] != nil }

    // MARK: - Adding

    /// Adds a line of a run, or counts it as dropped if there is no room.
    mutating func enqueue(_ line: RunnerEvent) {
        let run = line.run
        let cost = Self.cost(of: line)
        guard makeRoom(for: cost, of: run) else { return drop(1, of: run) }
        reportDrops(of: run)
        append(line)
    }

    /// Adds the unfinished line of a run, if there is room for it without dropping anything. Otherwise the whole line
    /// shows it later.
    mutating func enqueueUnfinished(_ line: RunnerEvent) {
        removeOutdated(by: line)
        guard room(for: Self.cost(of: line), of: line.run) == .free else { return }
        appendAfterOutput(line)
    }

    /// Removes what this replaces: while no scheduler reads, a progress bar would fill the queue.
    private mutating func removeOutdated(by line: RunnerEvent) {
        guard case .unfinished(let run, let stream, _) = line,
            case .unfinished(_, stream, _)? = queues[run]?.events.last,
            let cost = queues[run]?.popLast()
        else { return }
        shares.change(run.firing.job, bytes: -cost)
        unsent[run, default: 1] -= 1
    }

    private func room(for cost: Int, of run: Run.ID) -> OutputShares.Room {
        let own = queues[run]?.bytes
        guard (own ?? 0) + cost <= Self.runBytesMax else { return .none }
        return shares.room(for: cost, of: run.firing.job, own: own)
    }

    /// Drops output of the job or run with the largest share, if this run may have more.
    /// - Returns: whether there is room for this many more bytes of the run.
    private mutating func makeRoom(for cost: Int, of run: Run.ID) -> Bool {
        switch room(for: cost, of: run) {
        case .free: return true
        case .none: return false
        case .after(let job, let bytes):
            let before = shares.bytes
            cut(bytes, of: job)
            return shares.bytes + cost <= before
        }
    }

    /// Drops and counts the latest lines of the runs of a job, starting with the run that has the
    /// most.
    /// - Complexity: O(*n* log *n*) in the number of runs with queued output.
    private mutating func cut(_ bytes: Int, of job: Job.Name) {
        let runs = queues.filter { $0.key.firing.job == job }.map { ($0.key, $0.value.bytes) }
        var left = bytes
        for (run, before) in runs.sorted(by: { $0.1 > $1.1 }) where left > 0 {
            let count = queues[run]?.events.count ?? 0
            if queues[run]?.cut(left, of: run) == true { slowed.remove(run) }
            let freed = before - (queues[run]?.bytes ?? 0)
            shares.change(job, bytes: -freed)
            unsent[run, default: 0] += (queues[run]?.events.count ?? 0) - count
            left -= freed
        }
    }

    /// Counts lines that were discarded, for a message about them in their place.
    mutating func drop(_ lines: Int, of run: Run.ID) {
        guard lines > 0 else { return }
        // If the run has no queue, the message about the dropped lines is queued now.
        guard let before = queues[run]?.dropped else { return append(.dropped(run, lines: lines)) }
        let (sum, overflow) = before.addingReportingOverflow(lines)
        queues[run]?.dropped = overflow ? .max : sum
    }

    /// Reports lines that were dropped because their job exceeded its line limit.
    mutating func limit(_ lines: Int, of run: Run.ID) {
        // Even if no scheduler reads for a long time, these messages take no more room than the
        // lines of a run may.
        guard makeRoom(for: Self.lineCost, of: run) else { return drop(lines, of: run) }
        reportDrops(of: run)
        append(.limited(run, lines: lines))
    }

    /// Reports lines that were dropped at this position, if there are any.
    mutating func reportDrops(of run: Run.ID) {
        guard let lines = queues[run]?.dropped, lines > 0 else { return }
        queues[run]?.dropped = 0
        append(.dropped(run, lines: lines))
    }

    /// Appends another event after the output of the run.
    mutating func appendAfterOutput(_ event: RunnerEvent) {
        reportDrops(of: event.run)
        append(event)
    }

    private mutating func append(_ event: RunnerEvent) {
        let run = event.run
        let isNew = queues[run] == nil
        if isNew { roundRobin.append(run) }
        queues[run, default: Queue()].append(event)
        shares.change(run.firing.job, bytes: Self.cost(of: event), runs: isNew ? 1 : 0)
        unsent[run, default: 0] += 1
    }

    // MARK: - Slowing down

    /// Whether more output of this run may be read at an instant of CLOCK_MONOTONIC.
    ///
    /// - Parameters:
    ///   - isConnected: whether a scheduler is connected, which could receive the output.
    ///   - isHeld: whether the run is not forgotten; nothing is reported for a forgotten run.
    mutating func outputGate(
        of run: Run.ID, isConnected: Bool, isHeld: Bool, at now: Int64
    ) -> OutputGate {
        guard let own = queues[run]?.bytes else { return .open }
        let isFull = room(for: Self.lineCost, of: run) == .none
        guard isFull || isConnected && own >= Self.slowBytes else {
            closed[run] = nil
            return .open
        }
        let since = closed[run] ?? now
        closed[run] = since
        guard isConnected else { return .discard }
        if isHeld, slowed.insert(run).inserted { append(.slowed(run)) }
        let until = since + Self.slowMax
        return now < until ? .slow(until: until) : .discard
    }

    // MARK: - Sending

    /// An event that is sent, with what follows for its run.
    struct SentEvent {
        var entry: UnacknowledgedQueue<RunnerEvent>.Entry
        /// Whether everything of this run is sent now.
        var isLast: Bool
        /// Whether the run was slowed down, and has room again.
        var isReopened: Bool
    }

    /// Sends the next event, if there is one and the window has room.
    mutating func sendNext() -> SentEvent? {
        guard unacknowledged.sentBytes < Self.windowBytes else { return nil }
        if !unacknowledged.hasUnsent { fillWindow() }
        guard let entry = unacknowledged.sendNext() else { return nil }
        let run = entry.message.run
        let left = (unsent[run] ?? 1) - 1
        unsent[run] = left > 0 ? left : nil
        let isReopened = closed[run] != nil && (queues[run]?.bytes ?? 0) < Self.slowBytes / 2
        if isReopened { closed[run] = nil }
        return SentEvent(entry: entry, isLast: left <= 0, isReopened: isReopened)
    }

    /// Moves some events of the next run in round-robin order from its queue to `unacknowledged`.
    private mutating func fillWindow() {
        // The queue is removed from the dictionary meanwhile: with a second reference to it, all
        // its events would be copied.
        guard let run = roundRobin.popFirst(), var queue = queues.removeValue(forKey: run) else {
            return
        }
        var room = Self.roundBytes
        let before = queue.bytes
        while room > 0, let event = queue.popFirst() {
            let cost = Self.cost(of: event)
            unacknowledged.append(event, cost: cost)
            room -= cost
        }
        shares.change(
            run.firing.job, bytes: queue.bytes - before, runs: queue.isEmpty ? -1 : 0)
        if !queue.isEmpty {
            queues[run] = queue
            roundRobin.append(run)
        } else if queue.dropped > 0 {
            unsent[run, default: 0] += 1
            unacknowledged.append(.dropped(run, lines: queue.dropped), cost: Self.lineCost)
        }
    }

    mutating func seen(_ number: UInt64) { unacknowledged.seen(number) }

    /// Prepares to send everything that is not acknowledged to a scheduler that has connected.
    mutating func rewind() {
        unacknowledged.rewind()
        unsent = [:]
        unacknowledged.forEachUnsent { unsent[$0.run, default: 0] += 1 }
        for (run, queue) in queues { unsent[run, default: 0] += queue.events.count - queue.head }
    }

    /// Stops reporting on a run that is over and recorded, except for what is already queued.
    mutating func forget(_ run: Run.ID) { slowed.remove(run) }
}

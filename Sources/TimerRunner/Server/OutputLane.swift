// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

/// Whether more may be read of what a run writes.
enum OutputGate: Hashable {
    case open
    /// Not before this instant of CLOCK_MONOTONIC, in nanoseconds: the run waits until its output is taken.
    case slow(until: Int64)
    /// What it writes is to be thrown away and counted: its output is not taken, and no run may wait for long.
    case discard
}

/// The output of all runs, on its way to the scheduler. Each run has a queue of its own, and the queues take turns,
/// so that a run that writes much delays only itself.
///
/// Only so much is sent before the scheduler has seen it (`windowBytes`). Beyond that the queues grow up to their
/// limits; then the run is slowed down, and after a while, or while no scheduler is there, its lines are dropped
/// and counted. Jobs that write much give way to those that write little, see `OutputShares`.
struct OutputLane {
    /// The most bytes that are sent and not seen yet.
    static let windowBytes = 256 << 10
    /// From this many waiting bytes on, a run is slowed down.
    static let slowBytes = 256 << 10
    /// The most bytes that wait of one run.
    static let runBytesMax = 2 << 20
    /// The most bytes that wait of all runs, but for the words that lines were dropped.
    static let bytesMax = 16 << 20
    /// What a line costs beyond its bytes.
    static let lineCost = 128
    /// How many bytes of one run are sent before others have their turn.
    static let turnBytes = 4 << 10
    /// How long a run may be slowed down in one piece, in nanoseconds; then its lines are dropped.
    static let slowMax: Int64 = 1_000_000_000

    /// What waits of one run. There is one only as long as something waits.
    private struct Queue {
        var events: [RunnerEvent] = []
        var head = 0
        var bytes = 0
        /// The lines that were dropped behind the last event.
        var dropped = 0

        var isEmpty: Bool { events.count == head }

        mutating func append(_ event: RunnerEvent) {
            events.append(event)
            bytes += OutputLane.cost(of: event)
        }

        mutating func popFirst() -> RunnerEvent? {
            guard head < events.count else { return nil }
            let event = events[head]
            head += 1
            bytes -= OutputLane.cost(of: event)
            if head >= 256, head * 2 >= events.count {
                events.removeFirst(head)
                head = 0
            }
            return event
        }

        /// Drops the latest events, and says in their place how many lines that were.
        ///
        /// - Parameter wanted: by how many bytes there is to be less, if there are so many.
        /// - Returns: whether the word that the run is slowed down is among what was dropped.
        mutating func cut(_ wanted: Int, of run: Run.ID) -> Bool {
            let aim = bytes - wanted - OutputLane.lineCost
            var lines = dropped
            var hadSlowed = false
            var kept: RunnerEvent?
            while bytes > max(0, aim), head < events.count, let last = events.popLast() {
                bytes -= OutputLane.cost(of: last)
                switch last {
                case .output: lines += 1
                case .dropped(_, let more), .limited(_, let more):
                    let (sum, overflow) = lines.addingReportingOverflow(more)
                    lines = overflow ? .max : sum
                case .slowed: hadSlowed = true
                case .leftBehind: kept = last
                case .began, .ended: break
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
    /// The runs that have a queue, in the order of their turns.
    private var turns: ArraySlice<Run.ID> = []
    private var shares = OutputShares(bytesMax: OutputLane.bytesMax)
    private var lane = Lane<RunnerEvent>()
    /// How many events of each run are to be sent on this connection: those in its queue, and those that were
    /// sent on an earlier one and are not seen.
    private var unsent: [Run.ID: Int] = [:]
    /// Since when nothing is read of these runs, by CLOCK_MONOTONIC.
    private var closed: [Run.ID: Int64] = [:]
    /// The runs of which the log was told that they are slowed down.
    private var slowed: Set<Run.ID> = []

    private static func cost(of event: RunnerEvent) -> Int {
        if case .output(_, _, let line, _) = event { return line.count + lineCost }
        return lineCost
    }

    var isEmpty: Bool { lane.isEmpty && queues.isEmpty }

    /// Whether something could be sent now.
    var canSend: Bool {
        (lane.hasUnsent || !queues.isEmpty) && lane.sentBytes < Self.windowBytes
    }

    /// Whether some of the run's output is still to be sent on this connection.
    func hasUnsent(of run: Run.ID) -> Bool { unsent[run] != nil }

    // MARK: - What comes in

    /// Adds a line of a run, or counts it as dropped if there is no room.
    mutating func take(_ line: RunnerEvent) {
        let run = line.run
        let cost = Self.cost(of: line)
        guard makeRoom(for: cost, of: run) else { return drop(1, of: run) }
        tellDrops(of: run)
        append(line)
    }

    private func room(for cost: Int, of run: Run.ID) -> OutputShares.Room {
        let own = queues[run]?.bytes
        guard (own ?? 0) + cost <= Self.runBytesMax else { return .none }
        return shares.room(for: cost, of: run.firing.job, own: own)
    }

    /// Has who has most give way to a run that may have more.
    /// - Returns: whether there is room for so many more bytes of the run.
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

    /// Drops the latest lines of the runs of a job, those first that have most, and counts them.
    /// - Complexity: O(*n* log *n*) in the runs of which something waits.
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

    /// Counts lines that were thrown away.
    mutating func drop(_ lines: Int, of run: Run.ID) {
        guard lines > 0 else { return }
        // What is dropped while nothing else of the run waits has its place here.
        guard let before = queues[run]?.dropped else { return append(.dropped(run, lines: lines)) }
        let (sum, overflow) = before.addingReportingOverflow(lines)
        queues[run]?.dropped = overflow ? .max : sum
    }

    /// Says that lines were thrown away since their job had written as many as it may.
    mutating func limit(_ lines: Int, of run: Run.ID) {
        // Even if no scheduler reads for a long time, these counts take no more room than the lines of a run may.
        guard makeRoom(for: Self.lineCost, of: run) else { return drop(lines, of: run) }
        tellDrops(of: run)
        append(.limited(run, lines: lines))
    }

    /// Says where lines are missing, if any are.
    mutating func tellDrops(of run: Run.ID) {
        guard let lines = queues[run]?.dropped, lines > 0 else { return }
        queues[run]?.dropped = 0
        append(.dropped(run, lines: lines))
    }

    /// Tells something else behind what the run wrote.
    mutating func tell(_ event: RunnerEvent) {
        tellDrops(of: event.run)
        append(event)
    }

    private mutating func append(_ event: RunnerEvent) {
        let run = event.run
        let isNew = queues[run] == nil
        if isNew { turns.append(run) }
        queues[run, default: Queue()].append(event)
        shares.change(run.firing.job, bytes: Self.cost(of: event), runs: isNew ? 1 : 0)
        unsent[run, default: 0] += 1
    }

    // MARK: - Slowing down

    /// Whether more of this run may be read, at an instant of CLOCK_MONOTONIC.
    ///
    /// - Parameters:
    ///   - isConnected: whether a scheduler is there, which would take its output.
    ///   - isHeld: whether the run is not forgotten; else nothing is said of it any more.
    mutating func gate(
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

    // MARK: - What goes out

    /// What was sent in one turn.
    struct Turn {
        var entry: Lane<RunnerEvent>.Entry
        /// Everything of this run is sent now.
        var isLast: Bool
        /// The run was slowed down, and has room again.
        var isReopened: Bool
    }

    /// Sends the next event, if there is one and the window has room.
    mutating func sendNext() -> Turn? {
        guard lane.sentBytes < Self.windowBytes else { return nil }
        if !lane.hasUnsent { fillLane() }
        guard let entry = lane.sendNext() else { return nil }
        let run = entry.message.run
        let left = (unsent[run] ?? 1) - 1
        unsent[run] = left > 0 ? left : nil
        let isReopened = closed[run] != nil && (queues[run]?.bytes ?? 0) < Self.slowBytes / 2
        if isReopened { closed[run] = nil }
        return Turn(entry: entry, isLast: left <= 0, isReopened: isReopened)
    }

    /// Moves some events of the run whose turn it is from its queue into the lane.
    private mutating func fillLane() {
        // Taken out of the table meanwhile: with a second reference to them, all its events would be copied.
        guard let run = turns.popFirst(), var queue = queues.removeValue(forKey: run) else {
            return
        }
        var room = Self.turnBytes
        let before = queue.bytes
        while room > 0, let event = queue.popFirst() {
            let cost = Self.cost(of: event)
            lane.append(event, cost: cost)
            room -= cost
        }
        shares.change(
            run.firing.job, bytes: queue.bytes - before, runs: queue.isEmpty ? -1 : 0)
        if !queue.isEmpty {
            queues[run] = queue
            turns.append(run)
        } else if queue.dropped > 0 {
            unsent[run, default: 0] += 1
            lane.append(.dropped(run, lines: queue.dropped), cost: Self.lineCost)
        }
    }

    mutating func seen(_ number: UInt64) { lane.seen(number) }

    /// A scheduler has connected: it gets everything that is not seen.
    mutating func rewind() {
        lane.rewind()
        unsent = [:]
        lane.forEachUnsent { unsent[$0.run, default: 0] += 1 }
        for (run, queue) in queues { unsent[run, default: 0] += queue.events.count - queue.head }
    }

    /// The run is over and recorded: it is not mentioned any more, but for what waits already.
    mutating func forget(_ run: Run.ID) { slowed.remove(run) }
}

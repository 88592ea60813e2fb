// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The grid points or occurrences of one job that are due at one reading of the clocks, in order.
struct DueOccurrences {
    /// The maximum number that are listed. Beyond it, the count only means "at least this many".
    static let max = 10_000

    /// One grid point or occurrence.
    struct Point {
        /// By the wall clock. The identity of its firing contains it.
        var scheduled: WallInstant
        /// How long ago it was due.
        var age: Duration
    }

    private enum Content {
        case one(Point)
        case list(ArraySlice<Point>)
        /// The first, and `count` points in total, each `every` after the one before it.
        case grid(Point, every: Duration, count: Int)
    }

    private var content: Content

    init(_ point: Point) { content = .one(point) }
    init(_ points: [Point]) { content = .list(points[...]) }
    init(from first: Point, every span: Duration, count: Int) {
        content = count == 1 ? .one(first) : .grid(first, every: span, count: count)
    }

    var count: Int {
        switch content {
        case .one: 1
        case .list(let points): points.count
        case .grid(_, _, let count): count
        }
    }

    subscript(index: Int) -> Point {
        switch content {
        case .one(let point): point
        case .list(let points): points[points.startIndex + index]
        case .grid(let first, let span, _):
            Point(
                scheduled: first.scheduled + span.times(index), age: first.age - span.times(index))
        }
    }

    /// How many of the first points are older than this.
    /// - Complexity: O(1) on a grid, else O(*n*).
    func count(olderThan age: Duration) -> Int {
        switch content {
        case .one(let point): return point.age > age ? 1 : 0
        case .list(let points): return points.prefix { $0.age > age }.count
        case .grid(let first, let span, let count):
            guard first.age > age else { return 0 }
            let steps = (first.age - age).wholeNanoseconds - 1
            return min(count, Int(steps / span.wholeNanoseconds) + 1)
        }
    }

    /// Only those of the points that are wanted, of very many only among the last; nil if none remain.
    /// - Complexity: O(*n*).
    func filter(_ isWanted: (Point) -> Bool) -> DueOccurrences? {
        let points = (Swift.max(0, count - Self.max)..<count).map { self[$0] }.filter(isWanted)
        guard let first = points.first else { return nil }
        return points.count == 1 ? DueOccurrences(first) : DueOccurrences(points)
    }

    /// The same points with other ages; of very many the first, and the last.
    /// - Complexity: O(*n*).
    func aged(_ age: (Point) -> Duration) -> DueOccurrences {
        let indices = [0] + Array(Swift.max(1, count - Self.max + 1)..<Swift.max(1, count))
        let points = indices.map { index in
            let point = self[index]
            return Point(scheduled: point.scheduled, age: age(point))
        }
        return points.count == 1 ? DueOccurrences(points[0]) : DueOccurrences(points)
    }

    /// Without this many of the first points; nil if none remain.
    func dropping(_ number: Int) -> DueOccurrences? {
        guard number > 0 else { return self }
        guard number < count else { return nil }
        switch content {
        case .one: return nil
        case .list(let points): return DueOccurrences(Array(points.dropFirst(number)))
        case .grid(_, let span, let count):
            return DueOccurrences(from: self[number], every: span, count: count - number)
        }
    }
}

extension Duration {
    /// The product of two numbers that are not negative. If it exceeds 292 years, it is the longest
    /// possible span.
    fileprivate func times(_ factor: Int) -> Duration {
        .nanoseconds(wholeNanoseconds.multiplied(clampingBy: Int64(factor)))
    }
}

extension JobEntry {
    /// Processes the grid points that are due by now: counts the firings, and keeps the elapsed
    /// time since the last of them. Returns nil, with nothing changed, if none is due.
    mutating func passGridPoints(at now: Now) -> DueOccurrences? {
        guard let points = passPointsOfGrid(at: now) else { return nil }
        guard job.window != nil else { return points }
        return points.aged { point in
            let delay = now.wall - point.scheduled - point.age
            return now.wall - start(of: point.scheduled, delay: delay)
        }
    }

    private mutating func passPointsOfGrid(at now: Now) -> DueOccurrences? {
        guard var grid else { return nil }
        let accrued = accrued(at: now)
        let delay = delay(ordinal: Int64(firings))
        let due = grid.due(accrued: accrued, delay: delay)
        guard due > 0 else { return nil }
        let scheduled = now.wall - (accrued - grid.next)
        let first = DueOccurrences.Point(scheduled: scheduled, age: accrued - grid.next - delay)
        guard case .every = job.schedule else {
            firings += 1
            isDueThisBoot = false
            dropAccrued(at: now)
            return DueOccurrences(first)
        }
        // There is no grid: the job is due once, and not again before a run has ended. If no run is
        // made, the next firing is an interval after the last point of the grid.
        if countsFromEnd {
            ledger.pass(grid.time(toPoint: due), at: counted(at: now))
            firings += 1
            maxLoss = .zero
            return DueOccurrences(first)
        }
        let points: DueOccurrences
        if job.policy.randomDelay > .zero {
            let (list, passed) = delayedPoints(of: grid, from: first, accrued: accrued)
            points = DueOccurrences(list)
            grid.pass(passed, of: &ledger, at: counted(at: now))
        } else {
            points = DueOccurrences(from: first, every: grid.span, count: due)
            grid.pass(due, of: &ledger, at: counted(at: now))
        }
        firings = grid.passed
        maxLoss = .zero
        return points
    }

    /// The due points of a grid with random delays. Each point has its own delay, and a point waits
    /// for those before it. If there are very many, only the first and the latest are listed. All
    /// due points are processed in one step, because with billions of them a loop would take too
    /// long.
    ///
    /// - Returns: the points, and how many points are processed in total.
    private func delayedPoints(
        of grid: Grid, from first: DueOccurrences.Point, accrued: Duration
    ) -> (list: [DueOccurrences.Point], passed: Int) {
        // These points are due even with the longest delay.
        let sure = grid.due(accrued: accrued, delay: job.policy.randomDelay)
        var points = [first]
        var index = max(1, sure - DueOccurrences.max + 1)
        while points.count < DueOccurrences.max {
            let due =
                grid.time(toPoint: index + 1) + delay(ordinal: Int64(firings + index))
            guard accrued >= due else { break }
            points.append(
                DueOccurrences.Point(
                    scheduled: first.scheduled + grid.span.times(index), age: accrued - due))
            index += 1
        }
        return (points, index)
    }

    /// Processes the occurrences that are due by now. Returns nil, with nothing changed, if none is
    /// due.
    mutating func passOccurrences(of schedule: WallSchedule, at now: Now) -> DueOccurrences? {
        guard let first = occurrence, let due = dueOccurrence, due <= now.wall else { return nil }
        isDueThisBoot = false
        let shift = Duration.microseconds(clockEpoch)
        func point(_ occurrence: WallInstant, due: WallInstant) -> DueOccurrences.Point {
            DueOccurrences.Point(scheduled: occurrence + shift, age: now.wall - due)
        }
        var points = [point(first, due: due)]
        let next = occurrence(after: first, schedule)
        if job.policy.randomDelay > .zero {
            // Occurrences up to this instant are due even with the longest delay.
            let sure = startedThrough(now.wall - job.policy.randomDelay)
            progress.expect(next)
            if let next, next <= sure {
                points += later(than: first, of: schedule, through: sure)
                    .map {
                        let delay = delay(ordinal: $0.microsecondsSinceEpoch)
                        return point($0, due: start(of: $0, delay: delay))
                    }
                progress.expect(occurrence(after: sure, schedule))
            }
            while points.count < DueOccurrences.max, let occurrence, let due = dueOccurrence,
                due <= now.wall
            {
                points.append(point(occurrence, due: due))
                progress.expect(self.occurrence(after: occurrence, schedule))
            }
        } else if let next, next <= now.wall {
            points += later(than: first, of: schedule, through: now.wall)
                .map { point($0, due: start(of: $0)) }
            progress.expect(occurrence(after: now.wall, schedule))
        } else {
            progress.expect(next)
        }
        // Occurrences that are closer together than any allowed interval share one firing.
        // Otherwise the loop might never end.
        if let next = occurrence, next - first < Self.occurrencesApartMin {
            let end = now.wall + Self.occurrencesApartMin - .microseconds(1)
            progress.expect(occurrence(after: end, schedule))
        }
        // The next occurrence is known, so everything before it was processed.
        progress.pass(occurrence.map { Swift.min($0 - .microseconds(1), now.wall) } ?? now.wall)
        firings += points.count
        return points.count == 1 ? DueOccurrences(points[0]) : DueOccurrences(points)
    }

    /// Occurrences that are closer together than this count as one.
    static let occurrencesApartMin: Duration = .milliseconds(1)

    /// The occurrences after `first` and not after `last`. If there are very many, only the latest.
    private func later(
        than first: WallInstant, of schedule: WallSchedule, through last: WallInstant
    ) -> [WallInstant] {
        var occurrences: [WallInstant] = []
        var bound = last + .microseconds(1)
        while occurrences.count < DueOccurrences.max - 1,
            let occurrence = occurrence(before: bound, schedule), occurrence > first
        {
            occurrences.append(occurrence)
            bound = occurrence
        }
        return occurrences.reversed()
    }
}

extension Schedule {
    /// The span of counted time in the schedule; nil for a schedule by the wall clock.
    var span: Duration? {
        switch self {
        case .every(let span), .after(let span), .onBoot(let span): span
        case .wall, .onDemand: nil
        }
    }
}

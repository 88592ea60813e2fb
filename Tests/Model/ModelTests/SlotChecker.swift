// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Who holds slots and who waits for them, by the definition: a run takes all of its slots at once,
/// and may do that only if no run that has waited longer names one of them.
struct SlotChecker {
    private let limits: [Int]
    private var held: [Int]
    /// How many runs had to wait for a slot.
    private(set) var waits = 0
    /// The runs that hold nothing and have a place in the queues, the one that has waited longest first.
    private var queue: [(number: Int, uses: [PlainJob.Use])] = []

    init(_ limits: [Int]) {
        self.limits = limits
        held = limits.map { _ in 0 }
    }

    mutating func restart() {
        held = limits.map { _ in 0 }
        queue = []
    }

    /// - Parameter number: a run, which may be in the queue; nil: one that would be the last.
    func areFree(_ uses: [PlainJob.Use], for number: Int?) -> Bool {
        let before = queue.prefix { $0.number != number }
        return uses.allSatisfy { use in
            held[use.slot] + use.weight <= limits[use.slot]
                && !before.contains { $0.uses.contains { $0.slot == use.slot } }
        }
    }

    mutating func wait(_ number: Int, _ uses: [PlainJob.Use]) {
        guard !uses.isEmpty, !queue.contains(where: { $0.number == number }) else { return }
        waits += 1
        queue.append((number, uses))
    }

    mutating func leave(_ number: Int) { queue.removeAll { $0.number == number } }

    mutating func take(_ run: Checker.Attempt) {
        leave(run.number)
        for use in run.slots { held[use.slot] += use.weight }
    }

    mutating func giveBack(_ run: Checker.Attempt) {
        for use in run.slots { held[use.slot] -= use.weight }
    }

    /// The first run in the queue that can take its slots.
    func next(isWaiting: (Int) -> Bool) -> Int? {
        queue.first { isWaiting($0.number) && areFree($0.uses, for: $0.number) }?.number
    }

    /// The place, without these runs, of the first of them that waits. A new run takes it over if it
    /// has the same slots.
    func place(of runs: [Checker.Attempt], ifThisTakes uses: [PlainJob.Use]) -> Int? {
        guard let run = runs.first(where: { run in queue.contains { $0.number == run.number } }),
            run.slots == uses
        else { return nil }
        let others = queue.prefix { $0.number != run.number }
        return others.count { other in !runs.contains { $0.number == other.number } }
    }

    /// Inserts a run where another one was.
    mutating func insert(_ number: Int, _ uses: [PlainJob.Use], at place: Int) {
        queue.insert((number, uses), at: min(place, queue.count))
    }
}

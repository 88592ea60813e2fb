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
    /// The places of these runs in the order in which they began to wait, and of those whose turn it was
    /// and that wait for their condition.
    private var tickets: [Int: Int] = [:]
    private var last = 0

    /// A place that a new run takes over from one that it replaces.
    struct Place {
        fileprivate var ticket: Int
        fileprivate var isInQueue: Bool
    }

    init(_ limits: [Int]) {
        self.limits = limits
        held = limits.map { _ in 0 }
    }

    mutating func restart() {
        held = limits.map { _ in 0 }
        queue = []
        tickets = [:]
    }

    /// - Parameter number: a run, which may have a place; nil: one that would be the last.
    func areFree(_ uses: [PlainJob.Use], for number: Int?) -> Bool {
        let own = number.flatMap { tickets[$0] } ?? .max
        let before = queue.filter { tickets[$0.number] ?? .max < own }
        return uses.allSatisfy { use in
            held[use.slot] + use.weight <= limits[use.slot]
                && !before.contains { $0.uses.contains { $0.slot == use.slot } }
        }
    }

    mutating func wait(_ number: Int, _ uses: [PlainJob.Use]) {
        guard !uses.isEmpty, !queue.contains(where: { $0.number == number }) else { return }
        waits += 1
        insert(number, uses, at: Place(ticket: ticket(of: number), isInQueue: true))
    }

    private mutating func ticket(of number: Int) -> Int {
        if let ticket = tickets[number] { return ticket }
        last += 1
        return last
    }

    mutating func leave(_ number: Int) {
        queue.removeAll { $0.number == number }
        tickets[number] = nil
    }

    /// - Parameter isChecked: whether it may come back, to the place that it has.
    mutating func take(_ run: Checker.Attempt, isChecked: Bool = false) {
        let ticket = isChecked && !run.slots.isEmpty ? ticket(of: run.number) : nil
        leave(run.number)
        tickets[run.number] = ticket
        for use in run.slots { held[use.slot] += use.weight }
    }

    mutating func giveBack(_ run: Checker.Attempt) {
        for use in run.slots { held[use.slot] -= use.weight }
    }

    /// The first run in the queue that can take its slots.
    func next(isWaiting: (Int) -> Bool) -> Int? {
        queue.first { isWaiting($0.number) && areFree($0.uses, for: $0.number) }?.number
    }

    /// The place of the first of these runs that has one. A new run takes it over if it has the same
    /// slots.
    func place(of runs: [Checker.Attempt], ifThisTakes uses: [PlainJob.Use]) -> Place? {
        guard let run = runs.first(where: { tickets[$0.number] != nil }), run.slots == uses,
            let ticket = tickets[run.number]
        else { return nil }
        return Place(
            ticket: ticket, isInQueue: queue.contains { $0.number == run.number })
    }

    /// Gives a run the place where another one was.
    mutating func insert(_ number: Int, _ uses: [PlainJob.Use], at place: Place) {
        tickets[number] = place.ticket
        guard place.isInQueue else { return }
        let index = queue.firstIndex { tickets[$0.number] ?? .max > place.ticket }
        queue.insert((number, uses), at: index ?? queue.count)
    }
}

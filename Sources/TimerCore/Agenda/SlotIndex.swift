// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Which slot the job of a name lies in: a hash table of slot numbers, whose names are read where they are, in
/// the entries. A dictionary would hold each name a second time, which is 30 to 60 bytes of each of many jobs.
///
/// Collisions go to the next free place (linear probing), and taking one out moves those behind it up (Knuth,
/// The Art of Computer Programming 3, 6.4, algorithm R), so that no place is ever marked as used and empty.
struct SlotIndex: Sendable {
    private static let free: Int32 = -1

    /// As many as a power of two, at least a fifth of them free.
    private var places: [Int32] = []
    private(set) var count = 0

    /// The slot of the entry of this name; nil if there is none.
    /// - Complexity: O(1) on average.
    func slot(of name: Job.Name, in entries: [JobEntry?]) -> Int? {
        guard !places.isEmpty else { return nil }
        let place = place(of: name, in: entries)
        return places[place] == Self.free ? nil : Int(places[place])
    }

    /// Adds a slot, whose entry is there and has a name no other in the index has.
    /// - Complexity: O(1) on average.
    mutating func insert(_ slot: Int, in entries: [JobEntry?]) {
        guard let name = entries[slot]?.job.name else { return }
        reserve(count + 1, in: entries)
        places[place(of: name, in: entries)] = Int32(slot)
        count += 1
    }

    /// Takes the slot of this name out, whose entry must still be there.
    /// - Complexity: O(1) on average.
    mutating func remove(_ name: Job.Name, in entries: [JobEntry?]) {
        guard !places.isEmpty else { return }
        var hole = place(of: name, in: entries)
        guard places[hole] != Self.free else { return }
        places[hole] = Self.free
        count -= 1
        var at = next(hole)
        while let other = nameAt(at, in: entries) {
            // It moves up unless its own place lies between the hole and where it is.
            let home = home(of: other)
            let mask = places.count - 1
            if (at - home) & mask >= (at - hole) & mask {
                places[hole] = places[at]
                places[at] = Self.free
                hole = at
            }
            at = next(at)
        }
    }

    /// Makes room for so many.
    /// - Complexity: O(*n*) in the number of slots, if there was none.
    mutating func reserve(_ count: Int, in entries: [JobEntry?]) {
        guard count * 5 > places.count * 4 else { return }
        var size = max(8, places.count)
        while count * 5 > size * 4 { size *= 2 }
        let slots = places.filter { $0 != Self.free }
        places = Array(repeating: Self.free, count: size)
        for slot in slots {
            guard let name = entries[Int(slot)]?.job.name else { continue }
            places[place(of: name, in: entries)] = slot
        }
    }

    /// Where the slot of this name is, or else the free place where it belongs.
    private func place(of name: Job.Name, in entries: [JobEntry?]) -> Int {
        var at = home(of: name)
        while let other = nameAt(at, in: entries), other != name { at = next(at) }
        return at
    }

    private func nameAt(_ place: Int, in entries: [JobEntry?]) -> Job.Name? {
        places[place] == Self.free ? nil : entries[Int(places[place])]?.job.name
    }

    private func home(of name: Job.Name) -> Int { name.hashValue & (places.count - 1) }

    private func next(_ place: Int) -> Int { (place + 1) & (places.count - 1) }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Maps the name of a job to its slot: a hash table of slot numbers that reads the names from the
/// entries. A dictionary would store each name a second time, which costs 30 to 60 bytes for each
/// of many jobs.
///
/// A collision uses the next free place (linear probing), and a removal moves later slots up
/// (Knuth, The Art of Computer Programming 3, 6.4, algorithm R), so that no place has to be marked
/// as deleted.
struct SlotIndex: Sendable {
    private static let free: Int32 = -1

    /// The size is a power of two, and at least a fifth of the places are free.
    private var places: [Int32] = []
    /// Eight bits of the hash of the name at each place. They tell nearly all other names apart
    /// without a look at their entries, which are all over the memory.
    private var tags: [UInt8] = []
    private(set) var count = 0

    /// The slot of the entry with this name; nil if there is none.
    /// - Complexity: O(1) on average.
    func slot(of name: Job.Name, in entries: [JobEntry?]) -> Int? {
        guard !places.isEmpty else { return nil }
        let place = place(of: name, in: entries)
        return places[place] == Self.free ? nil : Int(places[place])
    }

    /// Adds a slot. Its entry must exist, with a name that is not in the index yet.
    /// - Complexity: O(1) on average.
    mutating func insert(_ slot: Int, in entries: [JobEntry?]) {
        guard let name = entries[slot]?.job.name else { return }
        reserve(count + 1, in: entries)
        put(Int32(slot), of: name, in: entries)
        count += 1
    }

    /// Removes the slot of this name. Its entry must still exist.
    /// - Complexity: O(1) on average.
    mutating func remove(_ name: Job.Name, in entries: [JobEntry?]) {
        guard !places.isEmpty else { return }
        var hole = place(of: name, in: entries)
        guard places[hole] != Self.free else { return }
        places[hole] = Self.free
        count -= 1
        var at = next(hole)
        while let other = nameAt(at, in: entries) {
            // The slot moves up unless its home place is between the hole and its current place.
            let home = home(other.hashValue)
            let mask = places.count - 1
            if (at - home) & mask >= (at - hole) & mask {
                places[hole] = places[at]
                tags[hole] = tags[at]
                places[at] = Self.free
                hole = at
            }
            at = next(at)
        }
    }

    /// Makes room for this many slots.
    /// - Complexity: O(*n*) in the number of slots if the table has to grow.
    mutating func reserve(_ count: Int, in entries: [JobEntry?]) {
        guard count * 5 > places.count * 4 else { return }
        var size = max(8, places.count)
        while count * 5 > size * 4 { size *= 2 }
        let slots = places.filter { $0 != Self.free }
        places = Array(repeating: Self.free, count: size)
        tags = Array(repeating: 0, count: size)
        for slot in slots {
            guard let name = entries[Int(slot)]?.job.name else { continue }
            put(slot, of: name, in: entries)
        }
    }

    private mutating func put(_ slot: Int32, of name: Job.Name, in entries: [JobEntry?]) {
        let hash = name.hashValue
        let place = place(of: name, hash, in: entries)
        places[place] = slot
        tags[place] = Self.tag(hash)
    }

    /// The place of the slot with this name, or else the free place where it belongs.
    private func place(of name: Job.Name, in entries: [JobEntry?]) -> Int {
        place(of: name, name.hashValue, in: entries)
    }

    private func place(of name: Job.Name, _ hash: Int, in entries: [JobEntry?]) -> Int {
        let tag = Self.tag(hash)
        var at = home(hash)
        while places[at] != Self.free, tags[at] != tag || nameAt(at, in: entries) != name {
            at = next(at)
        }
        return at
    }

    private func nameAt(_ place: Int, in entries: [JobEntry?]) -> Job.Name? {
        places[place] == Self.free ? nil : entries[Int(places[place])]?.job.name
    }

    private func home(_ hash: Int) -> Int { hash & (places.count - 1) }

    /// Bits that do not decide the home place.
    private static func tag(_ hash: Int) -> UInt8 { UInt8(truncatingIfNeeded: hash >> 56) }

    private func next(_ place: Int) -> Int { (place + 1) & (places.count - 1) }
}

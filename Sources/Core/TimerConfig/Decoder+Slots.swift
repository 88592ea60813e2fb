// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The tables `[slot.NAME]`, and the rules about slots and jobs.
extension Decoder {
    /// The most slots, in all files.
    static let slotsMax = 1000

    mutating func readSlots(_ entry: TomlEntry, _ reader: inout FileReader) {
        for key in reader.table(entry) { readSlot(key, &reader) }
    }

    private mutating func readSlot(_ key: TomlEntry, _ reader: inout FileReader) {
        let subject = "slot \"\(key.shown)\""
        let before = reader.count
        guard
            let (name, entries): (RunSlot.Name, _) = reader.table(
                key, of: "slot", &slotPlaces, most: (Self.slotsMax, "slots"), subject)
        else { return }
        var draft = SlotDraft()
        for entry in entries {
            if entry.key == "fleet" {
                reader.report(
                    Fault(entry.mark, "fleet: a slot is of one machine; fleets have no slots yet"),
                    subject)
            } else {
                reader.read(entry, of: subject, into: &draft)
            }
        }
        if draft.max == nil, !entries.contains(where: { $0.key == "max" }) {
            reader.report(Fault(key.mark, "max is missing, such as max = 1"), subject)
        }
        guard reader.count == before, let max = draft.max else { return }
        slots.append(RunSlot(name: name, max: max))
    }

    /// A job can only name slots that are there, and take no more of one than it has.
    /// - Complexity: O(*n*) in the number of jobs.
    func leaveOutWithWrongSlots(_ found: inout RuleFaults) {
        guard !isSingle, !slotUsePlaces.isEmpty else { return }
        let others = surroundings?.slots ?? []
        let limits = Dictionary((slots + others).map { ($0.name, $0.max) }) { first, _ in first }
        let known = Set(slotPlaces.keys).union(surroundings?.slotNames ?? [])
        var lacksTables = false
        leaveOut(&found, at: slotUsePlaces) { job in
            for use in job.policy.slots {
                if !known.contains(use.name.description) {
                    lacksTables = true
                    return "slots: " + Self.noTable("slot", use.name.description, among: known)
                }
                // The limit of a slot with an error is not known.
                if let max = limits[use.name], use.weight > max {
                    return
                        "slots: takes \(use.weight) of the slot \"\(use.name)\", which has max = \(max); "
                        + "lower the weight, or raise max"
                }
            }
            return nil
        }
        if lacksTables { found.lacksTables = true }
    }

    /// Warns of slots that no job names. Nothing is said of jobs that are left out or not read.
    func unusedSlots() -> [ConfigWarning] {
        guard !slotPlaces.isEmpty, checks != nil, !isSingle, unchanged.isEmpty,
            faults.files.isEmpty, !faults.isWhole
        else { return [] }
        let used = Set(jobs.flatMap { $0.policy.slots.map(\.name.description) })
        return slotPlaces.filter { !used.contains($0.key) }.sorted { $0.key < $1.key }.map {
            ConfigWarning(
                code: .unusedSlot, file: $0.value.file, mark: $0.value.mark,
                message: "slot \"\($0.key)\": no job names it in slots", excerpt: $0.value.excerpt)
        }
    }
}

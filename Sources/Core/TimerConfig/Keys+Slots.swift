// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

/// The values of a table `[slot.NAME]` as they are read.
struct SlotDraft: KeyTarget {
    var max: Int?

    static let keys: [Key<SlotDraft>] = [
        Key(
            \.max, "max", .integer(RunSlot.range),
            "How much of the slot can be taken at the same time by the runs of all jobs.")
    ]
}

extension Draft {
    /// The keys of a job that are about slots.
    static let slots: [JobKey] = [
        JobKey(
            "slots",
            .array(
                .either(
                    .pattern(ValueShape.name),
                    .record([
                        ("name", .pattern(ValueShape.name)), ("weight", .integer(RunSlot.range)),
                    ])), min: 0), type: "[STRING or TABLE, ...]",
            "The slots that each active run of the job takes, by the names of their tables.",
            value: { $0.policy.slots.isEmpty ? .array([]) : nil }
        ) { node, draft throws(Fault) in
            draft.policy.slots = try node.slotUses()
            draft.slotsMark = node.mark
        }
        .summarized { draft in
            draft.policy.slots.isEmpty
                ? nil
                : draft.policy.slots.map { use in
                    use.weight == 1 ? use.name.description : "\(use.name) (\(use.weight))"
                }.joined(separator: ", ")
        },
        JobKey(
            \.policy.onBusySlot, "on-busy-slot", .words,
            "What happens if a run becomes due while a slot of the job is taken."),
    ]
}

extension TomlNode {
    /// The most slots of one job.
    private static let slotUsesMax = 16

    /// Names of slots, or tables with a name and a weight.
    fileprivate func slotUses() throws(Fault) -> [RunSlot.Use] {
        guard case .array(let nodes) = value else {
            throw Fault(mark, "must be an array of names such as [\"disk\"], not \(value.kind)")
        }
        guard nodes.count <= Self.slotUsesMax else {
            throw Fault(mark, "has \(nodes.count) slots; at most \(Self.slotUsesMax)")
        }
        var names: Set<RunSlot.Name> = []
        return try nodes.readEach { (node) throws(Fault) in
            let use = try node.slotUse()
            guard names.insert(use.name).inserted else {
                throw Fault(
                    node.mark, "names the slot \"\(use.name)\" twice; use weight to take more")
            }
            return use
        }
    }

    private func slotUse() throws(Fault) -> RunSlot.Use {
        guard case .table(let entries) = value else {
            return RunSlot.Use(try RunSlot.Name.read(try string(), at: mark))
        }
        var name: RunSlot.Name?
        var weight = 1
        for entry in entries {
            switch entry.key {
            case "name":
                name = try RunSlot.Name.read(try entry.node.string(), at: entry.node.mark)
            case "weight": weight = try entry.node.integer(in: RunSlot.range)
            default:
                throw Fault(
                    entry.mark, "unknown key \"\(entry.shown)\"; a slot has name and weight")
            }
        }
        guard let name else { throw Fault(mark, "the name of the slot is missing") }
        return RunSlot.Use(name, weight: weight)
    }
}

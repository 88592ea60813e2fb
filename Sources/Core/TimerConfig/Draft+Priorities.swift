// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The words of the key `io-class`.
enum IOClass: String, CaseIterable {
    case none, realtime
    case bestEffort = "best-effort"
    case idle
}

/// The words of the key `cpu-policy`.
enum CPUPolicy: String, CaseIterable {
    case other, batch, idle, fifo, rr

    /// Whether the policy has priorities, from 1 to 99.
    var isRealtime: Bool { self == .fifo || self == .rr }
}

extension Draft {
    /// The meaning of `io-class` and `io-priority` together. As in systemd, a level without a class
    /// is one of best-effort.
    var ioScheduling: Priorities.IO {
        let level = ioPriority ?? Priorities.IO.levelDefault
        return switch ioClass {
        case nil: ioPriority == nil ? .standard : .bestEffort(level)
        case .some(.none): .standard
        case .realtime: .realtime(level)
        case .bestEffort: .bestEffort(level)
        case .idle: .idle
        }
    }

    /// The meaning of `cpu-policy` and `cpu-priority` together.
    var cpuScheduling: Priorities.CPU {
        switch cpuPolicy {
        case .other: .other
        case .batch: .batch
        case .idle: .idle
        case .fifo: .fifo(cpuPriority)
        case .rr: .rr(cpuPriority)
        }
    }

    /// Keys of a job's own table that mean something only together with a value of another key,
    /// which the job does not have. In `[defaults]` they apply to the jobs that can have them.
    func strayKeys(among entries: [TomlEntry]) -> [Fault] {
        var faults: [Fault] = []
        for entry in entries {
            guard let companion = Self.companions[entry.key], !companion.isThere(self, entries),
                !entry.removesDefault, refused.isDisjoint(with: companion.keys)
            else { continue }
            faults.append(
                Fault(entry.mark, "\(entry.key) can only be used with \(companion.partner)"))
        }
        return faults + conditionFaults(among: entries) + dateFaults(among: entries)
            + countFaults(among: entries)
            + limitFaults(among: entries)
            + fleetFaults(among: entries)
    }

    /// What a key goes with, and whether the job has that.
    private struct Companion: Sendable {
        var partner: String
        /// The keys that decide whether the job has it.
        var keys: [String]
        var isThere: @Sendable (Draft, [TomlEntry]) -> Bool
    }

    /// The keys that go with certain values of other keys alone.
    private static let companions: [String: Companion] = {
        let ofEvery = Companion(partner: "every", keys: JobKey.schedules) { _, entries in
            !entries.contains { JobKey.schedules.contains($0.key) && $0.key != "every" }
        }
        let ofFleet = Companion(partner: "fleet", keys: ["fleet"]) { draft, _ in
            draft.fleetMark != nil
        }
        let ofWindow = Companion(partner: "window", keys: ["window"]) { draft, _ in
            draft.window != nil
        }
        let ofRepeating = Companion(
            partner: "every, calendar or cron", keys: JobKey.schedules
        ) { _, entries in
            entries.contains { ["every", "calendar", "cron"].contains($0.key) }
        }
        let others = [
            "not-before": ofRepeating, "not-after": ofRepeating,
            "first": ofEvery, "from": ofEvery,
            "outside-window": ofWindow, "stop-at-window-end": ofWindow,
            "concurrency-max": Companion(
                partner: "concurrency = \"allow\"", keys: ["concurrency"]
            ) { draft, _ in
                draft.policy.concurrency == .allow
            },
            "on-busy-slot": Companion(partner: "slots", keys: ["slots"]) { draft, _ in
                !draft.policy.slots.isEmpty
            },
            "io-priority": Companion(
                partner: "io-class = \"best-effort\" or \"realtime\"", keys: ["io-class"]
            ) { draft, _ in draft.ioClass != .some(.none)
            },
            "cpu-priority": Companion(
                partner: "cpu-policy = \"fifo\" or \"rr\"", keys: ["cpu-policy"]
            ) { draft, _ in
                draft.cpuPolicy.isRealtime
            },
        ]
        return Draft.fleets.dropFirst().reduce(into: others) { $0[$1.name] = ofFleet }
    }()
}

extension TomlNode {
    /// The most bytes of a standard input that is written in the file.
    static let standardInputMax = 64 << 10

    /// A text for the standard input; nil if it is empty.
    func standardInput() throws(Fault) -> String? {
        let text = try string()
        guard text.utf8.count <= Self.standardInputMax else {
            throw Fault(
                mark,
                "has \(text.utf8.count) bytes; at most \(Self.standardInputMax): put more into a file, and "
                    + "read that with shell")
        }
        return text.isEmpty ? nil : text
    }
}

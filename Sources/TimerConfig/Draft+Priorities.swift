// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The words of `io-class`.
enum IOClass: String, CaseIterable {
    case none, realtime
    case bestEffort = "best-effort"
    case idle
}

/// The words of `cpu-policy`.
enum CPUPolicy: String, CaseIterable {
    case other, batch, idle, fifo, rr

    /// Whether it has priorities.
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
        case .fifo: .fifo(cpuPriority ?? 1)
        case .rr: .rr(cpuPriority ?? 1)
        }
    }

    /// Keys of a job's own table that mean something only together with a value of another key,
    /// which the job does not have. In `[defaults]` they apply to the jobs that can have them.
    func strayKeys(among entries: [TomlEntry]) -> [Fault] {
        guard fleetMark != nil || entries.contains(where: { Self.companions.contains($0.key) })
        else { return [] }
        func stray(_ key: String, unless isUsed: Bool, _ message: String) -> Fault? {
            guard !isUsed, let entry = entries.first(where: { $0.key == key }) else { return nil }
            return Fault(entry.mark, message)
        }
        let hasOther = entries.contains {
            JobKey.schedules.contains($0.key) && $0.key != "every"
        }
        return [
            stray("first", unless: !hasOther, "first goes with every alone"),
            stray("from", unless: !hasOther, "from goes with every alone"),
            stray(
                "concurrency-max", unless: policy.concurrency == .allow,
                "concurrency-max goes with concurrency = \"allow\" alone"),
            stray(
                "io-priority", unless: ioClass != .some(.none),
                "io-priority goes with io-class = \"best-effort\" or \"realtime\" alone"),
            stray(
                "cpu-priority", unless: cpuPolicy.isRealtime,
                "cpu-priority goes with cpu-policy = \"fifo\" or \"rr\" alone"),
        ].compactMap(\.self) + fleetFaults(among: entries)
    }

    /// The keys that go with certain values of other keys alone. Most jobs have none of them.
    private static let companions = Set(JobKey.fleets.map(\.name)).union([
        "first", "from", "concurrency-max", "io-priority", "cpu-priority",
    ])
}

extension TomlNode {
    /// The most bytes of a standard input.
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

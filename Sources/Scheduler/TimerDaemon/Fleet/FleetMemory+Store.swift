// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet
import TimerStore

extension FleetMemory {
    /// What the saved state of this machine has of its fleet.
    ///
    /// The agenda was loaded before: it closed each recorded run that was not started, and each whose
    /// end is known. So a run that is not closed is active, and one that is not even recorded was
    /// never started.
    init(_ known: Store.KnownFleet?, _ records: [Store.ClaimedRecord]) {
        self.init()
        if let known { self.known = IdentityGuard(known) }
        isDrained = known?.isDrained ?? false
        for record in records {
            let value = try? RunValue(text: record.value)
            if let value { runs.append(LocalRun(run: record.run, value: value)) }
            registry[record.run] = Self.state(of: record, claimed: value?.claimed)
        }
    }

    private static func state(
        of record: Store.ClaimedRecord, claimed: WallInstant?
    ) -> RunnerState? {
        guard record.isRecorded else { return nil }
        // The start itself is not in the store; a run starts soon after it was claimed.
        guard let end = record.end else { return .began(claimed ?? record.run.firing.scheduled) }
        switch end.outcome {
        case .lost(.unstarted): return .unstarted
        // What it did before the machine went down is not known, in this boot as in any other.
        case .lost(.reboot): return nil
        case .exited, .signalled, .timedOut, .replaced, .stopped, .windowEnded, .spawnFailed,
            .skipped,
            .lost(.daemon), .lost(.runner), .lost(.deadline), .lost(.machine):
            return .ended(end.outcome, began: end.began ?? end.at, at: end.at)
        }
    }
}

extension IdentityGuard {
    fileprivate init(_ known: Store.KnownFleet) {
        self.init()
        cluster = known.cluster
        identity = known.identity.flatMap { try? IdentityValue(text: $0) }
        seen.revision = known.revision
        for (name, stored) in known.values {
            switch FleetKey(path: name, in: SeenValues.fleet) {
            case .job(let job): seen.jobs[job] = Versioned(stored)
            case .hold: seen.hold = Versioned(stored)
            case .clock:
                seen.clock = try? ClockValue(text: stored.text)
                seen.clockAt = WallInstant(kept: stored.modified)
            case .identity, .member, .run, nil: break
            }
        }
    }
}

extension Store.KnownFleet {
    init(_ known: IdentityGuard) {
        self.init(
            cluster: known.cluster, identity: known.identity?.text, revision: known.seen.revision,
            values: known.seen.values)
    }
}

extension SeenValues {
    /// The keys are stored as if the fleet had this name: a machine belongs to one fleet.
    fileprivate static let fleet = "f"

    /// The values as they are stored.
    var values: [String: Store.KnownFleet.Value] {
        var values: [String: Store.KnownFleet.Value] = [:]
        func add(_ key: FleetKey, _ text: String, _ modified: Int64) {
            values[key.path(in: Self.fleet)] = Store.KnownFleet.Value(text, modified: modified)
        }
        for (name, job) in jobs { add(.job(name), job.value.text, job.modified) }
        if let hold { add(.hold, hold.value.text, hold.modified) }
        // It is the last one, so in the place of its revision there is when it was remembered.
        if let clock, let clockAt {
            add(.clock, clock.text, clockAt.microsecondsSinceEpoch)
        }
        return values
    }
}

extension Versioned where Value: FleetValue {
    /// Nil if the text cannot be read.
    fileprivate init?(_ stored: Store.KnownFleet.Value) {
        guard let value = try? Value(text: stored.text) else { return nil }
        self.init(value, created: 0, modified: stored.modified)
    }
}

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
        // It began soon after it was claimed.
        guard let end = record.end else { return .began(claimed ?? record.run.firing.scheduled) }
        switch end.outcome {
        case .lost(.unstarted): return .unstarted
        // What it did before the machine went down is not known, in this boot as in any other.
        case .lost(.reboot): return nil
        default:
            return .ended(end.outcome, began: end.began ?? end.at, at: end.at)
        }
    }
}

extension IdentityGuard {
    fileprivate init(_ known: Store.KnownFleet) {
        self.init()
        cluster = known.cluster
        identity = known.identity.flatMap { try? IdentityValue(text: $0) }
        revision = known.revision
        cursors = known.cursors
    }
}

extension Store.KnownFleet {
    init(_ known: IdentityGuard) {
        self.init(
            cluster: known.cluster, identity: known.identity?.text, revision: known.revision,
            cursors: known.cursors)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Why a firing was skipped, without the numbers and runs that `Notice.SkipReason` has. Machines alone
/// and fleets have the same words.
public enum SkipKind: Int, CaseIterable, Sendable {
    // Rules that apply on one machine; all but a few of them apply in a fleet as well.
    case stillRunning, concurrencyMax, queueFull, missed, catchUpMax, deadline, clockSet, byOrder
    /// A slot of the job was taken.
    case slotBusy
    /// The window of the job was closed.
    case outsideWindow
    /// The job was paused. A machine alone keeps no record of what was due during a pause.
    case paused
    /// The fleet was held.
    case held
    /// The definition that the fleet uses was changed before the firing could start.
    case redefined
    /// It was due before the store of the fleet was adopted. Whether it was started is not known: the
    /// record of that may be in the store that was lost.
    case adopted
    /// It was due while no machine had a connection to the fleet, and the job skips that.
    case away

    /// Those that a machine alone can have. Only these are counted.
    public static let counted = allCases.prefix { $0 != .paused }

    /// The word for it in the journal, JSON and metrics.
    public var word: String {
        switch self {
        case .stillRunning: "still-running"
        case .concurrencyMax: "concurrency-max"
        case .queueFull: "queue-full"
        case .missed: "missed"
        case .catchUpMax: "catch-up-max"
        case .deadline: "deadline"
        case .clockSet: "clock-set"
        case .byOrder: "by-order"
        case .slotBusy: "slot-busy"
        case .outsideWindow: "outside-window"
        case .paused: "paused"
        case .held: "held"
        case .redefined: "redefined"
        case .adopted: "adopted"
        case .away: "away"
        }
    }

    /// The reason with this word; nil if there is none.
    public init?(word: String) {
        guard let kind = Self.allCases.first(where: { $0.word == word }) else { return nil }
        self = kind
    }
}

extension Notice.SkipReason {
    /// The reason without its details, as it is counted and stored.
    public var kind: SkipKind {
        switch self {
        case .stillRunning: .stillRunning
        case .concurrencyMax: .concurrencyMax
        case .queueFull: .queueFull
        case .missed: .missed
        case .catchUpMax: .catchUpMax
        case .deadline: .deadline
        case .clockSet: .clockSet
        case .byOrder: .byOrder
        case .slotBusy: .slotBusy
        case .outsideWindow: .outsideWindow
        }
    }
}

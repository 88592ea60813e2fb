// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A point in the history of a fleet, which goes on when its store is lost: the number of the adoption, and
/// the revision in the store that was adopted.
///
/// A store that was restored or made again begins with smaller revisions, so the adoption goes first.
public struct FleetPoint: Comparable, Hashable, Sendable {
    /// Both as one number, in the order of the points. Not negative.
    public let number: Int64

    /// The point before all others.
    static let first = FleetPoint(number: 0)

    /// Nil if one of the numbers is negative or too large: 2^15 adoptions, 2^48 revisions.
    public init?(epoch: Int64, revision: Int64) {
        guard (0..<1 << 15).contains(epoch), (0..<1 << 48).contains(revision) else { return nil }
        number = epoch << 48 | revision
    }

    init(number: Int64) { self.number = number }

    /// The number of the adoption.
    var epoch: Int64 { number >> 48 }

    public static func < (left: Self, right: Self) -> Bool { left.number < right.number }
}

extension FleetFields {
    mutating func optionalPoint(_ name: String) throws(FleetFault) -> FleetPoint? {
        has(name) ? FleetPoint(number: try number(name, from: 0)) : nil
    }
}

/// How far the log of a store is, and what it had then: read from one member at one instant.
///
/// Each change of an etcd is an entry of its log, and there are entries that change nothing. So a log has
/// more entries than the store has revisions; but not that of an etcd that was restored from a snapshot,
/// which has the revisions of the snapshot and a log that begins again. That shows also who remembers
/// nothing that a copy was restored, even one with the same cluster identifier.
public struct FleetLog: Hashable, Sendable {
    /// How many entries were committed, at least.
    public let entries: Int64
    /// The revision.
    public let revision: Int64

    /// As it was read. Nil if one of the numbers is negative or 2^53 at least: no log is that long, and
    /// what is calculated with others could overflow.
    public init?(entries: Int64, revision: Int64) {
        let range: Range<Int64> = 0..<1 << 53
        guard range.contains(entries), range.contains(revision) else { return nil }
        self.entries = entries
        self.revision = revision
    }

    /// How many more entries than revisions there are. It never becomes smaller, except by a restore.
    var lead: Int64 { entries - revision }

    /// How much it may seem smaller later: what was committed between the two readings, and what a member
    /// that lags does not have yet.
    private static let tolerance: Int64 = 64

    /// What the lead is at least from now on. A store that was never restored has one of 0 at least.
    var leadToExpect: Int64 { lead >= 0 ? 0 : lead - Self.tolerance }
}

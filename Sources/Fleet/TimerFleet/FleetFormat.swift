// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The format of the values in a store: what they may contain. Each machine writes which formats it
/// knows up to, and the identity of the store has the one that is used. Only when all machines that are
/// connected know a newer one is that raised, so that the machines can be upgraded one after the other.
/// A machine that does not know the format of the store stands by, and changes nothing in it.
///
/// A new member of a value that older versions read, or another meaning of one, needs a new format.
public enum FleetFormat: Int64, CaseIterable, Comparable, Sendable {
    /// Values without a number are of this format.
    case first = 1
    /// A machine that starts no runs says why, and the fence has the number of the adoption.
    case second = 2
    /// The identity tells a store that was restored from a snapshot, and after an adoption the machines
    /// bring back what they remember.
    case third = 3
    /// A run can have been skipped because it had nothing to do (`RunOutcome.skipped`).
    case fourth = 4

    /// The newest one that this version knows.
    public static let newest = allCases.max() ?? .first

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension FleetMember {
    /// The format in which this machine writes.
    var format: FleetFormat {
        view.flatMap { FleetFormat(rawValue: $0.identity.value.format) } ?? .first
    }

    /// The end of a run in words that each machine of the fleet can read. Where a machine with an older
    /// version is connected, a run whose condition was not met counts as stopped; the exit code of one
    /// that had nothing to do is judged again when it is read.
    func inFormat(_ outcome: RunOutcome) -> RunOutcome {
        guard format < .fourth, case .skipped(let skip) = outcome else { return outcome }
        return switch skip {
        case .exit(let code): .exited(code)
        case .condition: .stopped
        }
    }

    /// Raises the format of the store once each machine that is connected knows a newer one. What
    /// another machine sends meanwhile compares the identity, and does nothing: a machine with an older
    /// version that this one has not seen yet reads the store again, and stands by.
    mutating func raiseFormat() {
        guard isReady, let view, !outbox.has(where: \.isIdentity) else { return }
        let known = view.members.values.map(\.value.format) + [configuration.format.rawValue]
        var identity = view.identity.value
        if let common = known.min(), common > identity.format { identity.format = common }
        if identity.format >= FleetFormat.third.rawValue, identity.logLead == nil {
            identity.logLead = view.log?.leadToExpect
        }
        guard identity != view.identity.value else { return }
        send(identity, after: view.identity)
    }

    /// Sends a change of the identity.
    mutating func send(_ identity: IdentityValue, after known: Versioned<IdentityValue>) {
        send(
            FleetTransaction(
                compares: [.modified(.identity, known.modified)],
                changes: [.put(.identity, identity.text, lease: nil)], reads: [.identity]),
            for: .identity)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// One start of the daemon of one machine.
///
/// It says which boot of the machine it is in: only in the boot in which a run was claimed does the
/// runner's registry know for certain whether the run was started.
public struct Incarnation: Hashable, Sendable, LosslessStringConvertible {
    /// The boot of the machine.
    public var boot: BootID
    /// The number of the start; it grows with each start that is recorded on this machine. Not
    /// negative.
    public var number: Int64

    /// The start with this number in `boot`.
    public init(boot: BootID, number: Int64) {
        self.boot = boot
        self.number = number
    }

    /// Parses the text that `description` produces; nil for any other text.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let boot = BootID(String(parts[0])), let number = Int64(parts[1]),
            number >= 0
        else { return nil }
        self.init(boot: boot, number: number)
        guard description == text else { return nil }
    }

    public var description: String { "\(boot):\(number)" }
}

/// A key of the fleet's store, without the prefix of the fleet.
public enum FleetKey: Hashable, Sendable {
    /// Which store it is. It exists since the fleet was formed by the first `adopt`.
    case identity
    /// The fleet clock.
    case clock
    /// Whether the fleet is held. It exists since the fleet was formed.
    case hold
    /// A machine whose daemon is connected; the key is leased.
    case member(MachineName)
    /// What all machines share about a job.
    case job(Job.Name)
    /// One attempt at a firing of a job.
    case run(Run.ID)

    /// The complete key in the store.
    ///
    /// - Parameter fleet: the name of the fleet, of the form of a job name.
    public func path(in fleet: String) -> String { Self.prefix(of: fleet) + name }

    /// What all keys of a fleet begin with.
    public static func prefix(of fleet: String) -> String { "/timerd/\(fleet)/" }

    /// The key without the prefix.
    var name: String {
        switch self {
        case .identity: "identity"
        case .clock: "clock"
        case .hold: "hold"
        case .member(let machine): "member/\(machine)"
        case .job(let job): "job/\(job)"
        case .run(let run):
            "run/\(run.firing.job)/\(run.firing.scheduled.basicISO8601):\(run.attempt)"
        }
    }

    /// Parses a complete key of this fleet; nil if it is none.
    public init?(path: String, in fleet: String) {
        let prefix = Self.prefix(of: fleet)
        guard path.hasPrefix(prefix) else { return nil }
        let parts = path.dropFirst(prefix.count).split(
            separator: "/", omittingEmptySubsequences: false
        ).map(String.init)
        switch (parts.first, parts.count) {
        case ("identity", 1): self = .identity
        case ("clock", 1): self = .clock
        case ("hold", 1): self = .hold
        case ("member", 2):
            guard let machine = MachineName(parts[1]) else { return nil }
            self = .member(machine)
        case ("job", 2):
            guard let job = Job.Name(parts[1]) else { return nil }
            self = .job(job)
        case ("run", 3):
            guard let run = Run.ID("\(parts[1]):\(parts[2])") else { return nil }
            self = .run(run)
        default: return nil
        }
    }
}

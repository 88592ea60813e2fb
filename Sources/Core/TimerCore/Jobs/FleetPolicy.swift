// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// How a job is shared by the machines of a fleet: each of its firings starts on one of them, or each of
/// them has firings of its own and shares only the pause.
public struct FleetPolicy: Hashable, Sendable {
    /// The shortest `takeoverDelay`. With a shorter one, several machines would claim each firing at
    /// the same time, and all but one of them in vain.
    public static let takeoverDelayMin = Duration.milliseconds(100)

    /// The labels that a machine must have to start the job.
    public var labels: Set<String> = []
    /// The machines that start it first, in this order.
    public var prefer: [MachineName] = []
    /// How long each further machine waits for the one before it. At least `takeoverDelayMin`.
    public var takeoverDelay = Duration.seconds(2)
    /// What happens with a run whose machine disappeared.
    public var onLost = Loss.leave
    /// What happens with a run whose machine loses its connection to the fleet.
    public var onIsolation = Isolation.keep
    /// What happens with what was due while no machine had a connection.
    public var onFleetAway = Away.wait
    /// The name in the configuration of a job that each machine runs for itself; its own name is
    /// `Job.Name.instance(on:)` of that. Nil: each firing starts on one machine.
    public var template: Job.Name?

    public init() {}

    /// What happens with a run whose machine disappeared. Perhaps it did its work.
    public enum Loss: String, CaseIterable, Hashable, Sendable {
        /// It is not started again.
        case leave
        /// It is started again, on any machine.
        case retry
    }

    /// What happens with a run whose machine has no connection to the fleet any more.
    public enum Isolation: String, CaseIterable, Hashable, Sendable {
        /// It goes on, so that another machine may run the job beside it.
        case keep
        /// It is ended before other machines may count its machine as gone, so that none of them runs
        /// the job beside it. Its `kill-timeout` comes on top.
        case stop
    }

    /// What happens with a firing that was due while etcd did not answer.
    public enum Away: String, CaseIterable, Hashable, Sendable {
        /// It waits, and is treated as any other that was missed.
        case wait
        /// It is skipped.
        case skip
    }
}

extension Job.Name {
    /// The name on one machine of a job with this name that each machine runs for itself, as of an
    /// instance of a template of systemd; nil if it is too long for the name of a job.
    public func instance(on machine: MachineName) -> Job.Name? { Job.Name("\(self)@\(machine)") }
}

/// The name of a machine in its fleet. It has the form of a job name.
public struct MachineName: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let description: String

    /// Returns nil if `text` is no valid name.
    public init?(_ text: String) {
        guard Job.Name(text) != nil else { return nil }
        description = text
    }

    /// What is wrong with `text` as the name of a machine, as the end of a sentence; nil if it is
    /// valid.
    public static func fault(in text: String) -> String? {
        Job.Name.fault(in: text, as: "the name of a machine")
    }

    public static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}

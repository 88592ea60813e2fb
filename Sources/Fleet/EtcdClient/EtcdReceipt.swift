// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore
public import TimerFleet

/// What each answer of etcd says about the cluster and the clocks.
public struct EtcdReceipt: Hashable, Sendable {
    /// The endpoint that answered, as in the options.
    public var endpoint: String
    /// The cluster, in hexadecimal digits, as etcdctl writes it.
    public var cluster: String
    /// The revision of the store when etcd answered.
    public var revision: Int64
    /// The clocks of this machine just before the request was sent. The connection existed already.
    public var sent: Now
    /// The clocks after the header with the date had arrived.
    public var received: Now
    /// What the clock of the endpoint read in between, in whole seconds since 1970; nil if it did
    /// not say. It is for `SkewBounds`.
    public var date: Int64?
}

/// All keys of a fleet, as of one revision.
public struct EtcdSnapshot: Sendable {
    /// The values of all keys of the fleet, as of one revision.
    public var snapshot: FleetSnapshot
    /// Some keys below the prefix of the fleet that are none of its keys, as they can be shown.
    public var unknownKeys: [String]
    /// The answer with the last of the keys.
    public var receipt: EtcdReceipt
}

/// What one member of the cluster says about itself.
public struct EtcdStatus: Hashable, Sendable {
    /// From which endpoint it is, with the revision and the date.
    public var receipt: EtcdReceipt
    /// The version of etcd on this member.
    public var version: String
    /// How large its database is, in bytes.
    public var databaseBytes: Int64
    /// Whether it knows a leader; without one it can change nothing.
    public var hasLeader: Bool
    /// How many entries of the log it has applied.
    public var logEntries: Int64
    /// Its alarms and errors, as they can be shown. An alarm contains `NOSPACE` or `CORRUPT`.
    public var errors: [String]
}

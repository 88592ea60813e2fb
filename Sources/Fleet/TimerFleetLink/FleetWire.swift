// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public enum FleetSocket {
    /// Where it is if nothing else is configured.
    public static let path = "/run/timerd-fleet/fleet.sock"
}

/// The protocol between a scheduler and `timerd-fleet`, over a stream socket: frames of a length (4
/// bytes, little-endian), a kind (1 byte) and the payload, as between scheduler and runner.
///
/// The scheduler starts with `hello`, and the other end answers with `welcome` or `refused`. From then
/// on each request gets exactly one answer, in any order: `leased`, `kept`, `leaseLost` or
/// `leaseUnanswered`; `leaseEnded`; `loaded` or `watchLost`; `answered` or `unknown`. `dated` and
/// `status` come at any time. While an answer is missing, something is sent at least each
/// `aliveInterval`. Nothing is sent again on a new connection.
package enum FleetWire {
    /// The version of the protocol; both sides must have the same.
    package static let version: UInt64 = 3
    /// The most bytes of a frame from the scheduler. etcd's own limit for a request is 1.5 MiB.
    package static let requestBytesMax = 4 << 20
    /// The most bytes of a frame to the scheduler: what etcd answers to a transaction fits, and one
    /// revision of a watch, both of which `EtcdOptions` limits to 16 MiB of JSON.
    package static let reportBytesMax = 32 << 20
    /// How many bytes of keys and values are sent in one `values`, if there are several.
    package static let valueBytesPerFrame = 256 << 10
    /// How many keys a snapshot has at most.
    package static let snapshotKeysMax = 1 << 20
    /// How many bytes of keys and values it has at most.
    package static let snapshotBytesMax = 256 << 20
    /// How many transactions may be without an answer at a time.
    package static let transactionsMax = 4096
    /// How many requests about leases may be without an answer at a time.
    package static let leaseRequestsMax = 8
    /// How long `timerd-fleet` says nothing at most while an answer is missing, in nanoseconds.
    package static let aliveInterval: Int64 = 2_000_000_000
    /// How long it may be silent before it counts as hung, in nanoseconds.
    package static let silenceMax: Int64 = 6_000_000_000
    /// The longest sentence in a message, in bytes.
    package static let sentenceBytesMax = 8 << 10
}

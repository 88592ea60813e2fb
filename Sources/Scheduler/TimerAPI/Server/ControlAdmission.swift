// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Decides which connections are accepted at the same time. A user with read access cannot use up
/// the connections of others, and all such users together cannot use up those of root and of the
/// daemon's user.
struct ControlAdmission {
    /// The most connections that are open at the same time.
    static let connectionsMax = 128
    /// The most connections of all users with read access together. The others are reserved for
    /// root and the daemon's user.
    static let guestsMax = 64
    /// The most connections of one user with read access.
    static let perUserMax = 16
    /// The most new connections per second of one such user, and how many may come at once.
    static let perUserRate = 100
    static let perUserBurst = 50

    /// The limit because of which a connection is not accepted.
    enum Refusal: Hashable {
        case full, guestsFull, userFull, userTooFast

        /// The sentence that the client gets as the error.
        var sentence: String {
            switch self {
            case .full:
                "there are \(connectionsMax) connections, which is the limit; try again later"
            case .guestsFull:
                "users who may only look have \(guestsMax) connections, the limit for them; "
                    + "try again later"
            case .userFull:
                "you have \(perUserMax) connections, the limit for a user; close one, or try "
                    + "again later"
            case .userTooFast:
                "you made more than \(perUserRate) connections a second; try again later"
            }
        }
    }

    private struct User {
        var connections = 0
        /// How many connections may still come at once, as of `instant`.
        var saved = Double(perUserBurst)
        var savedAt: UInt64
    }

    /// Whether users share the connections; if not, each is treated as root.
    private let sharesPlaces: Bool
    private var privileged = 0
    private var guests = 0
    private var users: [UInt32: User] = [:]

    init(sharesPlaces: Bool = true) { self.sharesPlaces = sharesPlaces }

    /// How many connections are open.
    var count: Int { privileged + guests }

    /// For how many users a record is kept.
    var knownUsers: Int { users.count }

    /// Counts a connection that comes at this instant, in nanoseconds of a clock that never runs
    /// backwards.
    ///
    /// - Returns: nil if the connection is accepted; otherwise the reason, and the connection does
    ///   not count.
    mutating func admit(_ peer: Peer, at now: UInt64) -> Refusal? {
        if peer.isOwner || !sharesPlaces {
            guard count < Self.connectionsMax else { return .full }
            privileged += 1
            return nil
        }
        var user = users[peer.uid] ?? User(savedAt: now)
        let passed = Double(now - user.savedAt) / 1e9
        user.saved = min(Double(Self.perUserBurst), user.saved + passed * Double(Self.perUserRate))
        user.savedAt = now
        let refusal: Refusal? =
            user.saved < 1
            ? .userTooFast
            : user.connections >= Self.perUserMax
                ? .userFull
                : guests >= Self.guestsMax
                    ? .guestsFull : count >= Self.connectionsMax ? .full : nil
        if refusal == nil {
            user.saved -= 1
            user.connections += 1
            guests += 1
        }
        users[peer.uid] = user
        return refusal
    }

    /// Removes a connection that was counted.
    mutating func leave(_ peer: Peer, at now: UInt64) {
        guard !peer.isOwner, sharesPlaces else {
            privileged -= 1
            return
        }
        guests -= 1
        users[peer.uid]?.connections -= 1
        // A user without connections soon has the full allowance again, so the record can be
        // dropped.
        if users.count > Self.guestsMax {
            users = users.filter {
                $0.value.connections > 0 || now - $0.value.savedAt < 1_000_000_000
            }
        }
    }
}

/// Limits the processor time for new connections, because due runs need it too.
struct AcceptBudget {
    /// The cost of an accepted connection, in nanoseconds: at most 500 of them per second.
    static let accepted = 2_000_000.0
    /// The cost of a refused connection: at most 5000 of them per second.
    static let refused = 200_000.0
    /// The most that can be saved up: for a burst of 64 accepted connections.
    static let savedMax = 128_000_000.0

    private var saved = savedMax
    private var savedAt: UInt64 = 0

    /// Spends a cost at this instant, in nanoseconds.
    ///
    /// - Returns: for how many nanoseconds no further connection may be accepted.
    mutating func spend(_ cost: Double, at now: UInt64) -> UInt64 {
        saved = min(Self.savedMax, saved + Double(now - min(now, savedAt)))
        savedAt = now
        saved -= cost
        return saved < 0 ? UInt64(-saved) : 0
    }
}

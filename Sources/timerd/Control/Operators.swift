// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostFiles
import Synchronization
import TimerCore

/// Who may change things in addition to root and the daemon's user: `operators` of the configuration, as user and group
/// IDs.
///
/// The names are looked up on a separate queue, because a directory service may take long (nsswitch.conf(5)). Until
/// that is done, the previous operators keep their rights; at first there are none.
final class Operators: Sendable {
    /// Finds the ID of a user and of a group; may block; nil if there is none.
    struct LookUp: Sendable {
        var user: @Sendable (String) -> UInt32?
        var group: @Sendable (String) -> UInt32?
    }

    private struct State {
        var users: Set<UInt32> = []
        var groups: Set<UInt32> = []
        /// Which of the requests to look names up is the latest one.
        var generation = 0
    }

    private let queue = DispatchQueue(label: "timerd.operators", qos: .utility)
    private let lookUp: LookUp
    private let state = Mutex(State())

    init(_ lookUp: LookUp = .system) { self.lookUp = lookUp }

    /// Looks up these names; they replace all others.
    ///
    /// - Parameter done: called when they are in use, or when others replaced them.
    func use(_ names: AllowedUsers, done: @escaping @Sendable () -> Void = {}) {
        let generation = state.withLock { state in
            // A user who was removed loses the right at once, even if the look-up takes long.
            if names.users.isEmpty { state.users = [] }
            if names.groups.isEmpty { state.groups = [] }
            state.generation += 1
            return state.generation
        }
        queue.async { [self] in
            defer { done() }
            guard state.withLock({ $0.generation == generation }) else { return }
            let users = Set(names.users.compactMap { lookUp.user($0) })
            let groups = Set(names.groups.compactMap { lookUp.group($0) })
            state.withLock { state in
                guard state.generation == generation else { return }
                (state.users, state.groups) = (users, groups)
            }
        }
    }

    /// Whether this peer may change things.
    func mayChange(_ peer: Peer) -> Bool {
        guard !peer.isOwner else { return true }
        guard peer.origin != .program else { return false }
        return state.withLock { state in
            state.users.contains(peer.uid) || peer.groups.contains { state.groups.contains($0) }
        }
    }
}

extension Operators.LookUp {
    /// Asks the user database of the system.
    static let system = Operators.LookUp {
        UserDatabase.user(named: $0).entry?.uid
    } group: {
        UserDatabase.group(named: $0).entry?.gid
    }
}

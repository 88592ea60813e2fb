// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import Synchronization
import TimerCore

/// Who may change things in addition to root and the daemon's user: `operators` of the configuration.
///
/// The names are looked up again when an answer is older than some seconds, so that no user keeps a right because of a
/// name or a number that belongs to another one now. While a name cannot be looked up, no user has a right because of
/// it; those of the other names do not depend on it. A name that is removed from the configuration counts no more at
/// once, even if look-ups hang.
package final class Operators: Sendable {
    typealias Answer = UserDatabase.Answer<UInt32>

    /// Finds the ID of a user and of a group; may block.
    struct LookUp: Sendable {
        var user: @Sendable (String) -> Answer
        var group: @Sendable (String) -> Answer
    }

    /// Whether a client may change things.
    package enum Right: Hashable, Sendable {
        case granted
        case denied
        /// It cannot be found out now: a look-up failed or takes too long.
        case unknown
    }

    private enum Name: Hashable, Sendable {
        case user(String)
        case group(String)
    }

    private let cache: LookUpCache<Name, UInt32>
    private let names = Mutex<Set<Name>>([])

    init(
        _ lookUp: LookUp = .system, limits: LookUpLimits = LookUpLimits(),
        now: @escaping @Sendable () -> UInt64 = WebSessions.clock
    ) {
        cache = LookUpCache(label: "timerd.operators", limits: limits, now: now) { name in
            switch name {
            case .user(let name): lookUp.user(name)
            case .group(let name): lookUp.group(name)
            }
        }
    }

    /// Follows a configuration: these names replace all others at once. They are looked up in advance.
    func use(_ operators: AllowedUsers) {
        let new = Set(
            operators.users.map { Name.user($0) } + operators.groups.map { Name.group($0) })
        names.withLock { $0 = new }
        for name in new { cache.find(name) { _ in } }
    }

    /// Finds out whether this peer may change things, now. Calls `done` once, at once or on another thread.
    func check(_ peer: Peer, _ done: @escaping @Sendable (Right) -> Void) {
        guard !peer.isOwner else { return done(.granted) }
        let names = self.names.withLock { $0 }
        guard peer.origin != .program, !names.isEmpty else { return done(.denied) }
        let answers = Answers(names.count)
        for name in names {
            cache.find(name) { [self] answer in
                // The name may have been removed from the configuration meanwhile.
                let isMatch =
                    answer.entry.map { matches(name, $0, peer) } == true
                    && self.names.withLock { $0.contains(name) }
                if let right = answers.add(answer, isMatch: isMatch) { done(right) }
            }
        }
    }

    /// Finds the number of any user. Calls `done` once, at once or on another thread.
    func findUser(_ name: String, _ done: @escaping @Sendable (Answer) -> Void) {
        cache.find(.user(name), done)
    }

    /// Whether this peer could change things according to the last look-ups, however old these are. This decides
    /// only about limits, such as that of the length of a request; `check` decides about rights.
    func mayHaveRight(_ peer: Peer) -> Bool {
        guard !peer.isOwner else { return true }
        guard peer.origin != .program else { return false }
        return names.withLock { $0 }.contains { name in
            cache.last(name)?.entry.map { matches(name, $0, peer) } ?? false
        }
    }

    private func matches(_ name: Name, _ id: UInt32, _ peer: Peer) -> Bool {
        switch name {
        case .user: peer.uid == id
        case .group: peer.groups.contains(id)
        }
    }

    /// Collects the answers of the look-ups that one question about a peer needs.
    private final class Answers: Sendable {
        private struct State {
            /// How many look-ups have not answered yet.
            var missing: Int
            var hasFailure = false
            var isDone = false
        }

        private let state: Mutex<State>

        init(_ count: Int) { state = Mutex(State(missing: count)) }

        /// Adds an answer.
        ///
        /// - Returns: the result, once, as soon as it is known.
        func add(_ answer: Answer, isMatch: Bool) -> Right? {
            state.withLock { state in
                state.missing -= 1
                if case .failed = answer { state.hasFailure = true }
                guard !state.isDone, isMatch || state.missing == 0 else { return nil }
                state.isDone = true
                return isMatch ? .granted : state.hasFailure ? .unknown : .denied
            }
        }
    }
}

extension Operators.LookUp {
    static let system = Operators.LookUp {
        UserDatabase.user(named: $0).map(\.uid)
    } group: {
        UserDatabase.group(named: $0).map(\.gid)
    }
}

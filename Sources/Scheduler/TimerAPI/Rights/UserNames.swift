// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostFiles
import HostQueues
import TimerCore

/// The names of users. A look-up may ask a directory over the network (nsswitch.conf(5)) and be
/// slow. So look-ups have a queue of their own, and a caller waits for a limited time.
package actor UserNames: QueueActor {
    /// How long a caller waits for a name. After that it gets the user's number.
    static let timeout: Duration = .milliseconds(200)
    /// The age at which a name is looked up again, in nanoseconds. The old name is used in the
    /// meantime.
    static let freshTime: UInt64 = 300 * 1_000_000_000

    nonisolated let executor = QueueExecutor(label: "timerd.names", qos: .utility)
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// The queue on which look-ups block, because a directory service may answer late.
    private let lookUps = DispatchQueue(label: "timerd.name-look-ups", qos: .utility)
    private let lookUp: @Sendable (UInt32) -> String?
    private var users: [UInt32: User] = [:]

    private struct User {
        var name: String?
        var foundAt: UInt64 = 0
        var isBeingLookedUp = false
        /// Whether the look-up has taken longer than a caller waits. Further callers do not wait
        /// then.
        var isLate = false
        var waiting: [@Sendable (String) -> Void] = []
    }

    /// - Parameter lookUp: finds the name of a user; may block; nil if there is none.
    init(lookUp: @escaping @Sendable (UInt32) -> String? = UserNames.inUserDatabase) {
        self.lookUp = lookUp
    }

    /// The text for a user whose name is not known.
    static func number(_ uid: UInt32) -> String { "uid \(uid)" }

    /// Calls `done` once with the user's name, or with `uid N` if none is found in time.
    nonisolated func name(of uid: UInt32, _ done: @escaping @Sendable (String) -> Void) {
        later { $0.answer(uid, done) }
    }

    private func answer(_ uid: UInt32, _ done: @escaping @Sendable (String) -> Void) {
        var user = users[uid] ?? User()
        let isFresh =
            user.name != nil
            && DispatchTime.now().uptimeNanoseconds - user.foundAt < Self.freshTime
        if let name = user.name {
            done(name)
        } else if user.isLate {
            done(Self.number(uid))
        } else {
            user.waiting.append(done)
        }
        if !isFresh, !user.isBeingLookedUp {
            user.isBeingLookedUp = true
            begin(uid)
        }
        users[uid] = user
    }

    private func begin(_ uid: UInt32) {
        lookUps.async { [self] in
            let name = lookUp(uid) ?? Self.number(uid)
            later { $0.store(name, for: uid) }
        }
        later(after: Self.timeout) { $0.giveUpWaiting(for: uid) }
    }

    private func store(_ name: String, for uid: UInt32) {
        let waiting = users[uid]?.waiting ?? []
        users[uid] = User(name: name, foundAt: DispatchTime.now().uptimeNanoseconds)
        for done in waiting { done(name) }
    }

    private func giveUpWaiting(for uid: UInt32) {
        guard var user = users[uid], user.isBeingLookedUp else { return }
        user.isLate = true
        let waiting = user.waiting
        user.waiting = []
        users[uid] = user
        for done in waiting { done(Self.number(uid)) }
    }

    @Sendable static func inUserDatabase(_ uid: UInt32) -> String? {
        UserDatabase.user(uid).entry?.name
    }
}

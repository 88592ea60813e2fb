// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import HostFiles
import Synchronization
import Testing
import TimerCore

@testable import TimerAPI

/// Who may change things.
@Suite struct OperatorsTests {
    private func operators(_ database: TestDatabase) -> Operators {
        Operators(
            .init(user: { database.user($0) }, group: { database.group($0) }),
            limits: LookUpLimits(timeout: 100_000_000), now: { database.now })
    }

    private func use(_ operators: Operators, _ users: Set<String>, _ groups: [String] = []) {
        operators.use(AllowedUsers(users: users, groups: groups))
    }

    private func peer(_ uid: UInt32, groups: [UInt32] = []) -> Peer {
        var peer = Peer(pid: 1, uid: uid)
        peer.groups = groups
        return peer
    }

    private func right(_ operators: Operators, _ peer: Peer) async -> Operators.Right {
        await withCheckedContinuation { done in
            operators.check(peer) { done.resume(returning: $0) }
        }
    }

    @Test func rootAndTheDaemonsUserMay_andThoseThatAreNamed() async {
        let operators = operators(TestDatabase())
        for uid in [0, geteuid()] { #expect(await right(operators, peer(uid)) == .granted) }
        #expect(await right(operators, peer(1000)) == .denied)
        use(operators, ["alice", "no-such-name"], ["ops", "no-group"])
        #expect(await right(operators, peer(1000)) == .granted)
        #expect(await right(operators, peer(1001)) == .denied)
        #expect(await right(operators, peer(5000, groups: [7, 2000])) == .granted)
        #expect(await right(operators, peer(5000, groups: [7, 2001])) == .denied)
        #expect(operators.mayHaveRight(peer(1000)) && !operators.mayHaveRight(peer(1001)))
        // The next configuration replaces them.
        use(operators, ["bob"])
        #expect(await right(operators, peer(1000)) == .denied)
        #expect(await right(operators, peer(1001)) == .granted)
        #expect(await right(operators, peer(5000, groups: [2000])) == .denied)
    }

    @Test func aSessionHasTheRightsOfItsUser_andAProgramHasNone() async {
        let operators = operators(TestDatabase())
        use(operators, ["alice"])
        var session = peer(1000)
        session.origin = .session("x")
        #expect(await right(operators, session) == .granted)
        for uid: UInt32 in [0, geteuid(), 1000] {
            var program = peer(uid)
            program.origin = .program
            #expect(await right(operators, program) == .denied && !program.isOwner)
            #expect(!operators.mayHaveRight(program))
        }
    }

    /// The number of a user or a group that was removed may belong to another one later.
    @Test func aNumberThatHasAnotherNameGivesNoRight() async {
        let database = TestDatabase()
        let operators = operators(database)
        use(operators, ["alice"], ["ops"])
        #expect(await right(operators, peer(1000)) == .granted)
        #expect(await right(operators, peer(1, groups: [2000])) == .granted)
        database.remove("alice")
        database.remove("ops")
        database.advance(by: LookUpLimits().freshTime)
        #expect(await right(operators, peer(1000)) == .denied)
        #expect(await right(operators, peer(1, groups: [2000])) == .denied)
    }

    /// A name that a directory service does not answer about gives no right and takes none of other names.
    @Test func aSlowLookUpDelaysNothing_andAnOldOneDoesNotCount() async {
        let database = TestDatabase()
        let operators = operators(database)
        use(operators, ["alice", "bob"])
        #expect(await right(operators, peer(1000)) == .granted)
        database.hang("alice")
        database.advance(by: LookUpLimits().freshTime)
        #expect(await right(operators, peer(1001)) == .granted)
        #expect(await right(operators, peer(1000)) == .unknown)
        #expect(await right(operators, peer(3000)) == .unknown)
        database.release("alice")
    }

    /// The list becomes shorter while look-ups hang: who was removed has no right at once.
    @Test func whoIsRemovedFromTheListHasNoRight_evenIfLookUpsHang() async {
        let database = TestDatabase()
        let operators = operators(database)
        use(operators, ["alice", "bob"], ["ops"])
        #expect(await right(operators, peer(1000)) == .granted)
        #expect(await right(operators, peer(5, groups: [2000])) == .granted)
        for name in ["alice", "bob", "ops"] { database.hang(name) }
        use(operators, ["bob"])
        #expect(await right(operators, peer(1000)) == .denied)
        #expect(await right(operators, peer(5, groups: [2000])) == .denied)
        #expect(!operators.mayHaveRight(peer(1000)))
        #expect(await right(operators, peer(1001)) == .granted, "that was found out just before")
        use(operators, [])
        #expect(await right(operators, peer(1001)) == .denied)
        for name in ["alice", "bob", "ops"] { database.release(name) }
    }

    /// The list becomes shorter while a request waits for a look-up.
    @Test func whoIsRemovedWhileALookUpIsWaitedForHasNoRight() async {
        let database = TestDatabase()
        let operators = Operators(
            .init(user: { database.user($0) }, group: { database.group($0) }),
            limits: LookUpLimits(timeout: 60_000_000_000), now: { database.now })
        database.hang("alice")
        use(operators, ["alice"])
        let right = await withCheckedContinuation { done in
            operators.check(peer(1000)) { done.resume(returning: $0) }
            use(operators, [])
            database.release("alice")
        }
        #expect(right == .denied)
    }

    @Test func theSystemsOwnUsersAreFound() {
        #expect(Operators.LookUp.system.user("root") == .found(0))
        #expect(Operators.LookUp.system.group("root") == .found(0))
        #expect(Operators.LookUp.system.user("no-such-user-of-timerd") == .missing)
        #expect(Operators.LookUp.system.group("no-such-group-of-timerd") == .missing)
    }
}

/// A user database that the test changes, and a clock that it sets.
final class TestDatabase: Sendable {
    private struct State {
        var now: UInt64 = 1_000_000_000_000
        var users: [String: UInt32] = ["alice": 1000, "bob": 1001]
        var groups: [String: UInt32] = ["ops": 2000]
        var accounts: [UInt32: SessionUsers.User] = [:]
        var gates: [String: DispatchSemaphore] = [:]
    }

    private let state = Mutex(State())

    var now: UInt64 { state.withLock { $0.now } }

    func advance(by time: UInt64) { state.withLock { $0.now += time } }

    func remove(_ name: String) {
        state.withLock { state in
            state.users[name] = nil
            state.groups[name] = nil
        }
    }

    /// Look-ups of this name hang until `release`.
    func hang(_ name: String) {
        state.withLock { $0.gates[name] = DispatchSemaphore(value: 0) }
    }

    func release(_ name: String) {
        state.withLock { $0.gates.removeValue(forKey: name) }?.signal()
    }

    func put(_ user: SessionUsers.User?, _ uid: UInt32) {
        state.withLock { $0.accounts[uid] = user }
    }

    func user(_ name: String) -> Operators.Answer { answer(name) { $0.users[name] } }
    func group(_ name: String) -> Operators.Answer { answer(name) { $0.groups[name] } }

    func account(_ uid: UInt32) -> LookUpCache<UInt32, SessionUsers.User>.Answer {
        wait("\(uid)")
        return state.withLock { $0.accounts[uid] }.map { .found($0) } ?? .missing
    }

    private func answer(
        _ name: String, _ id: @Sendable (State) -> UInt32?
    ) -> Operators.Answer {
        wait(name)
        return state.withLock { id($0) }.map { .found($0) } ?? .missing
    }

    private func wait(_ name: String) {
        guard let gate = state.withLock({ $0.gates[name] }) else { return }
        gate.wait()
        // Several look-ups may hang.
        gate.signal()
    }
}

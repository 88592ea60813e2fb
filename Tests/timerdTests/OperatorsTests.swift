// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import timerd

/// Who may change things.
@Suite struct OperatorsTests {
    private let users: [String: UInt32] = ["alice": 1000, "bob": 1001]
    private let groups: [String: UInt32] = ["ops": 2000]

    private func operators() -> Operators {
        let (users, groups) = (users, groups)
        return Operators(.init(user: { users[$0] }, group: { groups[$0] }))
    }

    private func use(_ operators: Operators, _ users: Set<String>, _ groups: [String]) {
        let done = DispatchSemaphore(value: 0)
        operators.use(AllowedUsers(users: users, groups: groups)) { done.signal() }
        done.wait()
    }

    private func peer(_ uid: UInt32, groups: [UInt32] = []) -> Peer {
        var peer = Peer(pid: 1, uid: uid)
        peer.groups = groups
        return peer
    }

    @Test func rootAndTheDaemonsUserMay_andThoseThatAreNamed() {
        let operators = operators()
        #expect(operators.mayChange(peer(0)) && operators.mayChange(peer(geteuid())))
        #expect(!operators.mayChange(peer(1000)))
        use(operators, ["alice", "no-such-name"], ["ops", "no-group"])
        #expect(operators.mayChange(peer(1000)) && !operators.mayChange(peer(1001)))
        #expect(operators.mayChange(peer(5000, groups: [7, 2000])))
        #expect(!operators.mayChange(peer(5000, groups: [7, 2001])))
        // The next configuration replaces them.
        use(operators, ["bob"], [])
        #expect(!operators.mayChange(peer(1000)) && operators.mayChange(peer(1001)))
        #expect(!operators.mayChange(peer(5000, groups: [2000])))
    }

    @Test func aSessionHasTheRightsOfItsUser_andAProgramHasNone() {
        let operators = operators()
        use(operators, ["alice"], [])
        var session = peer(1000)
        session.origin = .session("x")
        #expect(operators.mayChange(session))
        for uid: UInt32 in [0, geteuid(), 1000] {
            var program = peer(uid)
            program.origin = .program
            #expect(!operators.mayChange(program) && !program.isOwner)
        }
    }

    /// A directory service that takes long delays nothing else, and what it says of an older configuration does not count.
    @Test func aSlowLookUpDelaysNothing_andAnOldOneDoesNotCount() {
        let gate = DispatchSemaphore(value: 0)
        let operators = Operators(
            .init(
                user: { name in
                    if name == "slow" { gate.wait() }
                    return name == "slow" ? 1000 : 1001
                }, group: { _ in nil }))
        let old = DispatchSemaphore(value: 0)
        operators.use(AllowedUsers(users: ["slow"], groups: [])) { old.signal() }
        #expect(!operators.mayChange(peer(1000)))
        let new = DispatchSemaphore(value: 0)
        operators.use(AllowedUsers(users: ["quick"], groups: [])) { new.signal() }
        gate.signal()
        old.wait()
        new.wait()
        #expect(!operators.mayChange(peer(1000)) && operators.mayChange(peer(1001)))
        // No operators any more: at once.
        operators.use(AllowedUsers(users: [], groups: []))
        #expect(!operators.mayChange(peer(1001)))
    }

    @Test func theSystemsOwnUsersAreFound() {
        #expect(Operators.LookUp.system.user("root") == 0)
        #expect(Operators.LookUp.system.group("root") == 0)
        #expect(Operators.LookUp.system.user("no-such-user-of-timerd") == nil)
        #expect(Operators.LookUp.system.group("no-such-group-of-timerd") == nil)
    }
}

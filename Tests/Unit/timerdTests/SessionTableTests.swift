// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing

@testable import TimerAPI
@testable import TimerHTTP

/// The table as an object, whose methods an expectation can call.
private final class Table {
    private var table = SessionTable()

    var count: (links: Int, sessions: Int) { table.count }

    func makeLink(for peer: Peer, at now: UInt64) -> String? { table.makeLink(for: peer, at: now) }

    func begin(_ token: String, at now: UInt64) -> (key: String, found: SessionTable.Found)? {
        table.begin(token, at: now)
    }

    func use(_ key: String, at now: UInt64) -> SessionTable.Found? { table.use(key, at: now) }
    func end(_ key: String) -> Bool { table.end(key) }
    func revoke(at now: UInt64, _ isMeant: (Peer) -> Bool) -> SessionTable.Ended {
        table.revoke(at: now, isMeant)
    }
    func mayLog(_ uid: UInt32, at now: UInt64) -> Bool { table.mayLog(uid, at: now) }
}

/// Links and sessions of the status page, with a clock that the test sets.
@Suite struct SessionTableTests {
    private let second = SessionTable.second
    private let alice = Peer(pid: 1, uid: 1000)
    private let bob = Peer(pid: 2, uid: 1001)

    @Test func aLinkIsUsedOnce_within60Seconds() throws {
        let table = Table()
        let token = try #require(table.makeLink(for: alice, at: 0))
        #expect(Credentials.isKey(token))
        let (key, found) = try #require(table.begin(token, at: 60 * second - 1))
        #expect(found.peer.uid == 1000 && found.peer.origin == .session(key))
        #expect(Credentials.isKey(key) && key != token)
        #expect(table.begin(token, at: 60 * second - 1) == nil)
        let late = try #require(table.makeLink(for: alice, at: 0))
        #expect(table.begin(late, at: 60 * second) == nil)
        #expect(table.begin(late, at: 0) == nil, "what was too late is gone")
        #expect(table.begin("", at: 0) == nil && table.begin(key, at: 0) == nil)
    }

    @Test func aSessionEnds12HoursAfterItsLastUse_and7DaysAfterItsBeginning() throws {
        let table = Table()
        let token = try #require(table.makeLink(for: alice, at: 0))
        let (key, found) = try #require(table.begin(token, at: 0))
        let hour = 3600 * second
        #expect(found.left == 12 * hour)
        var now: UInt64 = 0
        while now + 11 * hour < 7 * 24 * hour {
            now += 11 * hour
            #expect(table.use(key, at: now)?.peer.uid == 1000)
        }
        #expect(table.use(key, at: 7 * 24 * hour - 1)?.left == 1)
        #expect(table.use(key, at: 7 * 24 * hour) == nil)
        let other = try #require(table.makeLink(for: alice, at: now))
        let (second, _) = try #require(table.begin(other, at: now))
        #expect(table.use(second, at: now + 12 * hour) == nil)
        #expect(table.use(second, at: now) == nil, "what has ended does not come back")
        #expect(table.count.sessions == 0)
    }

    @Test func aUserHasALimit_andTheOldestGoes() throws {
        let table = Table()
        let tokens = (0..<20).compactMap { table.makeLink(for: alice, at: UInt64($0)) }
        #expect(tokens.count == 20 && table.count.links == SessionTable.userLinksMax)
        #expect(table.begin(tokens[11], at: 20) == nil && table.begin(tokens[12], at: 20) != nil)
        let other = try #require(table.makeLink(for: bob, at: 20))
        let (bobs, _) = try #require(table.begin(other, at: 20))
        var keys: [String] = []
        for number in 0..<UInt64(40) {
            let token = try #require(table.makeLink(for: alice, at: 21 + number))
            keys.append(try #require(table.begin(token, at: 21 + number)).key)
        }
        #expect(table.count.sessions == SessionTable.userSessionsMax + 1)
        #expect(table.use(bobs, at: 100) != nil)
        #expect(table.use(keys[39], at: 100) != nil && table.use(keys[39 - 16], at: 100) == nil)
    }

    @Test func allUsersTogetherHaveALimit() throws {
        let table = Table()
        var refused = 0
        for user in 0..<UInt32(1000) {
            if table.makeLink(for: Peer(pid: 1, uid: user), at: 0) == nil { refused += 1 }
        }
        #expect(table.count.links == SessionTable.linksMax && refused == 1000 - 256)
        // In a minute there is room again.
        #expect(table.makeLink(for: alice, at: 60 * second) != nil && table.count.links == 1)
        for user in 0..<UInt32(1000) {
            let now = UInt64(user + 2) * 60 * second
            let token = try #require(table.makeLink(for: Peer(pid: 1, uid: user), at: now))
            #expect(table.begin(token, at: now) != nil)
            #expect(table.count.sessions <= SessionTable.sessionsMax)
        }
    }

    @Test func revokingEndsLinksAndSessions_ofOneUserOrAll() throws {
        for all in [false, true] {
            let table = Table()
            func begin(_ peer: Peer) throws -> String {
                let token = try #require(table.makeLink(for: peer, at: 0))
                return try #require(table.begin(token, at: 0)).key
            }
            let (first, second, other) = (try begin(alice), try begin(alice), try begin(bob))
            let link = try #require(table.makeLink(for: alice, at: 0))
            let others = try #require(table.makeLink(for: bob, at: 0))
            let ended = table.revoke(at: 0) { all || $0.uid == 1000 }
            #expect(ended == .init(sessions: all ? 3 : 2, links: all ? 2 : 1))
            #expect(table.use(first, at: 0) == nil && table.use(second, at: 0) == nil)
            #expect(table.begin(link, at: 0) == nil)
            #expect((table.use(other, at: 0) != nil) == !all)
            #expect((table.begin(others, at: 0) != nil) == !all)
        }
    }

    @Test func aUserFillsNoLogWithLogins() {
        let table = Table()
        let logged = (0..<100).filter { table.mayLog(1000, at: $0 * second / 10) }
        #expect(logged.count == SessionTable.entriesMax)
        #expect(table.mayLog(1001, at: 11 * second), "others have their own")
        #expect(!table.mayLog(1000, at: 59 * second) && table.mayLog(1000, at: 60 * second))
    }

    @Test func logoutEndsOneSession() throws {
        let table = Table()
        let token = try #require(table.makeLink(for: alice, at: 0))
        let (key, _) = try #require(table.begin(token, at: 0))
        #expect(table.end(key) && !table.end(key))
        #expect(table.use(key, at: 0) == nil)
    }

    @Test func noTwoKeysAreEqual() {
        let keys = Set((0..<1000).map { _ in SessionTable.randomKey() })
        #expect(keys.count == 1000 && keys.allSatisfy { Credentials.isKey($0) })
        // Each character varies.
        for place in 0..<Credentials.keyLength {
            #expect(Set(keys.map { Array($0.utf8)[place] }).count >= 8, "\(place)")
        }
        for text in ["", "a", String(repeating: "a", count: 42), String(repeating: "é", count: 43)]
        {
            #expect(!Credentials.isKey(text))
        }
    }

    @Test func tokensOfProgramsAreRead_andWhatIsNoneIsNamedWithoutIt() throws {
        let token = String(repeating: "a", count: 32)
        let tokens = try ProgramTokens("# Prometheus\n\n  \(token)\n")
        let peer = try #require(tokens.peer(of: token))
        #expect(peer.origin == .program && !peer.isOwner)
        #expect(tokens.peer(of: "") == nil && tokens.peer(of: "# Prometheus") == nil)
        for text in ["short", "\(token) \(token)", String(repeating: "a", count: 257)] {
            let fault = #expect(throws: ProgramTokens.Fault.self) { try ProgramTokens("\n\(text)") }
            #expect(fault?.description.contains("line 2") == true)
            #expect(fault?.description.contains(text) == false)
        }
        #expect(throws: ProgramTokens.Fault.self) {
            try ProgramTokens((0..<101).map { "\($0)\(token)" }.joined(separator: "\n"))
        }
    }

    /// A part of a credential could lack tokens without a word about it.
    @Test func aCredentialThatIsTooLongIsRefused() throws {
        let token = String(repeating: "a", count: 32)
        let folder = NSTemporaryDirectory() + "timerd-tokens-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(try ProgramTokens.passed(in: nil).peer(of: token) == nil)
        #expect(try ProgramTokens.passed(in: folder).peer(of: token) == nil)
        func passed(_ text: String) throws -> ProgramTokens {
            try text.write(toFile: folder + "/web-tokens", atomically: false, encoding: .utf8)
            return try ProgramTokens.passed(in: folder)
        }
        let most = ProgramTokens.bytesMax
        let comment = "#" + String(repeating: "x", count: most - token.utf8.count - 2) + "\n"
        #expect(try passed(comment + token).peer(of: token) != nil)
        let fault = #expect(throws: ProgramTokens.Fault.self) { try passed(comment + token + "\n") }
        #expect(
            fault?.description.hasSuffix("has more than 64 KiB; remove tokens or comments") == true)
        try FileManager.default.removeItem(atPath: folder + "/web-tokens")
        try FileManager.default.createDirectory(
            atPath: folder + "/web-tokens", withIntermediateDirectories: false)
        let unread = #expect(throws: ProgramTokens.Fault.self) {
            try ProgramTokens.passed(in: folder)
        }
        #expect(unread?.description.contains("cannot be read") == true)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Foundation
import HostFiles
import NIOHTTP1
import Synchronization
import Testing
import TimerControl
import TimerCore

@testable import TimerAPI
@testable import TimerDaemon
@testable import TimerHTTP

/// A session ends with the rights of its user, which are looked up again and again.
@Suite struct SessionUsersTests {
    private let database = TestDatabase()
    private let users: SessionUsers

    init() {
        let database = database
        users = SessionUsers(
            socket: "/run/control.sock", limits: LookUpLimits(timeout: 100_000_000),
            now: { database.now }
        ) { database.account($0) }
    }

    /// A session of alice, whose process was in the groups 7, 8 and 9.
    private var session: Peer {
        var peer = Peer(pid: 1, uid: 1000)
        peer.name = "alice"
        peer.groups = [7, 8, 9]
        peer.origin = .session("x")
        return peer
    }

    private func alice(
        name: String = "alice", groups: Set<UInt32> = [7, 8, 9], mayConnect: Bool = true
    ) -> SessionUsers.User {
        SessionUsers.User(name: name, groups: groups, mayConnect: mayConnect)
    }

    private func check(_ peer: Peer, isNew: Bool = false) async -> SessionUsers.Finding {
        await withCheckedContinuation { done in
            users.check(peer, isNew: isNew) { done.resume(returning: $0) }
        }
    }

    private func isOver(_ finding: SessionUsers.Finding) -> Bool {
        if case .over = finding { true } else { false }
    }

    @Test func groupsCountAsLongAsTheUserHasThem_andNewOnesFromTheNextLinkOn() async {
        database.put(alice(), 1000)
        #expect(await check(session) == .current(session))
        database.put(alice(groups: [7, 9, 10]), 1000)
        #expect(await check(session) == .current(session), "for seconds")
        database.advance(by: LookUpLimits().freshTime)
        var less = session
        less.groups = [7, 9]
        #expect(await check(session) == .current(less))
    }

    @Test func aSessionOfAUserWhoIsGone_orHasAnotherName_orMayNotConnectIsOver() async {
        for user in [nil, alice(name: "carol"), alice(mayConnect: false)] {
            database.put(alice(), 1000)
            database.advance(by: LookUpLimits().freshTime)
            #expect(await check(session) == .current(session))
            database.put(user, 1000)
            database.advance(by: LookUpLimits().freshTime)
            #expect(await isOver(check(session)), "\(String(describing: user))")
        }
        // A link is of the user who has that number now.
        database.put(alice(name: "carol"), 1000)
        database.advance(by: LookUpLimits().freshTime)
        var link = session
        link.name = "uid 1000"
        var carol = session
        carol.name = "carol"
        #expect(await check(link, isNew: true) == .current(carol))
    }

    @Test func whileTheDatabaseDoesNotAnswerASessionHasNoRights_andIsNotOver() async {
        database.put(alice(), 1000)
        #expect(await check(session) == .current(session))
        database.hang("1000")
        database.advance(by: LookUpLimits().freshTime)
        for _ in 0..<2 {
            guard case .unknown = await check(session) else {
                Issue.record("an old answer was used")
                return
            }
        }
        // Root needs no database.
        var root = session
        root.uid = 0
        #expect(await check(root) == .current(root))
        database.release("1000")
    }

    // MARK: - Who may connect

    private func mayConnect(_ path: String, _ uid: UInt32, _ groups: [UInt32] = []) -> Int32 {
        clinux_may_connect(path, uid, groups, Int32(groups.count))
    }

    @Test func modesDecideWhoMayConnect() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            UUID().uuidString
        ).path
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        chmod(folder, 0o755)
        let path = "\(folder)/s"
        #expect(mayConnect(path, 4_000_000_000) == -1)
        let socket = try UnixSocket.bind(at: path, allowing: .user(geteuid()))
        defer { close(socket) }
        #expect(UnixSocket.path(of: socket)?.hasSuffix("/s") == true)
        let (other, group): (UInt32, UInt32) = (4_000_000_000, getegid())
        chmod(path, 0o660)
        #expect(mayConnect(path, geteuid()) == 1)
        #expect(mayConnect(path, other) == 0 && mayConnect(path, other, [group + 1]) == 0)
        #expect(mayConnect(path, other, [group + 1, group]) == 1)
        // A member of the group is not one of the others.
        chmod(path, 0o606)
        #expect(mayConnect(path, other, [group]) == 0 && mayConnect(path, other) == 1)
        // To read is not enough, and a directory on the way counts.
        chmod(path, 0o664)
        #expect(mayConnect(path, other) == 0)
        chmod(path, 0o666)
        #expect(mayConnect(path, other) == 1)
        chmod(folder, 0o700)
        #expect(mayConnect(path, other) == 0)
    }

    /// The bytes of an access control list: version 2, and entries of a tag, permissions and an id.
    private func list(_ entries: [(tag: UInt16, permissions: UInt16, id: UInt32)]) -> [UInt8] {
        func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
            withUnsafeBytes(of: number.littleEndian) { Array($0) }
        }
        return bytes(UInt32(2))
            + entries.flatMap { bytes($0.tag) + bytes($0.permissions) + bytes($0.id) }
    }

    @Test func accessControlListsDecideWhoMayConnect() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            UUID().uuidString
        ).path
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        chmod(folder, 0o755)
        let path = "\(folder)/s"
        let socket = try UnixSocket.bind(at: path, allowing: .user(geteuid()))
        defer { close(socket) }
        let (alice, bob, carol): (UInt32, UInt32, UInt32) = (100_001, 100_002, 100_003)
        let (owning, ops): (UInt32, UInt32) = (getegid(), 100_010)
        let none = UInt32.max
        let acl = list([
            (1, 6, none), (2, 6, alice), (2, 0, bob), (4, 0, none), (8, 6, ops), (0x10, 6, none),
            (0x20, 0, none),
        ])
        let name = "system.posix_acl_access"
        guard set(name, acl, of: path) == 0 else {
            // A file system without these lists.
            #expect(errno == EOPNOTSUPP || errno == ENOTSUP)
            return
        }
        #expect(mayConnect(path, alice) == 1 && mayConnect(path, bob) == 0)
        #expect(mayConnect(path, carol) == 0 && mayConnect(path, carol, [ops]) == 1)
        #expect(mayConnect(path, carol, [owning]) == 0, "the mask is what the mode shows")
        #expect(mayConnect(path, carol, [owning, ops]) == 1)
        #expect(mayConnect(path, bob, [ops]) == 0, "the entry of a user counts before groups")
        // The mask limits all of them.
        chmod(path, 0o600)
        #expect(mayConnect(path, alice) == 0 && mayConnect(path, carol, [ops]) == 0)
    }
}

/// setxattr(2), which the module Glibc does not have.
private func set(_ name: String, _ value: [UInt8], of path: String) -> Int32 {
    typealias Function =
        @convention(c) (
            UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeRawPointer, Int, Int32
        ) -> Int32
    guard let symbol = dlsym(nil, "setxattr") else { return -1 }
    return unsafeBitCast(symbol, to: Function.self)(path, name, value, value.count, 0)
}

/// Look-ups that may hang.
@Suite struct LookUpCacheTests {
    private func find(_ cache: LookUpCache<Int, Int>, _ key: Int) async
        -> LookUpCache<Int, Int>.Answer
    {
        await withCheckedContinuation { done in cache.find(key) { done.resume(returning: $0) } }
    }

    @Test func anAnswerIsUsedForSeconds_fromTheBeginOfItsLookUpOn() async {
        let clock = Shared()
        let cache = LookUpCache<Int, Int>(
            label: "test", limits: LookUpLimits(freshTime: 10), now: { clock.now }
        ) { _ in .found(clock.next()) }
        #expect(await find(cache, 1) == .found(1))
        #expect(await find(cache, 1) == .found(1))
        clock.advance(9)
        #expect(await find(cache, 1) == .found(1))
        clock.advance(1)
        #expect(await find(cache, 1) == .found(2) && cache.last(1) == .found(2))
        #expect(await find(cache, 2) == .found(3) && cache.last(3) == nil)
    }

    @Test func manyHangingLookUpsTakeALimitedNumberOfThreads() async {
        let database = TestDatabase()
        let cache = LookUpCache<Int, Int>(
            label: "test", limits: LookUpLimits(timeout: 50_000_000, threadsMax: 2)
        ) { key in
            guard case .found = database.user("alice") else { return .missing }
            return .found(key)
        }
        database.hang("alice")
        await withTaskGroup(of: Void.self) { group in
            for key in 0..<20 {
                group.addTask { #expect(await find(cache, key) == .failed(ETIMEDOUT)) }
            }
        }
        #expect(await find(cache, 0) == .failed(ETIMEDOUT), "without a further wait")
        database.release("alice")
    }

    /// A clock and a counter.
    private final class Shared: Sendable {
        private let time = Mutex<UInt64>(1000)
        private let value = Mutex(0)

        var now: UInt64 { time.withLock { $0 } }
        func advance(_ span: UInt64) { time.withLock { $0 += span } }
        func next() -> Int {
            value.withLock { value in
                value += 1
                return value
            }
        }
    }
}

/// The requests of a session whose user lost rights, as the web server sends them.
@Suite struct EndedSessionTests {
    private final class Service: ControlService {
        let finding: SessionUsers.Finding
        let right: Operators.Right
        let count = Mutex(0)

        init(_ finding: SessionUsers.Finding, _ right: Operators.Right = .granted) {
            (self.finding, self.right) = (finding, right)
        }

        func answer(
            _: ControlRequest, from _: Peer, reply: @escaping ControlAnswer.Reply
        ) {
            count.withLock { $0 += 1 }
            reply(ControlAnswer(.ok, ["done": true]))
        }

        // The last look-up granted it.
        func mayHaveRight(_: Peer) -> Bool { true }

        func checkRight(of _: Peer, _ done: @escaping @Sendable (Operators.Right) -> Void) {
            done(right)
        }

        func peer(of credentials: Credentials) -> Peer? { Peer(pid: 0, uid: 1000) }

        func checkUser(
            of _: Peer, _ done: @escaping @Sendable (SessionUsers.Finding) -> Void
        ) { done(finding) }
    }

    private static let current = SessionUsers.Finding.current(Peer(pid: 0, uid: 1000))

    @Test(arguments: [
        ("GET", "/v1/jobs", current, Operators.Right.denied, 200),
        ("POST", "/v1/jobs/a/run", current, .granted, 200),
        ("POST", "/v1/jobs/a/run", current, .denied, 403),
        ("POST", "/v1/jobs/a/run", current, .unknown, 503),
        ("POST", "/v1/jobs/a/run", .over("no user"), .granted, 401),
        ("GET", "/v1/jobs", .over("no user"), .granted, 401),
        ("GET", "/v1/events", .over("no user"), .granted, 401),
        ("GET", "/v1/session", .over("no user"), .granted, 401),
        ("GET", "/v1/jobs", .unknown("no answer"), .granted, 503),
        ("POST", "/v1/session/logout", .unknown("no answer"), .denied, 200),
    ])
    func aRequestIsChecked(
        method: String, path: String, finding: SessionUsers.Finding, right: Operators.Right,
        status: Int
    ) throws {
        let service = Service(finding, right)
        let connection = try ControlConnection(responder: WebGateway(service: service))
        let key = String(repeating: "k", count: Credentials.keyLength)
        try connection.send(
            "\(method) \(path) HTTP/1.1\r\nHost: a\r\nTimerd-Session: \(key)\r\nContent-Length: 0\r\n\r\n"
        )
        #expect(connection.response()?.status == status, "\(method) \(path)")
        #expect(service.count.withLock { $0 } == (status == 200 ? 1 : 0))
    }

    @Test func aCommandOnTheControlSocketIsCheckedToo() throws {
        for (right, status) in [(Operators.Right.granted, 200), (.denied, 403), (.unknown, 503)] {
            let service = Service(Self.current, right)
            let connection = try ControlConnection(
                responder: ControlResponder(service: service, peer: Peer(pid: 1, uid: 1000)))
            try connection.send(
                "POST /v1/jobs/a/run HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
            #expect(connection.response()?.status == status)
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Foundation
import Glibc
import HostFiles
import Synchronization
import Testing
import TimerControl
import TimerCore

@testable import TimerAPI

/// Which connections are accepted.
@Suite struct ControlAdmissionTests {
    private func peer(_ uid: UInt32) -> Peer { Peer(pid: 1, uid: uid) }
    private let second: UInt64 = 1_000_000_000

    @Test func oneUserHasALimit_andOthersCanConnect() {
        var admission = ControlAdmission()
        for _ in 0..<ControlAdmission.perUserMax {
            #expect(admission.admit(peer(guest), at: 0) == nil)
        }
        #expect(admission.admit(peer(guest), at: 0) == .userFull)
        #expect(admission.admit(peer(guest + 1), at: 0) == nil)
        #expect(admission.admit(peer(0), at: 0) == nil)
        admission.leave(peer(guest), at: 0)
        #expect(admission.admit(peer(guest), at: second) == nil)
        #expect(admission.admit(peer(guest), at: second) == .userFull)
    }

    @Test func allWhoMayOnlyLookTogetherLeavePlacesForRootAndTheDaemonsUser() {
        var admission = ControlAdmission()
        for number in 0..<UInt32(1000) { _ = admission.admit(peer(guest + number), at: 0) }
        #expect(admission.count == ControlAdmission.guestsMax)
        #expect(admission.admit(peer(guest + 2000), at: 0) == .guestsFull)
        let kept = ControlAdmission.connectionsMax - ControlAdmission.guestsMax
        for number in 0..<kept {
            #expect(admission.admit(peer(number % 2 == 0 ? 0 : geteuid()), at: 0) == nil)
        }
        #expect(admission.admit(peer(0), at: 0) == .full)
        admission.leave(peer(geteuid()), at: 0)
        #expect(admission.admit(peer(0), at: 0) == nil)
    }

    @Test func aUserWhoConnectsTooOftenIsRefusedForAWhile() {
        var admission = ControlAdmission()
        var accepted = 0
        func connect(_ times: Int, at now: UInt64) {
            for _ in 0..<times where admission.admit(peer(guest), at: now) == nil {
                accepted += 1
                admission.leave(peer(guest), at: now)
            }
        }
        connect(1000, at: 0)
        #expect(accepted == ControlAdmission.perUserBurst)
        #expect(admission.admit(peer(guest), at: 0) == .userTooFast)
        connect(1000, at: second / 4)
        #expect(accepted == ControlAdmission.perUserBurst + ControlAdmission.perUserRate / 4)
        // However many users connect, the number of records about them is limited.
        for number in 0..<UInt32(100_000) {
            let now = second * UInt64(2 + number / 100)
            if admission.admit(peer(guest + number), at: now) == nil {
                admission.leave(peer(guest + number), at: now)
            }
        }
        #expect(admission.count == 0 && admission.knownUsers < 300)
    }

    @Test func newConnectionsTakeABoundedPartOfTheTime() {
        var budget = AcceptBudget()
        var now: UInt64 = second
        for _ in 0..<1000 { now += budget.spend(AcceptBudget.accepted, at: now) }
        #expect(Double(now - second) > 1.7e9 && Double(now - second) < 2.1e9)
        now += second
        let begin = now
        for _ in 0..<1000 { now += budget.spend(AcceptBudget.refused, at: now) }
        #expect(Double(now - begin) < 0.1e9)
    }
}

/// The server on a real socket; the test determines the users of the clients.
@Suite struct ControlServerTests {
    private let folder = "/tmp/timerd-control-\(UUID().uuidString)"
    private var path: String { "\(folder)/control.sock" }

    private func listen(
        _ service: StubService, as users: @escaping @Sendable (Int) -> UInt32
    ) throws -> ControlServer {
        mkdir(folder, 0o700)
        let socket = try UnixSocket.bind(at: path, allowing: .user(geteuid()))
        let number = Mutex(0)
        return try ControlServer.listen(on: socket, for: service) { peer, _ in
            let index = number.withLock { number in
                defer { number += 1 }
                return number
            }
            return Peer(pid: peer.pid, uid: users(index))
        }
    }

    private func connect() throws -> Int32 {
        for _ in 0..<10_000 {
            if let connection = UnixSocket.connect(to: path) { return connection }
            guard errno == EAGAIN else { break }
            usleep(500)
        }
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }

    /// The bytes that the server sends until it closes the connection, or for this time.
    private func readAll(_ connection: Int32, seconds: Double) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        let end = Date(timeIntervalSinceNow: seconds)
        while Date() < end {
            var wanted = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
            guard poll(&wanted, 1, 100) > 0 else { continue }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return bytes
    }

    @Test func aClientThatConnectsBeforeTheStartIsAnsweredAfterIt() throws {
        let service = StubService()
        let server = try listen(service) { _ in 0 }
        defer { server.stop() }
        let connection = try connect()
        defer { close(connection) }
        let text = "GET /v1/jobs HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        #expect(send(connection, text, text.utf8.count, 0) == text.utf8.count)
        // The client closes its side as well, and still gets the answer.
        shutdown(connection, Int32(SHUT_WR))
        var wanted = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
        #expect(poll(&wanted, 1, 50) == 0 && service.count == 0)
        server.begin()
        let answers = Response.all(in: readAll(connection, seconds: 10))
        #expect(answers?.map(\.status) == [200])
    }

    /// Many slow clients that send a byte now and then, and root beside them.
    @Test func rootIsAnsweredAtOnce_howeverManyConnectionsAnotherUserHas() throws {
        let hostile = 600
        let service = StubService()
        let server = try listen(service) { $0 < hostile ? guest : 0 }
        defer { server.stop() }
        server.begin()
        var connections: [Int32] = []
        defer { for connection in connections { close(connection) } }
        for _ in 0..<hostile {
            let connection = try connect()
            connections.append(connection)
            _ = send(connection, "G", 1, Int32(MSG_NOSIGNAL))
        }
        let began = Date()
        let reply = try ControlClient(path: path).send(.list)
        #expect(reply.status == 200 && service.count == 1)
        // Much more than it needs, and much less than the slow clients may take.
        #expect(Date().timeIntervalSince(began) < 5)
        // All but the first ones were told why they were refused.
        let refused = try #require(
            Response.all(in: readAll(connections[hostile - 1], seconds: 5))?.first)
        #expect(refused.status == 503 && refused.headers["retry-after"] == "1")
        #expect(
            refused.error == ControlAdmission.Refusal.userTooFast.sentence
                || refused.error == ControlAdmission.Refusal.userFull.sentence)
        let open = connections.count { connection in
            var byte: UInt8 = 0
            return recv(connection, &byte, 1, Int32(MSG_PEEK)) < 0 && errno == EAGAIN
        }
        #expect(open <= ControlAdmission.perUserMax)
    }

    @Test func aRefusedClientTriesAgain_untilItIsAccepted() throws {
        // Other clients have all connections of this user; they end while the client waits to try
        // again.
        let service = StubService()
        let server = try listen(service) { _ in guest }
        defer { server.stop() }
        server.begin()
        var connections: [Int32] = []
        for _ in 0..<ControlAdmission.perUserMax { connections.append(try connect()) }
        let path = path
        let answered = DispatchSemaphore(value: 0)
        let status = Mutex(0)
        Thread.detachNewThread {
            let reply = try? ControlClient(path: path).send(.list)
            status.withLock { $0 = reply?.status ?? -1 }
            answered.signal()
        }
        #expect(answered.wait(timeout: .now() + .milliseconds(200)) == .timedOut)
        for connection in connections { close(connection) }
        #expect(answered.wait(timeout: .now() + 20) == .success)
        #expect(status.withLock { $0 } == 200)
    }
}

/// The names of users, looked up by a function that may hang.
@Suite struct UserNamesTests {
    private func name(_ names: UserNames, _ uid: UInt32) -> String? {
        let told = Mutex<String?>(nil)
        let done = DispatchSemaphore(value: 0)
        names.name(of: uid) { name in
            told.withLock { $0 = name }
            done.signal()
        }
        return done.wait(timeout: .now() + 20) == .success ? told.withLock { $0 } : nil
    }

    @Test func aNameIsLookedUpOnce() {
        let count = Mutex(0)
        let names = UserNames { uid in
            count.withLock { $0 += 1 }
            return uid == 7 ? "ann" : nil
        }
        for _ in 0..<3 {
            #expect(name(names, 7) == "ann")
            #expect(name(names, 8) == "uid 8")
        }
        #expect(count.withLock { $0 } == 2)
    }

    @Test func aLookUpThatHangsDelaysNoClientForLong_andItsResultIsUsedLater() {
        let held = DispatchSemaphore(value: 0)
        let names = UserNames { _ in
            held.wait()
            return "ann"
        }
        #expect(name(names, 7) == "uid 7")
        // Clients that come while it hangs do not wait again.
        let began = DispatchTime.now().uptimeNanoseconds
        for _ in 0..<50 { #expect(name(names, 7) == "uid 7") }
        #expect(DispatchTime.now().uptimeNanoseconds - began < 5_000_000_000)
        held.signal()
        let end = Date(timeIntervalSinceNow: 10)
        while name(names, 7) != "ann", Date() < end { usleep(1000) }
        #expect(name(names, 7) == "ann")
    }

    @Test func rootHasAName() { #expect(name(UserNames(), 0) == "root") }
}

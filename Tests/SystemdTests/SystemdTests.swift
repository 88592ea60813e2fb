// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import Systemd

/// A bound datagram socket that plays systemd or journald.
final class Receiver {
    let path: String
    private let descriptor: Int32

    init() {
        path = "/tmp/timerd-test-\(UUID().uuidString.prefix(13)).sock"
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        bind()
    }

    deinit {
        close(descriptor)
        unlink(path)
    }

    private func bind() {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(result == 0)
    }

    /// The next datagram; nil without one.
    func receive() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count < 0 ? nil : Array(buffer[..<count])
    }

    func text() -> String? { receive().map { String(decoding: $0, as: UTF8.self) } }
}

@Suite struct NotifyTests {
    @Test func saysEachStateInOneDatagram() {
        let manager = Receiver()
        let notify = Notify(address: manager.path)
        #expect(notify.ready(status: "3 jobs") == .sent)
        #expect(manager.text() == "READY=1\nSTATUS=3 jobs")
        #expect(notify.reloading(monotonic: 123_456) == .sent)
        #expect(manager.text() == "RELOADING=1\nMONOTONIC_USEC=123456")
        #expect(notify.watchdog() == .sent && notify.stopping() == .sent)
        #expect(manager.text() == "WATCHDOG=1")
        #expect(manager.text() == "STOPPING=1")
        #expect(notify.extendTimeout(.seconds(15)) == .sent)
        #expect(manager.text() == "EXTEND_TIMEOUT_USEC=15000000")
    }

    @Test func aStatusCannotSmuggleInAnotherState() {
        let manager = Receiver()
        _ = Notify(address: manager.path).status("due\nWATCHDOG=trigger\u{7f}")
        #expect(manager.text() == "STATUS=due WATCHDOG=trigger ")
    }

    @Test func withoutAManagerNothingIsSent() {
        #expect(Notify(address: nil).watchdog() == .notSupervised)
        #expect(Notify(address: "relative").watchdog() == .failed(EINVAL))
        #expect(Notify(address: "/nowhere/at/all").watchdog() == .failed(ENOENT))
    }

    @Test func aManagerThatDoesNotReadHoldsNobodyUp() {
        let manager = Receiver()
        let notify = Notify(address: manager.path)
        var last = Notify.Result.sent
        for _ in 0..<10_000 where last == .sent { last = notify.watchdog() }
        #expect(last == .failed(EAGAIN))
    }

    /// In a process of its own, since the environment is the whole process's.
    @Test func takesItsVariablesOutOfTheEnvironment() {
        setenv("NOTIFY_SOCKET", "/run/nobody", 1)
        setenv("WATCHDOG_USEC", "3000000", 1)
        setenv("WATCHDOG_PID", "\(getpid())", 1)
        setenv("LISTEN_PID", "1", 1)
        setenv("LISTEN_FDS", "1", 1)
        let environment = SupervisorEnvironment.take()
        #expect(environment.watchdogInterval == .seconds(3))
        #expect(environment.notify.isSupervised && environment.sockets.isEmpty)
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS"] {
            #expect(getenv(name) == nil, "\(name) is left for children")
        }
    }
}

@Suite struct JournalTests {
    @Test func aPlainValueIsALine_andOneWithANewlineHasItsLength() {
        #expect(
            Journal.encode([("MESSAGE", "fires"), ("TIMERD_JOB", "a=b")])
                == Array("MESSAGE=fires\nTIMERD_JOB=a=b\n".utf8))
        #expect(
            Journal.encode([("MESSAGE", "a\nPRIORITY=0")])
                == Array("MESSAGE\n".utf8) + [12, 0, 0, 0, 0, 0, 0, 0]
                + Array("a\nPRIORITY=0\n".utf8))
    }

    @Test(arguments: [
        ("MESSAGE", true), ("A1_B", true), ("_PID", false), ("1A", false), ("a", false),
        ("", false),
        ("A B", false), ("A=B", false), (String(repeating: "A", count: 64), true),
        (String(repeating: "A", count: 65), false),
    ])
    func knowsAFieldName(name: String, isOne: Bool) {
        #expect(Journal.isFieldName(name) == isOne)
        #expect(Journal.encode([(name, "x")]).isEmpty == !isOne)
    }

    @Test func whatAStuckJournalDoesNotTakeIsCountedAndReported() {
        let daemon = Receiver()
        let journal = Journal(path: daemon.path)
        var sent = 0
        while journal.send(message: "entry \(sent)", priority: 6), sent < 10_000 { sent += 1 }
        for _ in 0..<6 { journal.send(message: "lost", priority: 6) }
        #expect(journal.droppedCount == 7)
        while daemon.receive() != nil {}
        #expect(journal.send(message: "back", priority: 6))
        #expect(daemon.text()?.hasPrefix("MESSAGE=7 log entries were dropped") == true)
        #expect(daemon.text() == "MESSAGE=back\nPRIORITY=6\n")
        #expect(journal.droppedCount == 0)
    }

    @Test func aJournalThatIsAwayIsSpokenToAgainWhenItIsBack() {
        let journal = Journal(path: "/tmp/timerd-test-nobody.sock")
        #expect(!journal.send(message: "lost", priority: 6))
        #expect(journal.droppedCount == 1)
    }

    @Test func anEntryTooLargeForADatagramGoesAsAFile() {
        let daemon = Receiver()
        let journal = Journal(path: daemon.path)
        let value = String(repeating: "x", count: Journal.valueBytesMax)
        let fields = (0..<8).map { ("FIELD_\($0)", value) }
        #expect(journal.send(message: "large", priority: 6, fields: fields))
        #expect(daemon.receive() == [], "an empty datagram with the file beside it")
    }
}

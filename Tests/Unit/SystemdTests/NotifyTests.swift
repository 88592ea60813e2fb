// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Systemd
import SystemdReceiver
import Testing

@Suite struct NotifyTests {
    @Test(
        arguments: [
            ([.ready], "READY=1"),
            ([.ready, .status("3 jobs")], "READY=1\nSTATUS=3 jobs"),
            ([.reloading(monotonic: 123_456)], "RELOADING=1\nMONOTONIC_USEC=123456"),
            ([.stopping, .status("2 runs left")], "STOPPING=1\nSTATUS=2 runs left"),
            ([.watchdog], "WATCHDOG=1"),
            ([.extendTimeout(.seconds(15))], "EXTEND_TIMEOUT_USEC=15000000"),
            ([.extendTimeout(.milliseconds(1500))], "EXTEND_TIMEOUT_USEC=1500000"),
            ([.extendTimeout(.nanoseconds(1))], "EXTEND_TIMEOUT_USEC=1"),
            ([.extendTimeout(.seconds(-1))], "EXTEND_TIMEOUT_USEC=0"),
            ([.extendTimeout(.seconds(Int64.max))], "EXTEND_TIMEOUT_USEC=86400000000"),
        ] as [([Notify.State], String)])
    func sendsStatesInOneDatagram(states: [Notify.State], datagram: String) {
        let manager = SystemdReceiver()
        #expect(Notify(address: manager.address).send(states) == .sent)
        #expect(manager.text() == datagram)
        #expect(manager.text() == nil)
    }

    @Test func eachStateHasItsOwnMethod() {
        let manager = SystemdReceiver()
        let notify = Notify(address: manager.address)
        #expect(notify.ready(status: "up") == .sent)
        #expect(notify.status("idle") == .sent)
        #expect(notify.reloading(monotonic: 7) == .sent)
        #expect(notify.extendTimeout(.seconds(1)) == .sent)
        #expect(notify.watchdog() == .sent)
        #expect(notify.stopping() == .sent)
        for datagram in [
            "READY=1\nSTATUS=up", "STATUS=idle", "RELOADING=1\nMONOTONIC_USEC=7",
            "EXTEND_TIMEOUT_USEC=1000000", "WATCHDOG=1", "STOPPING=1",
        ] {
            #expect(manager.text() == datagram)
        }
    }

    @Test(arguments: [
        ("due\nWATCHDOG=trigger", "due WATCHDOG=trigger"),
        ("bell\u{7} delete\u{7f} escape\u{1b}[2J", "bell  delete  escape [2J"),
        ("C1 \u{9b}2J", "C1  2J"),
        ("lines\u{2028}and\u{2029}paragraphs", "lines and paragraphs"),
        ("\u{202e}backwards\u{2066}", " backwards "),
        ("größer 日本 👩‍💻", "größer 日本 👩‍💻"),
    ])
    func aStatusCannotAddAnotherStateOrMoveACursor(text: String, shown: String) {
        let manager = SystemdReceiver()
        #expect(Notify(address: manager.address).status(text) == .sent)
        #expect(manager.text() == "STATUS=\(shown)")
    }

    @Test func aLongStatusIsCutBetweenTwoCharacters() {
        let manager = SystemdReceiver()
        // 3 bytes each, and 1024 is no multiple of 3.
        _ = Notify(address: manager.address).status(String(repeating: "日", count: 1000))
        #expect(manager.text() == "STATUS=" + String(repeating: "日", count: 341))
    }

    @Test func anAbstractAddressStartsWithAnAt() {
        let manager = SystemdReceiver(
            address: "@timerd-test-\(getpid())-\(UInt32.random(in: 0...UInt32.max))")
        #expect(Notify(address: manager.address).send([.ready]) == .sent)
        #expect(manager.text() == "READY=1")
    }

    @Test(
        arguments: [
            (nil, .notSupervised), ("relative", .failed(EINVAL)), ("", .failed(EINVAL)),
            ("/", .failed(EINVAL)), ("@", .failed(EINVAL)), ("vsock:2:1", .failed(EINVAL)),
            ("/" + String(repeating: "a", count: 107), .failed(EINVAL)),
            ("/nowhere/at/all", .failed(ENOENT)), ("@nobody-listens", .failed(ECONNREFUSED)),
        ] as [(String?, Notify.Result)])
    func reportsWhyNothingWasSent(address: String?, result: Notify.Result) {
        #expect(Notify(address: address).watchdog() == result)
        #expect(Notify(address: address).isSupervised == (address != nil))
    }

    /// If a send waited, this test would never end.
    @Test func aManagerThatDoesNotReadBlocksNothing() {
        let manager = SystemdReceiver()
        let notify = Notify(address: manager.address)
        var last = Notify.Result.sent
        for _ in 0..<10_000 where last == .sent { last = notify.watchdog() }
        #expect(last == .failed(EAGAIN))
        manager.drain()
        #expect(notify.watchdog() == .sent)
    }
}

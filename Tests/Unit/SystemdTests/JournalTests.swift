// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization
import SystemdReceiver
import Testing

@testable import Systemd

@Suite struct JournalTests {
    private typealias Field = Journal.Field

    // MARK: Encoding

    @Test func aPlainValueIsALine_andAValueWithANewlineHasItsLength() {
        #expect(
            Journal.encode([Field("MESSAGE", "fires"), Field("TIMERD_JOB", "a=b"), Field("E", "")])
                == Array("MESSAGE=fires\nTIMERD_JOB=a=b\nE=\n".utf8))
        #expect(
            Journal.encode([Field("MESSAGE", "a\nPRIORITY=0")])
                == Array("MESSAGE\n".utf8) + [12, 0, 0, 0, 0, 0, 0, 0]
                + Array("a\nPRIORITY=0\n".utf8))
        #expect(
            Journal.encode([Field("B", [0, 255, 61])]) == Array("B=".utf8) + [0, 255, 61, 10])
    }

    @Test(arguments: [
        ("MESSAGE", true), ("A1_B", true), ("_PID", false), ("1A", false), ("a", false),
        ("", false), ("A B", false), ("A=B", false), ("A\nB", false), ("É", false), ("A\0", false),
        (String(repeating: "A", count: 64), true), (String(repeating: "A", count: 65), false),
    ])
    func checksFieldNames(name: String, isOne: Bool) {
        #expect(Field.isName(name) == isOne)
        #expect(Journal.encode([Field(name, "x")]).isEmpty == !isOne)
    }

    /// Random names and values, with many characters that are special in the protocol.
    @Test func anyFieldsAreDecodedUnchanged() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = Xorshift(state: seed | 1)
        let pieces: [[UInt8]] = [[10], [61], [0], [255], Array("PRIORITY=0".utf8), Array("A".utf8)]
        for _ in 0..<2000 {
            let fields = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                let value = (0..<Int.random(in: 0...6, using: &random))
                    .flatMap { _ in pieces.randomElement(using: &random) ?? [] }
                return Field(
                    ["F", "G_2", "bad", "_OWN"].randomElement(using: &random) ?? "F", value)
            }
            let read = try decodeEntry(Journal.encode(fields)).map { Field($0.name, $0.value) }
            #expect(read == fields.filter { Field.isName($0.name) }, "seed \(seed)")
        }
    }

    @Test func aLongValueIsCut_textBetweenTwoCharacters() {
        let limit = Journal.valueBytesMax
        #expect(Field("F", String(repeating: "x", count: limit)).value.count == limit)
        #expect(Field("F", String(repeating: "x", count: limit + 1)).value.count == limit)
        // 3 bytes each: 65536 is 21845 of them and one byte.
        let cut = Field("F", String(repeating: "日", count: limit)).value
        #expect(cut.count == limit - 1)
        #expect(String(validating: cut, as: UTF8.self) != nil)
        let bytes = Journal.encode([Field("F", [UInt8](repeating: 255, count: limit + 1))])
        #expect(bytes.count == "F=".utf8.count + limit + 1)
    }

    // MARK: Sending

    @Test func anEntryHasOneMessageOnePriorityAndItsFields() throws {
        let daemon = SystemdReceiver()
        let journal = Journal(path: daemon.address)
        let own = [Field("MESSAGE", "forged"), Field("PRIORITY", "0"), Field("BYTES", [1, 10, 2])]
        #expect(journal.send(message: "true\nPRIORITY=0", priority: 6, fields: own))
        let read = try decodeEntry(try #require(daemon.receive()).bytes)
        #expect(read.map(\.name) == ["MESSAGE", "PRIORITY", "BYTES"])
        #expect(read.map(\.value) == [Array("true\nPRIORITY=0".utf8), [0x36], [1, 10, 2]])
    }

    @Test(arguments: [(-1, "0"), (0, "0"), (7, "7"), (8, "7")])
    func aPriorityIsClampedToTheValidRange(priority: Int, sent: String) {
        let daemon = SystemdReceiver()
        #expect(Journal(path: daemon.address).send(message: "m", priority: priority))
        #expect(daemon.text() == "MESSAGE=m\nPRIORITY=\(sent)\n")
    }

    @Test func fieldsAboveTheLimitAreDropped() throws {
        let daemon = SystemdReceiver()
        let fields = (0...Journal.fieldsMax).map { ("F\($0)", "x") }
        #expect(Journal(path: daemon.address).send(message: "m", priority: 6, fields: fields))
        let read = try decodeEntry(try #require(daemon.receive()).bytes)
        #expect(read.count == 2 + Journal.fieldsMax)
        #expect(read.last?.name == "F\(Journal.fieldsMax - 1)")
    }

    @Test func anEntryTooLargeForADatagramIsSentAsASealedFile() throws {
        let daemon = SystemdReceiver()
        let value = String(repeating: "x", count: Journal.valueBytesMax)
        let fields = (0..<8).map { ("FIELD_\($0)", value) }
        #expect(Journal(path: daemon.address).send(message: "large", priority: 6, fields: fields))
        let datagram = try #require(daemon.receive())
        #expect(datagram.bytes.isEmpty)
        let file = try #require(datagram.file)
        #expect(file.isSealed)
        let read = try decodeEntry(file.bytes())
        #expect(read.map(\.name) == ["MESSAGE", "PRIORITY"] + fields.map(\.0))
        #expect(read.dropFirst(2).allSatisfy { $0.value == Array(value.utf8) })
    }

    // MARK: A journal that hangs, stops or is restarted

    /// If a send waited, this test would never end.
    @Test func entriesForAHangingJournalAreCountedAndReportedFirst() {
        let daemon = SystemdReceiver()
        let journal = Journal(path: daemon.address)
        var sent = 0
        while journal.send(message: "entry \(sent)", priority: 6), sent < 10_000 { sent += 1 }
        for _ in 0..<6 { journal.send(message: "lost", priority: 6) }
        #expect(journal.droppedCount == 7)
        daemon.drain()
        #expect(journal.send(message: "back", priority: 6))
        let report = daemon.text()
        #expect(report?.hasPrefix("MESSAGE=7 log entries were dropped") == true)
        #expect(report?.contains("\nTIMERD_DROPPED=7\n") == true)
        #expect(daemon.text() == "MESSAGE=back\nPRIORITY=6\n")
        #expect(journal.droppedCount == 0)
        #expect(journal.send(message: "and on", priority: 6))
        #expect(daemon.text() == "MESSAGE=and on\nPRIORITY=6\n", "it is reported once")
    }

    /// Far more than a socket can hold, to a journal that only starts to read when it is full.
    @Test func aSlowJournalGetsEverything() throws {
        let daemon = SystemdReceiver()
        let journal = Journal(path: daemon.address)
        // Fills the socket; these entries are not counted.
        let filler = Journal(path: daemon.address)
        while filler.send(message: "filler", priority: 6) {}
        // Unchecked: only this thread reads from it.
        nonisolated(unsafe) let socket = daemon
        Thread.detachNewThread {
            while socket.text()?.hasPrefix("MESSAGE=last") != true {}
        }
        for number in 0..<2000 {
            #expect(
                journal.send(
                    message: "\(number)", priority: 6, fields: [], timeout: .seconds(60)))
        }
        #expect(journal.send(message: "last", priority: 6, fields: [], timeout: .seconds(60)))
        #expect(journal.droppedCount == 0)
    }

    @Test func aHangingJournalIsWaitedForOnce() {
        let daemon = SystemdReceiver()
        let journal = Journal(path: daemon.address)
        let filler = Journal(path: daemon.address)
        while filler.send(message: "filler", priority: 6) {}
        let clock = ContinuousClock()
        var sent = 0
        let once = clock.measure {
            // Its own share of the socket may still have room.
            while journal.send(message: "x", priority: 6, fields: [], timeout: .milliseconds(50)) {
                sent += 1
            }
        }
        #expect(once >= .milliseconds(50))
        let after = clock.measure {
            for _ in 0..<1000 {
                journal.send(message: "x", priority: 6, fields: [], timeout: .seconds(3600))
            }
        }
        #expect(after < .seconds(60))
        #expect(journal.droppedCount == 1001)
        daemon.drain()
        // It accepts entries again, and is waited for again from then on.
        #expect(journal.send(message: "x", priority: 6, fields: [], timeout: .seconds(3600)))
        #expect(journal.droppedCount == 0)
    }

    /// The journal looks up the unit of an entry when it reads it, and a process that has ended has none.
    @Test func aFlushEndsWhenEveryEntryWasRead() {
        let daemon = SystemdReceiver()
        let journal = Journal(path: daemon.address)
        for number in 0..<3 { #expect(journal.send(message: "\(number)", priority: 6)) }
        // Unchecked: this thread reads from it after the other one.
        nonisolated(unsafe) let socket = daemon
        let read = Mutex<[String]>([])
        withExtendedLifetime(read) {
            Thread.detachNewThread {
                while read.withLock({ $0.count }) < 4 {
                    if let text = socket.text() { read.withLock { $0.append(text) } }
                }
            }
            journal.flush(timeout: .seconds(3600))
            #expect(read.withLock { $0.count } >= 3)
        }
    }

    @Test func aFlushDoesNotWaitForAHangingJournal() {
        let daemon = SystemdReceiver()
        let journal = Journal(path: daemon.address)
        journal.flush(timeout: .milliseconds(1))
        while journal.send(message: "x", priority: 6) {}
        journal.flush(timeout: .seconds(3600))
        // Without a journal there is nothing to wait for either.
        Journal(path: "no/path").flush(timeout: .seconds(3600))
        Journal(path: SystemdReceiver.unusedPath()).flush(timeout: .seconds(3600))
        withExtendedLifetime(daemon) {}
    }

    @Test func aRestartedJournalGetsEntriesAgain() {
        let path = SystemdReceiver.unusedPath()
        let journal = Journal(path: path)
        #expect(!journal.send(message: "too early", priority: 6))
        for life in 1...3 {
            let daemon = SystemdReceiver(address: path)
            #expect(journal.send(message: "life \(life)", priority: 6))
            #expect(daemon.text()?.hasPrefix("MESSAGE=1 log entry was dropped") == true)
            #expect(daemon.text() == "MESSAGE=life \(life)\nPRIORITY=6\n")
            // The socket is removed as when journald ends; entries sent meanwhile have no receiver.
            withExtendedLifetime(daemon) { _ = unlink(path) }
            #expect(!journal.send(message: "between", priority: 6))
            #expect(journal.droppedCount == 1)
        }
    }

    @Test func anInvalidPathIsLikeAJournalThatDoesNotRespond() {
        let journal = Journal(path: "no/path")
        #expect(!journal.send(message: "lost", priority: 6))
        #expect(journal.droppedCount == 1)
    }

    /// Every entry is either read or counted, whichever thread sent it.
    @Test func manyThreadsLoseNoCount() async throws {
        let daemon = SystemdReceiver()
        let journal = Journal(path: daemon.address)
        let taken = await withTaskGroup(of: Int.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    (0..<500).count { journal.send(message: "\(thread) \($0)", priority: 6) }
                }
            }
            return await group.reduce(0, +)
        }
        var read = 0
        while daemon.receive() != nil { read += 1 }
        #expect(read == taken)
        #expect(read + journal.droppedCount == 2000)
    }

    /// In its own process with a low limit of open files: leaked descriptors would reach the limit.
    @Test func aReleasedJournalClosesItsDescriptor() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 128, rlim_max: 128)
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            let daemon = SystemdReceiver()
            for life in 0..<256 {
                #expect(Journal(path: daemon.address).send(message: "m", priority: 6), "\(life)")
                daemon.drain()
            }
        }
    }

    // MARK: Standard error

    @Test func aStreamIsTheJournalsOnlyIfItIsTheNamedOne() {
        var status = stat()
        #expect(fstat(STDIN_FILENO, &status) == 0)
        let named = "\(status.st_dev):\(status.st_ino)"
        #expect(Journal.isStream(STDIN_FILENO, named: named))
        for other in [
            nil, "", ":", "1:1", named + "0", "0" + named, "\(status.st_dev)", "\(status.st_ino)",
        ] {
            #expect(!Journal.isStream(STDIN_FILENO, named: other), "\(other ?? "nil")")
        }
        #expect(!Journal.isStream(-1, named: named))
    }
}

/// Random numbers that are reproducible by the seed.
private struct Xorshift: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import HostFiles
import Logging
import Synchronization
import Systemd
import Testing
import TimerCore
import TimerStore

@testable import TimerDaemon
@testable import TimerRecording

@Suite struct HeartbeatFileTests {
    private let now = Self.now

    private static let latest = Now(
        wall: WallInstant(microsecondsSinceEpoch: Accepted.wallMicroseconds.upperBound),
        awake: AwakeInstant(nanoseconds: Accepted.bootNanoseconds.upperBound),
        boot: BootInstant(nanoseconds: Accepted.bootNanoseconds.upperBound),
        bootID: BootID("0123456789abcdef0123456789abcdef")!)

    private static let now = Now(
        wall: WallInstant(microsecondsSinceEpoch: 1), awake: AwakeInstant(nanoseconds: 2),
        boot: BootInstant(nanoseconds: 3), bootID: BootID("0123456789abcdef0123456789abcdef")!)

    /// Complete lines with numbers that no clock has, with which arithmetic would trap.
    @Test(arguments: [
        "0 7 B 9223372036854775807 2 3 -", "0 7 B -9223372036854775808 2 3 -", "0 7 B 1 -1 3 -",
        "0 7 B 1 9223372036854775807 3 -", "0 7 B 1 2 9223372036854775807 -",
        "0 9223372036854775807 B 1 2 3 -", "0 0 B 1 2 3 -", "-1 7 B 1 2 3 -",
        "0 7 B 1 2 3 6 1 9 B 9223372036854775807 2 3",
    ])
    func aLineWithNumbersOutOfTheirRangesIsNotRead(numbers: String) {
        let boot = "0123456789abcdef0123456789abcdef"
        let text = "timerd-heartbeat 3 " + numbers.replacing("B", with: boot)
        #expect(Heartbeat(line: "\(text) \(LineSum.of(text))") == nil)
    }

    @Test(
        arguments: [
            Heartbeat(instance: 7, at: now),
            Heartbeat(
                instance: 7, at: now,
                unstored: .init(storedInstance: 6, proven: now, counted: .seconds(9), instances: 1)),
            Heartbeat(
                instance: 7, at: now,
                unstored: .init(storedInstance: 0, proven: nil, counted: .zero, instances: 2)),
            Heartbeat(
                instance: Accepted.instance.upperBound, at: latest,
                unstored: .init(
                    storedInstance: .max, proven: latest, counted: .nanoseconds(Int64.max),
                    instances: .max)),
        ])
    func aLineIsReadBack_andAnyOtherIsNot(heartbeat: Heartbeat) {
        #expect(heartbeat.line.utf8.count < 512)
        let line = heartbeat.line
        #expect(Heartbeat(line: line) == heartbeat)
        for index in line.indices {
            var broken = line
            broken.replaceSubrange(index...index, with: line[index] == "x" ? "y" : "x")
            #expect(Heartbeat(line: broken) == nil, "\(broken)")
            #expect(Heartbeat(line: String(line[..<index])) == nil)
        }
    }

    /// A number consists of its digits, without a sign, even if the checksum is right.
    @Test func aLineWithASignTooManyIsNone() {
        let at = Now(
            wall: WallInstant(microsecondsSinceEpoch: 1_800_000_000_000_000),
            awake: AwakeInstant(nanoseconds: 5), boot: BootInstant(nanoseconds: 6),
            bootID: BootID("0123456789abcdef0123456789abcdef")!)
        let words = Heartbeat(instance: 3, at: at).line.split(separator: " ").map(String.init)
        func line(_ words: [String]) -> String {
            let text = words.dropLast().joined(separator: " ")
            let sum = text.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) {
                ($0 ^ UInt64($1)) &* 0x100_0000_01b3
            }
            return "\(text) \(String(sum, radix: 16))"
        }
        #expect(Heartbeat(line: line(words)) != nil, "the sum is the one that is written")
        for index in words.indices.dropFirst().dropLast() where Int64(words[index]) != nil {
            var signed = words
            signed[index] = "+" + words[index]
            #expect(Heartbeat(line: line(signed)) == nil, "\(signed)")
        }
    }

    @Test func theLastCompleteHeartbeatCounts() throws {
        let folder = "/tmp/timerd-heartbeat-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let directory = try Directory.open(folder)
        var file = try HeartbeatFile(in: directory)
        #expect(file.read() == nil)
        for second in 1...5 {
            var at = now
            at.awake.nanoseconds = Int64(second)
            #expect(file.write(Heartbeat(instance: 1, at: at)) == nil)
            #expect(try HeartbeatFile(in: directory).read()?.at.awake == at.awake)
        }
        // A kill during the next write: half of one place is new.
        let descriptor = open("\(folder)/heartbeat", O_WRONLY)
        _ = pwrite(descriptor, "timerd-heartbeat 2 9", 20, 512)
        close(descriptor)
        #expect(try HeartbeatFile(in: directory).read()?.at.awake.nanoseconds == 5)
    }

    /// Checked by the mount table, for a directory of each kind on this machine.
    @Test(arguments: ["/dev/shm", "/run", "/tmp", "/var/tmp"])
    func itIsKnownWhetherTheFileLiesInMemory(parent: String) throws {
        let folder = "\(parent)/timerd-heartbeat-\(UUID().uuidString)"
        guard access(parent, W_OK) == 0 else { return }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = try HeartbeatFile(in: try Directory.open(folder))
        // The last mount at the longest path that contains it.
        let mounts = try String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)
            .split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        let mount = mounts.filter {
            $0[1] == "/" || parent == $0[1] || parent.hasPrefix($0[1] + "/")
        }
        .enumerated().max { ($0.element[1].count, $0.offset) < ($1.element[1].count, $1.offset) }
        let kind = try #require(mount?.element[2])
        #expect(file.isInMemory == ["tmpfs", "ramfs"].contains(kind), "\(kind)")
    }

    @Test func inMemoryAHeartbeatIsWrittenAtOnce() throws {
        let folder = "/dev/shm/timerd-heartbeat-\(UUID().uuidString)"
        guard access("/dev/shm", W_OK) == 0 else { return }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let directory = try Directory.open(folder)
        let file = try HeartbeatFile(in: directory)
        guard file.isInMemory else { return }
        HeartbeatWriter(file: file, log: Logger(label: "test")).write(
            Heartbeat(instance: 4, at: now))
        #expect(try HeartbeatFile(in: directory).read() == Heartbeat(instance: 4, at: now))
    }
}

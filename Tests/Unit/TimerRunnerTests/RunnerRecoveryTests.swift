// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// The registry file of a runner that was killed.
struct RecordFile {
    let folder = "/tmp/timerd-registry-\(UUID().uuidString)"
    var slots: [[UInt8]] = []

    init() { mkdir(folder, 0o700) }

    static let boot =
        (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8))?
        .trimmingCharacters(in: .whitespacesAndNewlines) ?? "?"

    static func line(
        _ run: String, boot: String = boot, deadline: String = "-", group: String = "-"
    ) -> String {
        "timerd-run 2 \(run) \(boot) 5000 1795000000000000 \(deadline) 10000000000 \(group)"
    }

    mutating func add(
        _ stage: UInt32, pid: Int32 = 1, made: ClosedRange<Int64> = 7...8, _ line: String,
        end: String = ""
    ) {
        var slot = [UInt8](repeating: 0, count: RunRegistry.Slot.bytes)
        slot.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(
                of: cspawn_run_record(
                    stage: stage, pid: pid, earliest: made.lowerBound, latest: made.upperBound),
                as: cspawn_run_record.self)
            bytes[RunRegistry.Slot.firstLine...].copyBytes(from: line.utf8)
            bytes[RunRegistry.Slot.secondLine...].copyBytes(from: end.utf8)
        }
        slots.append(slot)
    }

    /// Writes the slots in whole pages; the other slots are free.
    func write() throws {
        let pages = (slots.count + RunRegistry.Slot.perPage - 1) / RunRegistry.Slot.perPage
        var bytes = Array(slots.joined())
        bytes += [UInt8](
            repeating: 0,
            count: pages * RunRegistry.Slot.perPage * RunRegistry.Slot.bytes - bytes.count)
        try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(RunRegistry.fileName)"))
        chmod("\(folder)/\(RunRegistry.fileName)", 0o600)
    }
}

private func withFolder(_ body: (_ path: String, _ descriptor: Int32) throws -> Void) rethrows {
    let path = "/tmp/timerd-registry-\(UUID().uuidString)"
    mkdir(path, 0o700)
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer {
        close(descriptor)
        try? FileManager.default.removeItem(atPath: path)
    }
    try body(path, descriptor)
}

private func run(_ number: Int) -> Run.ID {
    let scheduled = WallInstant(microsecondsSinceEpoch: 1_795_000_000_000_000 + Int64(number))
    return Run.ID(firing: Firing.ID(job: Job.Name("probe")!, scheduled: scheduled))
}

extension RunRegistry {
    fileprivate func make(for run: Run.ID) throws -> RunRegistry.Place {
        try make(
            for: run, began: 5000, beganAt: WallInstant(microsecondsSinceEpoch: 6), deadline: nil,
            killTimeout: .seconds(1), controlGroup: nil)
    }
}

@Suite struct RunRegistryTests {
    @Test func recordsAreRecovered_untilTheyAreRemoved() throws {
        try withFolder { _, directory in
            // More than fit into a page of the file, removed in any order.
            let count = RunRegistry.Slot.perPage * 2 + 10
            var registry: RunRegistry? = try RunRegistry(in: directory)
            for number in 0..<count { _ = try registry?.make(for: run(number)) }
            for number in stride(from: 0, to: count, by: 2) { registry?.remove(run(number)) }
            registry = nil
            let found = try RunRegistry(in: directory).recover()
            #expect(found.map(\.run) == stride(from: 1, to: count, by: 2).map(run))
            #expect(found.allSatisfy { $0.recovered == .lost(.runner) })
        }
    }

    @Test func aRunHasOneRecord_andARemovedOneFreesItsSlot() throws {
        try withFolder { path, directory in
            let registry = try RunRegistry(in: directory)
            for number in 0..<1000 {
                _ = try registry.make(for: run(number))
                #expect(throws: Spawner.Failure.self) { _ = try registry.make(for: run(number)) }
                registry.remove(run(number))
            }
            var status = stat()
            stat("\(path)/\(RunRegistry.fileName)", &status)
            #expect(Int(status.st_size) == RunRegistry.Slot.perPage * RunRegistry.Slot.bytes)
        }
    }

    @Test func roomForTheNextRecordIsMadeBefore_andOnlyOnce() throws {
        try withFolder { path, directory in
            let registry = try RunRegistry(in: directory)
            var status = stat()
            func bytes() -> Int {
                stat("\(path)/\(RunRegistry.fileName)", &status)
                return Int(status.st_size)
            }
            let page = RunRegistry.Slot.perPage * RunRegistry.Slot.bytes
            // One slot is for the identity of the registry.
            for _ in 0..<3 { registry.prepare() }
            #expect(bytes() == page)
            for number in 1..<RunRegistry.Slot.perPage { _ = try registry.make(for: run(number)) }
            #expect(bytes() == page)
            registry.prepare()
            #expect(bytes() == 2 * page)
        }
    }

    /// The file is deleted and made again while runs of each kind are recorded.
    @Test func allRecordsAreInTheFileThatReplacesADeletedOne() throws {
        try withFolder { path, directory in
            let count = RunRegistry.Slot.perPage + 10
            var registry: RunRegistry? = try RunRegistry(in: directory)
            let memory = registry?.memory
            var places: [RunRegistry.Place] = []
            for number in 0..<count { try places.append(#require(registry).make(for: run(number))) }
            // The first process runs, the second run has ended, and the others are starting.
            write(pid: 71, to: places[0])
            registry?.recordEnd(RunEnd(.exited(3), at: RunnerClock.wall()), of: run(1))
            unlink("\(path)/\(RunRegistry.fileName)")
            try registry?.remake(in: directory)
            #expect(registry?.carry() == false)
            // A process that was made before writes into the former file, and one made after into the new one.
            write(pid: 72, to: places[2])
            try write(pid: 73, to: #require(registry).make(for: run(count)))
            registry?.remove(run(3))
            registry?.recordEnd(RunEnd(.exited(4), at: RunnerClock.wall()), of: run(4))
            #expect(registry?.carry() == false)
            for number in 5..<count { registry?.remove(run(number)) }
            #expect(registry?.carry() == true)
            registry = nil

            let again = try RunRegistry(in: directory)
            #expect(again.memory == memory && !again.isNew)
            let found = Dictionary(
                uniqueKeysWithValues: again.recover().map { ($0.run, $0.recovered) })
            #expect(found.count == 5)
            for (number, pid) in [(0, 71), (2, 72), (count, 73)] {
                guard case .begun(let process) = found[run(number)] else {
                    Issue.record("\(number): \(String(describing: found[run(number)]))")
                    continue
                }
                #expect(Int(process.pid) == pid)
            }
            for (number, status) in [(1, 3), (4, 4)] {
                guard case .ended(let end) = found[run(number)] else {
                    Issue.record("\(number): \(String(describing: found[run(number)]))")
                    continue
                }
                #expect(end.outcome == .exited(Int32(status)))
            }
        }
    }

    /// As the process of a run does.
    private func write(pid: Int32, to place: RunRegistry.Place) {
        var record = cspawn_run_record(
            stage: CSPAWN_RECORD_SPAWNED, pid: pid, earliest: 1, latest: 2)
        #expect(
            pwrite(place.file, &record, MemoryLayout<cspawn_run_record>.size, off_t(place.offset))
                == MemoryLayout<cspawn_run_record>.size)
    }

    @Test func aRegistryOfAnotherRunnerIsNotReplaced() throws {
        try withFolder { path, directory in
            let registry = try RunRegistry(in: directory)
            _ = try registry.make(for: run(0))
            unlink("\(path)/\(RunRegistry.fileName)")
            let other = try RunRegistry(in: directory)
            _ = try other.make(for: run(1))
            #expect(throws: Runner.Failure.self) { try registry.remake(in: directory) }
            #expect(registry.recover().map(\.run) == [run(0)])
            #expect(try RunRegistry(in: directory).recover().map(\.run) == [run(1)])
        }
    }

    /// The description of a failed start may contain paths of any length.
    @Test(arguments: [0, 10, 400, 480, 500, 5000])
    func anEndIsReadAsItWasRecorded_howeverLongItsText(_ length: Int) throws {
        try withFolder { _, directory in
            let what = "exec /" + String(repeating: "ä", count: length)
            let end = RunEnd(
                .spawnFailed(errno: "ENOENT", what: what),
                RunUsage(elapsed: .milliseconds(3), user: .milliseconds(1), peakResidentBytes: 9),
                at: WallInstant(microsecondsSinceEpoch: 77))
            var registry: RunRegistry? = try RunRegistry(in: directory)
            _ = try registry?.make(for: run(0))
            registry?.recordEnd(end, of: run(0))
            registry = nil
            guard case .ended(let read) = try RunRegistry(in: directory).recover().first?.recovered
            else {
                Issue.record("the end is not there")
                return
            }
            #expect(read.usage == end.usage && read.at == end.at)
            guard case .spawnFailed("ENOENT", let text) = read.outcome else {
                Issue.record("it is another end: \(read.outcome)")
                return
            }
            #expect(text == what || (text.hasSuffix("…") && length > 100))
        }
    }

    @Test func aFileThatOthersCanAccessIsRefused() throws {
        for attack in ["link", "symlink", "fifo", "mode", "directory"] {
            try withFolder { path, directory in
                let file = "\(path)/\(RunRegistry.fileName)"
                let other = "\(path)/other"
                try Data([1, 2, 3]).write(to: URL(fileURLWithPath: other))
                chmod(other, 0o600)
                switch attack {
                case "link": link(other, file)
                case "symlink": symlink(other, file)
                case "fifo": mkfifo(file, 0o600)
                case "directory": mkdir(file, 0o700)
                default:
                    try Data().write(to: URL(fileURLWithPath: file))
                    chmod(file, 0o644)
                }
                #expect(throws: Runner.Failure.self, "\(attack)") {
                    _ = try RunRegistry(in: directory)
                }
                #expect(try Data(contentsOf: URL(fileURLWithPath: other)) == Data([1, 2, 3]))
            }
        }
    }

    /// Random bytes: a slot without a valid record is free.
    @Test func aFileOfRandomBytesIsHandled() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var state = seed
        for _ in 0..<4 {
            try withFolder { path, directory in
                let size = RunRegistry.Slot.perPage * RunRegistry.Slot.bytes + 100
                let bytes = (0..<size).map { _ in
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    return UInt8(truncatingIfNeeded: state >> 33)
                }
                let file = "\(path)/\(RunRegistry.fileName)"
                try Data(bytes).write(to: URL(fileURLWithPath: file))
                chmod(file, 0o600)
                let registry = try RunRegistry(in: directory)
                #expect(registry.recover().isEmpty, "seed \(seed)")
                for number in 0..<300 { _ = try registry.make(for: run(number)) }
                #expect(registry.recover().count == 300, "seed \(seed)")
            }
        }
    }
}

/// A runner that starts after one that was killed.
@Suite struct RunnerRecoveryTests {
    @Test func endedRunsAreKnown_killedRunsAreLost_runsFromBeforeTheBootAreLostByReboot() throws {
        var file = RecordFile()
        func name(_ number: Int) -> String { "probe:20261121T043852.00000\(number)Z:1" }
        // Process 1 exists, but was not created at that time.
        file.add(
            CSPAWN_RECORD_ENDED, RecordFile.line(name(0)),
            end: "ended 1795000000500000 500000 3 4 8192 exited(3)")
        file.add(CSPAWN_RECORD_SPAWNED, RecordFile.line(name(1)))
        file.add(CSPAWN_RECORD_CREATED, RecordFile.line(name(2)))
        file.add(CSPAWN_RECORD_SPAWNED, RecordFile.line(name(3), boot: "another"))
        file.add(
            CSPAWN_RECORD_ENDED, RecordFile.line(name(4)),
            end: "ended 5 0 0 0 0 spawn-failed(ENOENT, exec /no such)")
        file.add(CSPAWN_RECORD_SPAWNED, pid: 0, RecordFile.line(name(5)))
        file.add(CSPAWN_RECORD_ENDED, RecordFile.line(name(6)), end: "ended 5 0 0")
        file.add(CSPAWN_RECORD_FREE, RecordFile.line(name(7)))
        file.add(99, RecordFile.line("no-run"))
        file.add(CSPAWN_RECORD_SPAWNED, RecordFile.line(name(0)))
        try file.write()
        let fixture = try RunnerFixture(registry: file.folder)
        defer { fixture.runner.shutdown(grace: .zero) }
        let ends = fixture.events.compactMap { event -> (String, RunEnd)? in
            if case .ended(let run, let end) = event { (run.description, end) } else { nil }
        }
        #expect(ends.map(\.0) == (0..<7).map(name))
        #expect(
            ends.map(\.1.outcome.description) == [
                "exited(3)", "lost(runner)", "lost(runner)", "lost(reboot)",
                "spawn-failed(ENOENT, exec /no such)", "lost(runner)", "lost(runner)",
            ])
        #expect(ends[0].1.usage.elapsed == .milliseconds(500))
        #expect(ends[0].1.usage.peakResidentBytes == 8192)
        #expect(ends[0].1.at == WallInstant(microsecondsSinceEpoch: 1_795_000_000_500_000))
        #expect(fixture.events.count == 7)
    }

    /// The process is not a child of the runner, so its exit status is unknown; that it is running
    /// and ends is known, and it can be terminated.
    @Test(arguments: ["ends by itself", "is terminated", "reaches its time limit"])
    func anActiveRunIsReattached(and what: String) throws {
        let folder = "/tmp/timerd-registry-\(UUID().uuidString)"
        let first = try RunnerFixture(registry: folder)
        let request = first.request(.shell("echo up; exec sleep 300"))
        first.runner.start([request])
        first.wait(forLine: "up")
        guard case .began(_, let pid, let at) = first.events[0],
            case .begun(let process) = try RunRegistry(in: first.descriptor).recover().first?
                .recovered
        else {
            Issue.record("not started: \(first.events)")
            return
        }
        #expect(process.pid == pid && process.beganAt == at && process.isAlive)
        // The record as the next runner finds it after a kill. The first runner is still running,
        // so only the copy for the second one contains the time limit.
        var copy = RecordFile()
        let deadline =
            what == "reaches its time limit" ? "\(RunnerClock.awake() + 1_000_000_000)" : "-"
        let line = RecordFile.line(request.id.description, deadline: deadline)
            .replacing("1795000000000000", with: "\(at.microsecondsSinceEpoch)")
        copy.add(CSPAWN_RECORD_SPAWNED, pid: pid, made: process.made, line)
        try copy.write()
        let second = try RunnerFixture(registry: copy.folder)
        #expect(second.events == [.began(request.id, pid: pid, at: at)])
        switch what {
        case "ends by itself": kill(pid, SIGKILL)
        case "is terminated": second.runner.end(request.id, grace: .seconds(60))
        default: break
        }
        let outcome: RunOutcome =
            switch what {
            case "ends by itself": .lost(.runner)
            case "is terminated": .stopped
            default: .timedOut
            }
        #expect(second.end(of: request).outcome == outcome)
        second.runner.shutdown(grace: .zero)
        first.runner.shutdown(grace: .zero)
    }

    /// Processes that left the run's process group are reached only by its control group, also by a
    /// later runner.
    @Test(.enabled(if: ControlGroups.canBeMade, "no control group of version 2 is delegated"))
    func aReattachedRunKeepsItsControlGroup() throws {
        var options = Runner.Options()
        options.usesControlGroups = true
        let folder = "/tmp/timerd-registry-\(UUID().uuidString)"
        let first = try RunnerFixture(registry: folder, options: options)
        let request = first.request(.shell("setsid sh -c 'echo $$; exec sleep 300' & wait"))
        first.runner.start([request])
        first.wait { $0.contains { if case .output = $0 { true } else { false } } }
        guard let left = first.lines(of: request).first.flatMap({ Int32($0) }),
            case .begun(let process) = try RunRegistry(in: first.descriptor).recover().first?
                .recovered
        else {
            Issue.record("not started: \(first.events)")
            return
        }
        var copy = RecordFile()
        copy.add(
            CSPAWN_RECORD_SPAWNED, pid: process.pid, made: process.made,
            RecordFile.line(request.id.description, group: process.controlGroup ?? "-"))
        try copy.write()
        let second = try RunnerFixture(registry: copy.folder, options: options)
        second.runner.end(request.id, grace: .zero)
        #expect(second.end(of: request).outcome == .stopped)
        let pidfd = cspawn_open_process(left)
        var ending = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        #expect(pidfd < 0 || poll(&ending, 1, 10_000) == 1, "it is still running")
        if pidfd >= 0 { close(pidfd) }
        second.runner.shutdown(grace: .zero)
        first.runner.shutdown(grace: .zero)
    }
}

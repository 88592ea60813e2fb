// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PausableTimers
import SeededRandom
import Synchronization
import Testing

/// Accounts that survive the end of the program.
@Suite struct PersistenceTests {
    /// A folder that is deleted after the test.
    private final class Folder {
        let path = NSTemporaryDirectory() + "/pausable-timers-\(UUID().uuidString)"

        func open() throws -> AccountFolder { try AccountFolder(path) }
        var files: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }
        func bytes(_ file: String) -> [UInt8] {
            Array(FileManager.default.contents(atPath: "\(path)/\(file)") ?? Data())
        }
        func write(_ bytes: [UInt8], _ file: String) throws {
            // The data is not written to a temporary file first, which would wait for the disk.
            try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(file)"), options: [])
        }
        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    private func account(_ seconds: Int, _ state: TimerAccount.State = .running) -> TimerAccount {
        TimerAccount(
            state: state, active: .seconds(seconds), accrued: .seconds(seconds),
            savedAt: ManualTime.start)
    }

    /// The clocks this long after `ManualTime.start`, in the same boot or the next one.
    private func later(_ span: Duration, isNextBoot: Bool = false) -> Now {
        var now = ManualTime.start
        now.wall = now.wall + span
        if isNextBoot {
            now.awake = AwakeInstant(nanoseconds: 60_000_000_000)
            now.boot = BootInstant(nanoseconds: 60_000_000_000)
            now.bootID = BootID("00000000-0000-4000-8000-000000000002")!
        } else {
            now.awake = now.awake + span
            now.boot = BootInstant(nanoseconds: now.boot.nanoseconds + span.wholeNanoseconds)
        }
        return now
    }

    @Test(arguments: [
        (TimeBasis.active, false, 300, 1000), (.uptime, false, 900, 0), (.wall, false, 900, 0),
        (.active, true, 300, 1000), (.uptime, true, 900, 0), (.wall, true, 900, 0),
    ])
    func aTimerContinuesWhereItWas(
        basis: TimeBasis, isNextBoot: Bool, active: Int, maxLoss: Int
    ) throws {
        let fixture = Fixture()
        let first = try fixture.every(10_000, counting: basis)
        fixture.advance(300)
        let account = first.account
        // For this long the program did not run, or the machine was off.
        let away = Duration.milliseconds(600)
        let time = ManualTime(startingAt: later(.milliseconds(300) + away, isNextBoot: isNextBoot))
        let timer = try PausableTimer.every(
            .seconds(10), counting: basis, restoring: account, on: TimerQueue(time: time))
        #expect(timer.activeTime == .milliseconds(active))
        #expect(timer.remaining == .milliseconds(10_000 - active))
        let bound = isNextBoot ? maxLoss : min(maxLoss, 600)
        #expect(timer.account.maxLoss == .milliseconds(bound))
    }

    @Test func pausedAndFinishedTimersKeepTheirStates() throws {
        let fixture = Fixture()
        let timer = try fixture.every(100, counting: .wall)
        fixture.advance(130)
        timer.pause()
        let paused = timer.account
        fixture.advance(5000)
        let restored = try fixture.every(100, counting: .wall, restoring: paused)
        #expect(restored.state == .paused && restored.activeTime == .milliseconds(130))
        #expect(restored.remaining == .milliseconds(70))
        restored.resume()
        fixture.advance(70)
        #expect(fixture.log.all.map(\.number) == [1, 2])
        let once = try fixture.after(10)
        fixture.advance(10)
        let again = try fixture.after(10, restoring: once.account)
        fixture.advance(1000)
        #expect(again.state == .finished)
    }

    @Test func aShorterIntervalKeepsTheElapsedTime() throws {
        let fixture = Fixture()
        let timer = try fixture.every(100, restoring: account(5))
        fixture.advance(0)
        #expect(fixture.log.count == 1 && timer.activeTime == .seconds(5))
    }

    @Test func anInvalidAccountIsNotRestored() throws {
        let fixture = Fixture()
        let wrong = TimerAccount(
            active: .seconds(5), accrued: .seconds(6), savedAt: ManualTime.start)
        #expect(throws: TimerArgumentError.self) { try fixture.every(100, restoring: wrong) }
    }

    @Test func anAccountIsReadAsItWasWritten_asJSONToo() throws {
        var random = SeededRandom()
        let folder = Folder()
        let store = try folder.open()
        for basis in TimeBasis.allCases {
            for state in [TimerAccount.State.running, .paused, .finished] {
                let active = Duration(attoseconds: Int128(random.next() >> 1) * 999_999_937)
                let account = TimerAccount(
                    state: state, active: active, accrued: active / 3, passed: 12, ticks: 7,
                    basis: basis, maxLoss: .microseconds(5), savedAt: ManualTime.start)
                try store.save(account, as: "a")
                #expect(try store.load("a") == account)
                let json = try JSONEncoder().encode(account)
                #expect(try JSONDecoder().decode(TimerAccount.self, from: json) == account)
            }
        }
        let wrong = TimerAccount(passed: -1, savedAt: ManualTime.start)
        let forged = String(decoding: try JSONEncoder().encode(wrong), as: UTF8.self)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(TimerAccount.self, from: Data(forged.utf8))
        }
    }

    /// Whatever happens to one place, the other one is used.
    @Test func aHalfWrittenOrForgedPlaceLosesOneSave() throws {
        var random = SeededRandom()
        let folder = Folder()
        try { try folder.open().save(account(1), as: "a") }()
        try { try folder.open().save(account(2), as: "a") }()
        let whole = folder.bytes("a")
        #expect(try folder.open().load("a") == account(2))
        // Number 2 is in place 0.
        for length in stride(from: 0, to: whole.firstIndex(of: UInt8(ascii: "\n"))!, by: 3) {
            var torn = whole
            for index in length..<4096 { torn[index] = 0 }
            try folder.write(torn, "a")
            #expect(try folder.open().load("a") == account(1), "\(length)")
        }
        for _ in 0..<200 {
            var forged = whole
            let place = random.int(below: whole.firstIndex(of: UInt8(ascii: "\n"))!)
            forged[place] ^= UInt8(1 + random.int(below: 255))
            try folder.write(forged, "a")
            #expect(try folder.open().load("a") == account(1), "byte \(place)")
        }
        // The older place copied over the newer one, or the newer one over both, is not accepted as
        // new.
        try folder.write(Array(whole[4096...]), "a")
        #expect(try folder.open().load("a") == nil)
        // After this, saving still works.
        try folder.write(Array(whole[..<100]) + whole[100...].map { _ in 0 }, "a")
        try { try folder.open().save(account(3), as: "a") }()
        #expect(try folder.open().load("a") == account(3))
        try folder.write([], "a")
        #expect(try folder.open().load("a") == nil)
    }

    @Test(arguments: ["a", "..", ".", "a/b", "ä ö", "%2E", "x\n\u{0}", ".hidden", "-"])
    func everyNameHasItsOwnFile(name: String) throws {
        let folder = Folder()
        let store = try folder.open()
        try store.save(account(1), as: "other")
        try store.save(account(2), as: name)
        #expect(try store.load(name) == account(2) && store.load("other") == account(1))
        #expect(folder.files.count == 2)
        try store.remove(name)
        try store.remove(name)
        #expect(try store.load(name) == nil && folder.files == ["other"])
    }

    @Test func refusesInvalidNames_andFollowsNoLink() throws {
        let folder = Folder()
        let store = try folder.open()
        for name in ["", String(repeating: "x", count: 241), String(repeating: "/", count: 81)] {
            #expect(throws: AccountStoreError.self) { try store.save(account(1), as: name) }
        }
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder.path)/link", withDestinationPath: "/etc/hostname")
        #expect(throws: AccountStoreError.self) { try store.load("link") }
        #expect(throws: AccountStoreError.self) { try store.save(account(1), as: "link") }
        try FileManager.default.createDirectory(
            atPath: "\(folder.path)/directory", withIntermediateDirectories: false)
        #expect(throws: AccountStoreError.self) { try store.load("directory") }
    }

    @Test func onlyOneProgramCanOpenTheFolder() throws {
        let folder = Folder()
        let store = try folder.open()
        #expect(throws: AccountStoreError.self) { try folder.open() }
        withExtendedLifetime(store) {}
        #expect(throws: AccountStoreError.self) { try AccountFolder("/nowhere/at/all") }
    }

    /// An initializer that throws after all properties are set runs `deinit`, which closes the
    /// descriptor. If the initializer closed it too, it would close a descriptor that another
    /// thread has just opened.
    @Test func aFolderThatIsInUseClosesItsDescriptorOnce() throws {
        let folder = Folder()
        let store = try folder.open()
        let path = folder.path
        let failures = Shared(Atomic(0))
        DispatchQueue.concurrentPerform(iterations: 2) { part in
            for _ in 0..<5000 {
                if part == 0 {
                    _ = try? AccountFolder(path)
                } else {
                    let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
                    sched_yield()
                    if close(descriptor) != 0 { failures.value.add(1, ordering: .relaxed) }
                }
            }
        }
        #expect(failures.value.load(ordering: .relaxed) == 0)
        withExtendedLifetime(store) {}
    }

    /// Between fork and exec a child has copies of all descriptors, even of those that are closed
    /// on exec.
    @Test func aChildThatIsJustForkedDoesNotKeepTheLock() throws {
        let folder = Folder()
        let copy: Int32
        do {
            let store = try folder.open()
            var own = stat()
            #expect(stat(folder.path, &own) == 0)
            let descriptor = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                .compactMap { Int32($0) }
                .first { number in
                    var status = stat()
                    return fstat(number, &status) == 0 && status.st_ino == own.st_ino
                        && status.st_dev == own.st_dev
                }
            copy = fcntl(try #require(descriptor), F_DUPFD_CLOEXEC, 0)
            withExtendedLifetime(store) {}
        }
        defer { close(copy) }
        #expect(copy >= 0)
        #expect(throws: Never.self) { try folder.open() }
    }

    @Test func aGroupRestoresItsTimersAfterARestart() throws {
        let folder = Folder()
        let fixture = Fixture()
        do {
            let group = try TimerGroup(on: fixture.queue, accounts: folder.open())
            try group.every("work", .seconds(10)) { _ in }
            try group.every("rest", .seconds(10)) { _ in }
            fixture.advance(3000)
            group.pause("rest")
            fixture.advance(1300)
            // The program is killed here: everything after the last save is lost.
        }
        let group = try TimerGroup(on: fixture.queue, accounts: folder.open())
        let work = try group.every("work", .seconds(10)) { fixture.log.append($0) }
        let rest = try group.every("rest", .seconds(10)) { fixture.log.append($0) }
        let lost = Duration.milliseconds(4300) - work.activeTime
        #expect(work.state == .running && lost >= .zero && lost <= .milliseconds(550))
        #expect(rest.activeTime == .seconds(3) && rest.state == .paused)
        fixture.advance(6000)
        #expect(fixture.log.count == 1)
        // A name that was cancelled starts with no elapsed time.
        group.cancel("work")
        let new = try group.every("work", .seconds(10)) { _ in }
        #expect(new.activeTime == .zero && new.state == .running)
    }

    @Test func aTickIsSavedBeforeItsHandlerRuns() throws {
        let folder = Folder()
        let fixture = Fixture()
        do {
            let store = try folder.open()
            let group = try TimerGroup(on: fixture.queue, accounts: store)
            let saved = Log<TimerAccount?>()
            try group.every("often", .seconds(1)) { _ in saved.append(try? store.load("often")) }
            try group.after("once", .seconds(1)) { _ in saved.append(try? store.load("once")) }
            fixture.advance(1000)
            #expect(saved.all.map { $0?.ticks } == [1, nil])
        }
        let group = try TimerGroup(on: fixture.queue, accounts: folder.open())
        let timer = try group.every("often", .seconds(1)) { fixture.log.append($0) }
        #expect(timer.account.ticks == 1)
        fixture.advance(1000)
        #expect(fixture.log.all.map(\.number) == [2])
    }
}

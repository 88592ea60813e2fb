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

@testable import timerd

/// The agenda with real dispatch timers, and no other part of the daemon.
private final class TimerBench: @unchecked Sendable {
    // This is safe because everything in it is used only on its queue.
    let queue = DispatchQueue(label: "bench")
    private let clocks: Clocks
    private var agenda: Agenda
    private var timers: [Job.Name: JobTimer] = [:]
    private(set) var runs = 0
    private(set) var early = 0

    init(_ jobs: [Job]) throws {
        clocks = try Clocks()
        let actions: [Action]
        (agenda, actions) = Agenda.load(
            JobSet(jobs), RecoveredState(instance: 1), concurrentRunsMax: 8, at: clocks.now())
        queue.sync { take(actions) }
    }

    func order(_ verb: Order.Verb, _ job: Job.Name) {
        take(agenda.handle(.order(Order(verb, job, by: .configuration)), at: clocks.now()))
    }

    func shutDown() { take(agenda.handle(.shutdown, at: clocks.now())) }

    var armed: Int { timers.count }

    private func take(_ actions: [Action]) {
        for action in actions {
            switch action {
            case .arm(let job, let instant): timer(of: job).arm(at: instant)
            case .disarm(let job): timers.removeValue(forKey: job)?.cancel()
            case .begin(let started, _, _):
                for run in started {
                    runs += 1
                    if run.id.firing.scheduled > clocks.now().wall + .milliseconds(1) { early += 1 }
                    take(agenda.handle(.ended(run.id, .exited(0), RunUsage()), at: clocks.now()))
                }
            default: break
            }
        }
    }

    private func timer(of job: Job.Name) -> JobTimer {
        if let timer = timers[job] { return timer }
        let source = DispatchSource.makeTimerSource(queue: queue)
        source.setEventHandler { @Sendable [unowned self] in
            take(agenda.handle(.wake(job), at: clocks.now()))
        }
        source.activate()
        let timer = JobTimer(source: source)
        timers[job] = timer
        return timer
    }
}

@Suite struct JobTimerTests {
    /// Sources that are cancelled, set again and released in any order, some of them while they
    /// fire.
    @Test func aMillionRandomOrdersOnRealTimersNeitherTrapNorFireEarly() throws {
        let jobs = (0..<8).map { number in
            Job(
                name: Job.Name("j\(number)")!, command: .shell("true"),
                schedule: number == 0
                    ? .after(.milliseconds(1)) : .every(.milliseconds(1 + number)),
                first: number == 1 ? .zero : nil)
        }
        let bench = try TimerBench(jobs)
        let seed = UInt64.random(in: 0 ... .max)
        print("orders: seed \(seed)")
        var state = seed
        for _ in 0..<1000 {
            // In parts, so that timers fire in between.
            bench.queue.sync {
                for _ in 0..<1000 {
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    let verb = [Order.Verb.pause, .resume, .start, .stop][Int(state >> 40) % 4]
                    bench.order(verb, jobs[Int(state >> 50) % jobs.count].name)
                }
            }
        }
        bench.queue.sync {
            bench.shutDown()
            #expect(bench.armed == 0)
            print("orders: 1000000, firings \(bench.runs)")
            #expect(bench.runs > 0 && bench.early == 0)
        }
    }
}

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

@Suite struct DirectoryTests {
    private let folder = "/tmp/timerd-directory-\(UUID().uuidString)"

    private func clean() { try? FileManager.default.removeItem(atPath: folder) }

    private func failure(_ body: () throws(Directory.Failure) -> Void) -> String {
        do throws(Directory.Failure) {
            try body()
            return "done"
        } catch {
            return error.description
        }
    }

    @Test func isMadeForItsOwnerAlone() throws {
        defer { clean() }
        let directory = try Directory.open("\(folder)/a/b")
        var status = stat()
        fstat(directory.descriptor, &status)
        #expect(status.st_mode & 0o7777 == 0o700)
        _ = try directory.subdirectory("runs")
    }

    @Test func isRefused_whereOthersMayWrite_whereItIsALink_whereItIsNone() throws {
        defer { clean() }
        _ = try Directory.open(folder)
        mkdir("\(folder)/open", 0o700)
        chmod("\(folder)/open", 0o777)
        #expect(
            failure { () throws(Directory.Failure) in _ = try Directory.open("\(folder)/open") }
                .contains("others may write to it; chmod go-w"))
        symlink("open", "\(folder)/link")
        #expect(
            failure { () throws(Directory.Failure) in _ = try Directory.open("\(folder)/link") }
                .contains("not a directory"))
        _ = FileManager.default.createFile(atPath: "\(folder)/file", contents: nil)
        #expect(
            failure { () throws(Directory.Failure) in _ = try Directory.open("\(folder)/file") }
                .contains("not a directory"))
    }

    @Test func aFileInItIsOpenedNeverThroughALink() throws {
        defer { clean() }
        let directory = try Directory.open(folder)
        symlink("/etc/passwd", "\(folder)/heartbeat")
        #expect(
            failure { () throws(Directory.Failure) in _ = try HeartbeatFile(in: directory) }
                .contains("heartbeat: not a plain file of its own"))
        unlink("\(folder)/heartbeat")
        _ = FileManager.default.createFile(atPath: "\(folder)/other", contents: nil)
        link("\(folder)/other", "\(folder)/heartbeat")
        #expect(
            failure { () throws(Directory.Failure) in _ = try HeartbeatFile(in: directory) }
                .contains("not a plain file of its own"))
    }

    /// Objects that can be in the place of a file: how each is created, and the error for it.
    static let planted: [(make: @Sendable (String) -> Void, fault: String)] = [
        ({ symlink("other", $0) }, "not a plain file of its own"),
        ({ link(sibling($0), $0) }, "not a plain file of its own"),
        ({ mkfifo($0, 0o600) }, "not a plain file of its own"),
        ({ mkdir($0, 0o700) }, "not a plain file of its own"),
        ({ make($0, 0o620) }, "others may write to it"),
        ({ make($0, 0o602) }, "others may write to it"),
    ]

    private static func sibling(_ path: String) -> String {
        (path as NSString).deletingLastPathComponent + "/other"
    }

    private static func make(_ path: String, _ mode: mode_t) {
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        chmod(path, mode)
    }

    @Test(arguments: planted.indices)
    func anObjectInThePlaceOfAFileIsRefused_andNotChanged(which: Int) throws {
        defer { clean() }
        let directory = try Directory.open(folder)
        _ = FileManager.default.createFile(atPath: "\(folder)/other", contents: Data("x".utf8))
        let path = "\(folder)/timerd.db-wal"
        #expect(
            failure { () throws(Directory.Failure) in try directory.check("timerd.db-wal") }
                == "done")
        Self.planted[which].make(path)
        #expect(
            failure { () throws(Directory.Failure) in try directory.check("timerd.db-wal") }
                .hasPrefix("\(path): \(Self.planted[which].fault)"))
        // Opening it by a descriptor gives the same error, or is not possible.
        let opened = failure { () throws(Directory.Failure) in
            close(try directory.open("timerd.db-wal", flags: O_RDWR | O_CREAT))
        }
        #expect(opened.hasPrefix("\(path): "))
        #expect(FileManager.default.contents(atPath: "\(folder)/other") == Data("x".utf8))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func aFileOfAStrangerIsRefused() throws {
        defer { clean() }
        let directory = try Directory.open(folder)
        let path = "\(folder)/heartbeat"
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        chown(path, 65_534, 65_534)
        #expect(
            failure { () throws(Directory.Failure) in _ = try HeartbeatFile(in: directory) }
                .contains("belongs to uid 65534"))
    }

    @Test func aStaleSocketIsReplaced_andNothingElseIs() throws {
        defer { clean() }
        let path = "\(folder)/control.sock"
        let first = try UnixSocket.bind(at: path, allowing: .group("nobody-has-this"))
        #expect(Glibc.listen(first, 1) == 0)
        #expect(
            failure { () throws(Directory.Failure) in
                _ = try UnixSocket.bind(at: path, allowing: .group("x"))
            }.contains("another daemon listens there"))
        close(first)
        let second = try UnixSocket.bind(at: path, allowing: .group("x"))
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK)
        close(second)
        unlink(path)
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        #expect(
            failure { () throws(Directory.Failure) in
                _ = try UnixSocket.bind(at: path, allowing: .group("x"))
            }.contains("is there and is no socket"))
    }
}

@Suite struct EntryTests {
    @Test func everyKindHasAnIdOfItsOwn() {
        let ids = EventKind.allCases.map(\.messageID)
        #expect(Set(ids).count == ids.count)
        #expect(ids.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
    }

    @Test func aNoticeIsASentenceWithFields() {
        let job = Job.Name("backup")!
        let pause = Pause(since: WallInstant(secondsSinceEpoch: 0), by: .user("ada"), note: "swap")
        let entry = LogEntry(
            .paused(job, pause, accrued: .seconds(20), remaining: .seconds(5400)))
        #expect(
            entry.message
                == "backup: paused by ada (swap); keeps 20s of elapsed time; next run 1h 30min after the pause"
        )
        #expect(entry.metadata["TIMERD_JOB"] == "backup")
        #expect(entry.metadata["TIMERD_EVENT"] == "paused")
        #expect(entry.metadata["TIMERD_ELAPSED_USEC"] == "20000000")
        #expect(entry.metadata["TIMERD_REMAINING_USEC"] == "5400000000")
    }
}

@Suite struct StandingTests {
    private let now = Now(
        wall: WallInstant(secondsSinceEpoch: 1_795_000_000),
        awake: AwakeInstant(nanoseconds: 5_000_000_999),
        boot: BootInstant(nanoseconds: 7_000_000_000),
        bootID: BootID("00112233445566778899aabbccddeeff")!)

    private func agenda(_ jobs: [Job]) -> (Agenda, [Action]) {
        Agenda.load(JobSet(jobs), RecoveredState(instance: 1), concurrentRunsMax: 1, at: now)
    }

    private func later(_ seconds: Int64) -> Now {
        var later = now
        later.wall = later.wall + .seconds(seconds)
        later.awake.nanoseconds += seconds * 1_000_000_000
        later.boot.nanoseconds += seconds * 1_000_000_000
        return later
    }

    @Test(arguments: TimeBasis.allCases)
    func aPauseHasTheAccountAndTheClockItCountsBy(basis: TimeBasis) throws {
        let name = Job.Name("backup")!
        var job = Job(name: name, command: .shell("true"), schedule: .every(.seconds(60)))
        job.count = basis
        var (agenda, _) = agenda([job])
        let actions = agenda.handle(
            .order(Order(.pause, name, by: .user("ada"))), at: later(20))
        let notice = try #require(
            actions.lazy.compactMap { if case .tell(let notice) = $0 { notice } else { nil } }.first
        )
        let account = AccountSnapshot(for: notice, in: agenda, at: later(20))
        // It may be logged after further events, and still has the values of its own time.
        _ = agenda.handle(.order(Order(.resume, name, by: .user("ada"))), at: later(21))
        var expected: [String: String] = [
            "TIMERD_STATE": "paused", "TIMERD_COUNT": basis.rawValue,
            "TIMERD_ACTIVE_USEC": "20000000", "TIMERD_ELAPSED_USEC": "20000000",
            "TIMERD_MONOTONIC_USEC": "25000000",
        ]
        if basis == .boottime || basis == .wall { expected["TIMERD_BOOTTIME_USEC"] = "27000000" }
        #expect(account.fields.mapValues(\.description) == expected)
        #expect(
            AccountSnapshot(for: .zonesChanged([name]), in: agenda, at: later(20)).fields.isEmpty)
    }

    @Test(arguments: [0, 1, 700, 5000])
    func theStartOfAnInstanceHasAllTimeRecords(count: Int) throws {
        let jobs = (0..<count).map { number in
            Job(
                name: Job.Name("job-with-a-name-of-some-length-\(number)")!,
                command: .shell("true"), schedule: .every(.seconds(60)))
        }
        let (agenda, _) = agenda(jobs)
        let notice = Notice.daemonStarted(.firstStart, away: nil, jobs: count, wereCounting: 0)
        let fields = AccountSnapshot(for: notice, in: agenda, at: now).fields.mapValues(
            \.description)
        #expect(fields["TIMERD_MONOTONIC_USEC"] == "5000000")
        #expect(fields["TIMERD_BOOTTIME_USEC"] == "7000000")
        var text = try #require(fields["TIMERD_ACCOUNTS"])
        var number = 2
        while let more = fields["TIMERD_ACCOUNTS_\(number)"] {
            text += more
            number += 1
        }
        #expect(fields.count == number + 1)
        #expect(fields.values.allSatisfy { $0.utf8.count <= AccountSnapshot.listingBytesMax })
        #expect(
            text.split(separator: ";").map(String.init)
                == jobs.map { "\($0.name) armed active 0 0" })
    }

    @Test func ofVeryManyAccountsSomeAreLeftOut_andCounted() throws {
        let jobs = (0..<120_000).map { number in
            Job(
                name: Job.Name(
                    "a-name-as-long-as-there-may-be-any-\(number + 1_000_000_000)-and-so-on")!,
                command: .shell("true"), schedule: .every(.seconds(60)))
        }
        let (agenda, _) = agenda(jobs)
        let notice = Notice.shutDown(counting: 0, live: 0)
        let fields = AccountSnapshot(for: notice, in: agenda, at: now).fields.mapValues(
            \.description)
        let listed = fields.filter { $0.key != "TIMERD_ACCOUNTS_LEFT" }.values
            .reduce(0) { count, text in count + text.utf8.count { $0 == UInt8(ascii: ";") } }
        let left = try #require(fields["TIMERD_ACCOUNTS_LEFT"].flatMap { Int($0) })
        #expect(left > 0 && listed + left == 120_000)
        #expect(fields.count == AccountSnapshot.listingsMax + 3)
        #expect(fields.count < Journal.fieldsMax)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import Synchronization
import TimerCore
import TimerRunnerProtocol

/// The records of all runs that were started and are not forgotten, so that the next runner can
/// recover them if this one is killed. A run without a record never started.
///
/// The records are slots of one file that is mapped: a record costs no system call, the process of
/// the run writes into it before it executes its program, and the data remains when the writer
/// ends. It need not survive a power failure, because no process does.
final class RunRegistry: Sendable {
    /// The name of the file in its directory.
    static let fileName = "registry"

    /// A slot starts with the binary part that the process writes. Two lines follow, each ended by
    /// NUL: the first identifies the run, the second says how it ended.
    enum Slot {
        static let bytes = 1024
        static let firstLine = 32
        static let secondLine = 512
        /// The number of words in the first line.
        static let words = 9
        /// How many slots are added to the file at a time.
        static let perPage = 256
    }

    /// The identity of this registry, in a slot of its own. A runner that finds another one cannot
    /// know what was started before: the directory was emptied in between.
    let memory: UInt64
    /// Whether there was no earlier registry, so that an earlier runner may have left runs that are not in it.
    let isNew: Bool

    private let bootID: String
    private let slots: Mutex<Slots>

    /// Opens the registry in the directory behind `descriptor`, with the records of an earlier
    /// runner.
    ///
    /// - Throws: if the file cannot be created or mapped, or if other users can access it.
    init(in directory: Int32) throws(Runner.Failure) {
        let file = try Self.open(in: directory)
        let boot = ProcFile.text("/proc/sys/kernel/random/boot_id")
        bootID = boot?.split(separator: "\n").first.map { String($0) } ?? "?"
        do throws(Runner.Failure) {
            var found = try Slots(mapping: file)
            isNew = found.memory == nil
            guard let memory = found.identify() else {
                let code = errno
                found.unmap()
                throw Runner.Failure("cannot extend the run registry", code)
            }
            self.memory = memory
            slots = Mutex(found)
        } catch {
            close(file)
            throw error
        }
    }

    deinit {
        slots.withLock { slots in
            slots.unmap()
            close(slots.file)
        }
    }

    private static func open(in directory: Int32) throws(Runner.Failure) -> Int32 {
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let file = openat(directory, fileName, flags, 0o600)
        guard file >= 0 else {
            throw Runner.Failure("cannot open the run registry, \(fileName)", errno)
        }
        return file
    }

    /// Makes the file again in this directory, with all records, after it was deleted. Processes that start at that
    /// moment write into the former one: call `carry` until it returns true.
    ///
    /// - Throws: if it cannot be created or mapped, or is there already with records; the former one stays in use.
    func remake(in directory: Int32) throws(Runner.Failure) {
        let file = try Self.open(in: directory)
        do throws(Runner.Failure) {
            try slots.withLock { (slots) throws(Runner.Failure) in try slots.move(to: file) }
        } catch {
            close(file)
            throw error
        }
    }

    /// Takes over what processes have written into the former file.
    /// - Returns: whether there is no former file any more.
    func carry() -> Bool {
        slots.withLock { slots in
            slots.carry()
            return slots.former.isEmpty
        }
    }

    /// A process as its run's record has it.
    struct Process: Hashable {
        var pid: Int32
        /// CLOCK_BOOTTIME in nanoseconds, between which it was created.
        var made: ClosedRange<Int64>
        /// CLOCK_MONOTONIC in nanoseconds and the wall clock at its start.
        var began: Int64
        var beganAt: WallInstant
        /// When its time limit expires, by CLOCK_MONOTONIC in nanoseconds, and the time between
        /// SIGTERM and SIGKILL.
        var deadline: Int64?
        var killTimeout: Duration
        /// The name of its control group; nil if it has none.
        var controlGroup: String?

        /// When a process was created, in ticks since boot, according to its `stat`. The second
        /// field, the name of the program, can contain spaces, parentheses and any other bytes, so
        /// it ends at the last parenthesis. This searches bytes, because a combining character
        /// after the parenthesis would form one `Character` with it.
        static func start(in text: String) -> Int64? {
            let bytes = Array(text.utf8)
            guard let name = bytes.lastIndex(of: UInt8(ascii: ")")) else { return nil }
            let fields = bytes[name...].split(separator: UInt8(ascii: " "), maxSplits: 21)
            guard fields.count > 20 else { return nil }
            return Int64(String(decoding: fields[20], as: UTF8.self))
        }

        /// The length of such a tick in nanoseconds.
        static let tick = 1_000_000_000 / max(1, Int64(sysconf(Int32(_SC_CLK_TCK))))

        /// Whether the process that has this process id now is this one, according to its creation
        /// time (proc(5), stat, field 22, in ticks since boot).
        var isAlive: Bool {
            guard let text = ProcFile.text("/proc/\(pid)/stat"),
                let start = Self.start(in: text)
            else { return false }
            let tick = Self.tick
            return (made.lowerBound / tick...made.upperBound / tick).contains(start)
        }
    }

    /// The state of a run according to its record.
    enum RecoveredRun: Hashable {
        /// Its process was created, and may still be running.
        case begun(Process)
        case ended(RunEnd)
        case lost(RunOutcome.Loss)
    }

    /// Where the process of a run writes its process id; valid until the run is forgotten.
    struct Place {
        /// The record in this process's memory.
        var record: UnsafeMutablePointer<cspawn_run_record>
        /// The position in the file, for the process of the run, which does not have that memory.
        var file: Int32
        var offset: Int64
    }

    /// Records that a run is starting, before its process exists.
    ///
    /// - Returns: where its process writes its process id.
    /// - Throws: `lost(runner)` if it already has a record, because it was started before;
    ///   `spawn-failed` if there is no room for a record.
    func make(
        for run: Run.ID, began: Int64, beganAt: WallInstant, deadline: Int64?,
        killTimeout: Duration,
        controlGroup: String?
    ) throws(Spawner.Failure) -> Place {
        let deadline = deadline.map { "\($0)" } ?? "-"
        let line =
            "timerd-run 2 \(run) \(bootID) \(began) \(beganAt.microsecondsSinceEpoch) \(deadline) "
            + "\(killTimeout.wholeNanoseconds) \(controlGroup ?? "-")"
        return try slots.withLock { (slots) throws(Spawner.Failure) in
            guard slots.places[run] == nil else {
                throw Spawner.Failure(outcome: .lost(.runner))
            }
            guard let place = slots.take(for: run) else {
                throw Spawner.failure(ENOSPC, "record the run")
            }
            let slot = slots.slot(place)
            slot.put(line, Slot.firstLine..<Slot.secondLine)
            cspawn_set_stage(slot.record, CSPAWN_RECORD_CREATED)
            return Place(
                record: slot.record, file: slots.file, offset: Int64(place * Slot.bytes))
        }
    }

    /// Records a process that an earlier runner has started, and that has no record any more. Nothing happens if the
    /// run has one, or if there is no room, in which case no other run can start either.
    func adopt(_ run: Run.ID, _ process: Process) {
        let place = try? make(
            for: run, began: process.began, beganAt: process.beganAt, deadline: nil,
            killTimeout: process.killTimeout, controlGroup: process.controlGroup)
        place?.record.note(
            process.pid, earliest: process.made.lowerBound, latest: process.made.upperBound)
    }

    /// Makes room for one more record, so that the next run does not wait for it. Without room, that
    /// run fails and says why.
    func prepare() { _ = slots.withLock { $0.reserve() } }

    /// Records how the run ended, for the next runner, in case this one ends before the run is
    /// forgotten.
    func recordEnd(_ end: RunEnd, of run: Run.ID) {
        let usage = end.usage
        let line =
            "ended \(end.at.microsecondsSinceEpoch) \(usage.elapsed.wholeMicroseconds) "
            + "\(usage.user.wholeMicroseconds) \(usage.system.wholeMicroseconds) "
            + "\(usage.peakResidentBytes) "
        let room = Slot.bytes - Slot.secondLine - line.utf8.count - 1
        let whole = line + Self.text(of: end.outcome, room)
        slots.withLock { slots in
            guard let slot = slots.places[run].map({ slots.slot($0) }) else { return }
            slot.put(whole, Slot.secondLine..<Slot.bytes)
            cspawn_set_stage(slot.record, CSPAWN_RECORD_ENDED)
        }
    }

    /// The outcome in at most this many bytes: the description of a failed start may contain long
    /// paths.
    private static func text(of outcome: RunOutcome, _ room: Int) -> String {
        let text = outcome.description
        let excess = text.utf8.count - room
        guard excess > 0, case .spawnFailed(let code, let what) = outcome else { return text }
        let kept = what.utf8.prefix(max(0, what.utf8.count - excess - 8))
        return RunOutcome.spawnFailed(
            errno: code, what: String(decoding: kept, as: UTF8.self) + "…"
        )
        .description
    }

    /// Removes the record of a run, if there is one.
    func remove(_ run: Run.ID) {
        slots.withLock { slots in
            guard let place = slots.places.removeValue(forKey: run) else { return }
            cspawn_set_stage(slots.slot(place).record, CSPAWN_RECORD_FREE)
            slots.free.append(place)
        }
    }

    /// The control group of a run, and the time its processes have between SIGTERM and SIGKILL.
    struct Group: Hashable {
        var name: String
        var killTimeout: Duration
    }

    /// All recorded runs.
    /// - Complexity: O(*n* log *n*) in the number of records.
    func recover() -> [(run: Run.ID, recovered: RecoveredRun, group: Group?)] {
        slots.withLock { slots in
            slots.places.map { run, place in
                let slot = slots.slot(place)
                return (run, recoveredRun(in: slot), group(in: slot))
            }
        }
        .map { (key: $0.0.description, found: $0) }.sorted { $0.key < $1.key }.map(\.found)
    }

    private func group(in slot: UnsafeMutableRawPointer) -> Group? {
        let words = slot.text(Slot.firstLine..<Slot.secondLine).split(separator: " ")
        guard words.count == Slot.words, words[3] == bootID, words[8] != "-",
            let killTimeout = Int64(words[7])
        else { return nil }
        return Group(name: String(words[8]), killTimeout: .nanoseconds(killTimeout))
    }

    private func recoveredRun(in slot: UnsafeMutableRawPointer) -> RecoveredRun {
        let record = slot.record.pointee
        if record.stage == CSPAWN_RECORD_ENDED,
            let end = Self.end(in: slot.text(Slot.secondLine..<Slot.bytes))
        {
            return .ended(end)
        }
        let words = slot.text(Slot.firstLine..<Slot.secondLine).split(separator: " ")
        guard words.count == Slot.words, words[3] == bootID else { return .lost(.reboot) }
        guard record.stage == CSPAWN_RECORD_SPAWNED, record.pid > 0,
            record.earliest <= record.latest,
            let began = Int64(words[4]), let beganAt = Int64(words[5]),
            let killTimeout = Int64(words[7])
        else { return .lost(.runner) }
        return .begun(
            Process(
                pid: record.pid, made: record.earliest...record.latest, began: began,
                beganAt: WallInstant(microsecondsSinceEpoch: beganAt), deadline: Int64(words[6]),
                killTimeout: .nanoseconds(killTimeout),
                controlGroup: words[8] == "-" ? nil : String(words[8])))
    }

    private static func end(in line: String) -> RunEnd? {
        let words = line.split(separator: " ", maxSplits: 6).map(String.init)
        guard words.count == 7, words[0] == "ended", let at = Int64(words[1]),
            let elapsed = Int64(words[2]), let user = Int64(words[3]), let system = Int64(words[4]),
            let peak = Int64(words[5]), let outcome = RunOutcome(words[6])
        else { return nil }
        return RunEnd(
            outcome,
            RunUsage(
                elapsed: .microseconds(max(0, elapsed)), user: .microseconds(user),
                system: .microseconds(system), peakResidentBytes: peak),
            at: WallInstant(microsecondsSinceEpoch: at))
    }
}

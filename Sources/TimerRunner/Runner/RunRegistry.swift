// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import Synchronization
import TimerCore
import TimerRunnerProtocol

/// What a runner that was killed leaves to the next one: a mark for each run that was begun and is not
/// forgotten. A run without one never began.
///
/// They are slots of one file, which is mapped: a mark costs no system call, the process itself writes into
/// it before it runs its program, and what was written outlives whoever wrote it. A power cut it need not
/// outlive, since no process does.
final class RunRegistry: Sendable {
    /// The file's name in the directory of registry.
    static let fileName = "registry"

    /// A slot begins with what the process writes, in binary. Behind it are two lines, ended by NUL: which
    /// run it is, and how it ended.
    enum Slot {
        static let bytes = 1024
        static let beginning = 32
        static let end = 512
        /// How many words the first line has.
        static let words = 9
        /// How many are added to the file at a time.
        static let perPage = 256
    }

    private let file: Int32
    private let bootID: String
    private let slots: Mutex<Slots>

    /// RunRegistry in the directory behind `descriptor`, those an earlier runner left among them.
    ///
    /// - Throws: if the file of registry cannot be made or mapped, or is not this user's alone.
    init(in directory: Int32) throws(Runner.Failure) {
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        file = openat(directory, Self.fileName, flags, 0o600)
        guard file >= 0 else {
            throw Runner.Failure("cannot open the file of registry, \(Self.fileName)", errno)
        }
        let boot = ProcFile.text("/proc/sys/kernel/random/boot_id")
        bootID = boot?.split(separator: "\n").first.map { String($0) } ?? "?"
        do throws(Runner.Failure) {
            slots = Mutex(try Slots(mapping: file))
        } catch {
            close(file)
            throw error
        }
    }

    deinit {
        slots.withLock { $0.unmap() }
        close(file)
    }

    /// A process as its mark names it.
    struct Process: Hashable {
        var pid: Int32
        /// CLOCK_BOOTTIME in nanoseconds, before and after which it was not made.
        var made: ClosedRange<Int64>
        /// CLOCK_MONOTONIC in nanoseconds and the calendar clock at its start.
        var began: Int64
        var beganAt: WallInstant
        /// When its time is up, by CLOCK_MONOTONIC in nanoseconds, and how long it then has.
        var deadline: Int64?
        var killTimeout: Duration
        /// The name of its control group.
        var controlGroup: String?

        /// When a process was made, in ticks since the boot, as its `stat` says. The second field, the program's name,
        /// may hold blanks, parentheses and any other bytes: it ends at the last parenthesis, as bytes go, since
        /// a combining character behind it would be one with it.
        static func start(in text: String) -> Int64? {
            let bytes = Array(text.utf8)
            guard let name = bytes.lastIndex(of: UInt8(ascii: ")")) else { return nil }
            let fields = bytes[name...].split(separator: UInt8(ascii: " "), maxSplits: 21)
            guard fields.count > 20 else { return nil }
            return Int64(String(decoding: fields[20], as: UTF8.self))
        }

        /// Whether the process that has this number now is this one, by when it was made (proc(5), stat,
        /// field 22, in ticks since the boot).
        var isAlive: Bool {
            guard let text = ProcFile.text("/proc/\(pid)/stat"),
                let start = Self.start(in: text)
            else { return false }
            let tick = 1_000_000_000 / max(1, Int64(sysconf(Int32(_SC_CLK_TCK))))
            return (made.lowerBound / tick...made.upperBound / tick).contains(start)
        }
    }

    /// What a mark says of its run.
    enum RecoveredRun: Hashable {
        /// It may live yet.
        case begun(Process)
        case ended(RunEnd)
        case lost(RunOutcome.Loss)
    }

    /// Where the process of a run writes which it is; good until the run is forgotten.
    struct Place {
        /// In this process's memory.
        var mark: UnsafeMutablePointer<cspawn_mark>
        /// In the file, for the process, which does not have that memory.
        var file: Int32
        var offset: Int64
    }

    /// Says that the run is begun, before it is.
    ///
    /// - Returns: where its process writes which it is.
    /// - Throws: `lost(runner)` if it has a mark already, since it was begun before then; `spawn-failed` if there
    ///   is no room for one.
    func make(
        for run: Run.ID, began: Int64, beganAt: WallInstant, deadline: Int64?,
        killTimeout: Duration,
        controlGroup: String?
    ) throws(Spawner.Failure) -> Place {
        let taken: (slot: UnsafeMutableRawPointer, place: Int)? = try slots.withLock {
            (slots) throws(Spawner.Failure) in
            guard slots.places[run] == nil else {
                throw Spawner.Failure(outcome: .lost(.runner))
            }
            guard let place = slots.take(for: run, growing: file) else { return nil }
            return (slots.slot(place), place)
        }
        guard let (slot, place) = taken else { throw Spawner.failure(ENOSPC, "mark the run") }
        let deadline = deadline.map { "\($0)" } ?? "-"
        slot.put(
            "timerd-run 2 \(run) \(bootID) \(began) \(beganAt.microsecondsSinceEpoch) \(deadline) "
                + "\(killTimeout.wholeNanoseconds) \(controlGroup ?? "-")",
            Slot.beginning..<Slot.end)
        cspawn_set_stage(slot.mark, CSPAWN_MARK_MADE)
        return Place(mark: slot.mark, file: file, offset: Int64(place * Slot.bytes))
    }

    /// Adds how the run ended, for a runner that comes before it is forgotten.
    func note(_ end: RunEnd, of run: Run.ID) {
        guard let slot = slots.withLock({ slots in slots.places[run].map { slots.slot($0) } })
        else { return }
        let usage = end.usage
        let line =
            "ended \(end.at.microsecondsSinceEpoch) \(usage.elapsed.wholeMicroseconds) "
            + "\(usage.user.wholeMicroseconds) \(usage.system.wholeMicroseconds) "
            + "\(usage.peakResidentBytes) "
        let room = Slot.bytes - Slot.end - line.utf8.count - 1
        slot.put(line + Self.text(of: end.outcome, room), Slot.end..<Slot.bytes)
        cspawn_set_stage(slot.mark, CSPAWN_MARK_ENDED)
    }

    /// The outcome in at most so many bytes: what is said of a failed start may name paths.
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

    /// Takes the mark away; it may be gone already.
    func remove(_ run: Run.ID) {
        slots.withLock { slots in
            guard let place = slots.places.removeValue(forKey: run) else { return }
            cspawn_set_stage(slots.slot(place).mark, CSPAWN_MARK_FREE)
            slots.free.append(place)
        }
    }

    /// The control group of a run, and how long its processes have between SIGTERM and SIGKILL.
    struct Group: Hashable {
        var name: String
        var killTimeout: Duration
    }

    /// Everything the registry say.
    /// - Complexity: O(*n* log *n*) in the registry.
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
        let words = slot.text(Slot.beginning..<Slot.end).split(separator: " ")
        guard words.count == Slot.words, words[3] == bootID, words[8] != "-",
            let killTimeout = Int64(words[7])
        else { return nil }
        return Group(name: String(words[8]), killTimeout: .nanoseconds(killTimeout))
    }

    private func recoveredRun(in slot: UnsafeMutableRawPointer) -> RecoveredRun {
        let mark = slot.mark.pointee
        if mark.stage == CSPAWN_MARK_ENDED,
            let end = Self.end(in: slot.text(Slot.end..<Slot.bytes))
        {
            return .ended(end)
        }
        let words = slot.text(Slot.beginning..<Slot.end).split(separator: " ")
        guard words.count == Slot.words, words[3] == bootID else { return .lost(.reboot) }
        guard mark.stage == CSPAWN_MARK_PROCESS, mark.pid > 0, mark.earliest <= mark.latest,
            let began = Int64(words[4]), let beganAt = Int64(words[5]),
            let killTimeout = Int64(words[7])
        else { return .lost(.runner) }
        return .begun(
            Process(
                pid: mark.pid, made: mark.earliest...mark.latest, began: began,
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
                elapsed: .microseconds(elapsed), user: .microseconds(user),
                system: .microseconds(system), peakResidentBytes: peak),
            at: WallInstant(microsecondsSinceEpoch: at))
    }
}

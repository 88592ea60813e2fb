// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol
import Workload

/// One code path, to run under callgrind, which counts only the instructions of `callMeasured`:
/// `PathGuard next EXPRESSIONS | wake | load | fingerprint`.
@main
struct PathGuard {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            switch arguments.first {
            case "next" where arguments.count == 2: try next(try Expression.read(arguments[1]))
            case "wake": try wake()
            case "load": try load()
            case "fingerprint": try fingerprint()
            default: throw Failure("usage: PathGuard next EXPRESSIONS | wake | load | fingerprint")
            }
        } catch {
            fail("PathGuard", error)
        }
    }

    /// Twenty occurrences of each expression in a zone with daylight saving time.
    private static func next(_ expressions: [Expression]) throws {
        let zone = try Timetable.zone("Europe/Berlin")
        let tables =
            try expressions.compactMap(\.calendar).map { try Timetable(calendar: $0, in: zone) }
            + expressions.compactMap(\.cron).map { try Timetable(cron: $0, in: zone) }
        let start = WallInstant(secondsSinceEpoch: 1_767_225_600)
        let walk = {
            for table in tables {
                var at = start
                for _ in 0..<20 { at = table.next(after: at) ?? start }
            }
        }
        walk()
        measured(walk)
    }

    /// One wake-up with 10 000 jobs.
    private static func wake() throws {
        let crowd = try Crowd(10_000, .every)
        var agenda = crowd.agenda()
        // The first wake-up and end of a run fill caches of the Swift runtime, so they are not
        // measured.
        if let first = crowd.nextWake(of: agenda, at: crowd.start) {
            for run in agenda.handle(.wake(first.job), at: first.now).started {
                _ = agenda.handle(.ended(run.id, .exited(0), RunUsage()), at: first.now)
            }
        }
        guard let next = crowd.nextWake(of: agenda, at: crowd.start) else {
            throw Failure("nothing is due")
        }
        var started = 0
        measured { started = agenda.handle(.wake(next.job), at: next.now).started.count }
        guard started == 1 else { throw Failure("a wake started \(started) runs, not 1") }
    }

    /// Loading of 1000 jobs.
    private static func load() throws {
        let crowd = try Crowd(1000, .calendar)
        var count = try Crowd(10, .calendar).agenda().jobCount
        measured { count = crowd.agenda().jobCount }
        guard count == 1000 else { throw Failure("\(count) jobs were loaded, not 1000") }
    }

    /// What the order to start a run names its definition by, of 100 jobs.
    private static func fingerprint() throws {
        let definitions = try Crowd(100, .every).jobSet.jobs.map { Definition($0) }
        guard let first = definitions.first else { throw Failure("there are no jobs") }
        var sum = first.fingerprint
        measured { for definition in definitions { sum ^= definition.fingerprint } }
        guard sum != 0 else { throw Failure("all definitions have one fingerprint") }
    }

    private static func measured(_ body: @escaping () -> Void) {
        work = body
        callMeasured()
    }
}

/// One thread sets it, calls it and ends.
private nonisolated(unsafe) var work: () -> Void = {}

/// Callgrind finds it by this name (--toggle-collect).
@inline(never) func callMeasured() { work() }

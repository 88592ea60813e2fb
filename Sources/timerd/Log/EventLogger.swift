// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging
import Synchronization
import TimerControl
import TimerCore

/// Says in the log what the agenda tells and the jobs write, on a queue of its own: a thousand jobs that
/// fire at once do not wait for a thousand lines to be written.
final class EventLogger: Sendable {
    /// Tells its log from that of the parts whose queues wait for nothing.
    static let label = "timerd.log"
    /// How long a line waits for a journal that is slow. The queue holds up nobody else, and jobs that write
    /// faster are held up by it themselves.
    static let timeout: Duration = .seconds(1)

    private let queue = DispatchQueue(label: EventLogger.label, qos: .utility)
    private let log: Logger
    /// Whether the log takes fields.
    let hasFields: Bool
    /// Whether its entries have how the accounts of jobs stood as well.
    let hasStandings: Bool

    /// How much is said of the runs of those jobs of which not all is.
    typealias Levels = [Job.Name: Execution.LogLevel]

    private let levels = Mutex<Levels>([:])

    /// - Parameters:
    ///   - hasFields: whether the log takes fields; they are made only for one that does.
    ///   - hasStandings: whether it also takes how the accounts of jobs stood: each entry about all jobs is long then.
    init(log: Logger, hasFields: Bool, hasStandings: Bool? = nil) {
        self.log = log
        self.hasFields = hasFields
        self.hasStandings = hasStandings ?? hasFields
    }

    /// What these jobs declare.
    /// - Complexity: O(*n*) in the number of jobs.
    static func levels(of jobs: [Job]) -> Levels {
        var levels: Levels = [:]
        for job in jobs where job.execution.log != .all { levels[job.name] = job.execution.log }
        return levels
    }

    /// Goes by what jobs declare from here on.
    func follow(_ declared: Levels) { levels.withLock { $0 = declared } }

    private func level(of job: Job.Name) -> Execution.LogLevel {
        levels.withLock { $0[job] ?? .all }
    }

    /// Whether the log has an entry for it: not for what is about each run or each job and hardly ever asked for.
    func isTold(_ notice: Notice) -> Bool {
        switch notice {
        case .runBegan, .recovered: log.logLevel <= .debug
        default: true
        }
    }

    /// Says it soon, in the order of the calls, unless it is of a run and its job wants less said.
    ///
    /// - Parameters:
    ///   - standing: how the accounts stood when it was made; nil for a log without fields.
    ///   - tail: of the end of a run, the last of what it wrote.
    ///   - isPart: whether it comes of an order for many jobs, which has a line of its own.
    func log(
        _ notice: Notice, _ account: AccountSnapshot?, tail: [UInt8] = [], isPart: Bool = false
    ) {
        guard isTold(notice) else { return }
        queue.async { [self] in
            let subject = notice.subject
            if case .runEnded(let run, _, _, failed: true) = notice {
                if level(of: run.firing.job) == .failures { write(tail, of: run) }
            } else if subject.isRoutine, let job = subject.job, level(of: job) != .all {
                return
            }
            let entry = LogEntry(notice)
            // Where both say something, the notice is more exact about what it is of.
            log.log(
                level: isPart ? min(entry.level, .info) : entry.level, "\(entry.message)",
                metadata: hasFields
                    ? entry.metadata.merging(account?.fields ?? [:]) { own, _ in own } : nil)
        }
    }

    /// Writes what a failed run wrote last, of which nothing was said while it ran.
    private func write(_ tail: [UInt8], of run: Run.ID) {
        for line in tail.split(separator: UInt8(ascii: "\n")) {
            write(Array(line), of: run, toStderr: false)
        }
    }

    private func write(_ line: [UInt8], of run: Run.ID, toStderr: Bool) {
        let text = Printable.text(String(decoding: line, as: UTF8.self))
        log.log(
            level: toStderr ? .warning : .info, "\(text)",
            metadata: [
                LogField.identifier: "\(run.firing.job)", "TIMERD_JOB": "\(run.firing.job)",
                "TIMERD_RUN_ID": "\(run)", "TIMERD_EVENT": "output",
                "TIMERD_STREAM": toStderr ? "stderr" : "stdout",
            ])
    }

    /// Says something that is no notice of the agenda's.
    func log(_ remark: Remark) {
        queue.async { [log] in log.log(remark) }
    }

    /// Passes on a line a job wrote, and calls `done` when it is written. Whoever calls this waits with
    /// further lines while too many are not: memory is not for a job to fill.
    func logLine(
        _ line: [UInt8], of run: Run.ID, toStderr: Bool, done: @escaping @Sendable () -> Void
    ) {
        queue.async { [self] in
            if level(of: run.firing.job) == .all { write(line, of: run, toStderr: toStderr) }
            done()
        }
    }

    /// Says that a job wrote faster than the log took its lines.
    func logDroppedLines(_ lines: Int, of run: Run.ID, done: @escaping @Sendable () -> Void) {
        queue.async { [log] in
            log.warning(
                """
                \(run.firing.job): \(lines) lines of output were dropped here: run \(run) wrote faster \
                than they were taken
                """,
                metadata: [
                    "TIMERD_EVENT": "output-dropped", "TIMERD_DROPPED": "\(lines)",
                    "TIMERD_JOB": "\(run.firing.job)", "TIMERD_RUN_ID": "\(run)",
                ])
            done()
        }
    }

    /// Says that a job wrote more lines than it may.
    func logRateLimit(_ lines: Int, of run: Run.ID, done: @escaping @Sendable () -> Void) {
        queue.async { [self] in
            // Of the others no line is in the log, so none is missing there.
            if level(of: run.firing.job) == .all {
                log.warning(
                    """
                    \(run.firing.job): \(plural(lines, "line")) of output of run \(run) \
                    \(lines == 1 ? "was" : "were") dropped here: the job wrote more than \
                    log-rate-limit-burst lines within log-rate-limit-interval; raise the limit, or let it write \
                    less
                    """,
                    metadata: [
                        "TIMERD_EVENT": "output-limited", "TIMERD_DROPPED": "\(lines)",
                        "TIMERD_JOB": "\(run.firing.job)", "TIMERD_RUN_ID": "\(run)",
                    ])
            }
            done()
        }
    }

    /// Says that a job writes faster than the log takes its lines, and has to wait for it.
    func logSlowdown(of run: Run.ID, done: @escaping @Sendable () -> Void) {
        queue.async { [log] in
            log.notice(
                """
                \(run.firing.job): run \(run) writes faster than the log takes its lines; its output is \
                slowed down to that
                """,
                metadata: [
                    "TIMERD_EVENT": "output-slowed", "TIMERD_JOB": "\(run.firing.job)",
                    "TIMERD_RUN_ID": "\(run)",
                ])
            done()
        }
    }

    /// Says which processes of a run that is over are ended.
    func logLeftovers(
        _ count: Int, _ named: [UInt8], of run: Run.ID, done: @escaping @Sendable () -> Void
    ) {
        let names = Printable.text(String(decoding: named, as: UTF8.self))
        queue.async { [log] in
            log.notice(
                """
                \(run.firing.job): run \(run) left \(plural(count, "process", "processes")) behind, to \
                which SIGTERM was sent: \(names)
                """,
                metadata: [
                    "TIMERD_EVENT": "leftovers-ended", "TIMERD_LEFTOVERS": "\(count)",
                    "TIMERD_JOB": "\(run.firing.job)", "TIMERD_RUN_ID": "\(run)",
                ])
            done()
        }
    }

    /// Calls this once everything told so far is said.
    func afterwards(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

    /// Waits until everything told so far is said.
    func flush() { queue.sync {} }
}

/// Names of fields that mean something to the handlers.
enum LogField {
    /// Who speaks, if it is not timerd itself: SYSLOG_IDENTIFIER.
    static let identifier = "SYSLOG_IDENTIFIER"
}

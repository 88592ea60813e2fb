// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
package import Logging
import Synchronization
import TimerControl
package import TimerCore

/// Logs the notices of the agenda and the output of the jobs. It has a queue of its own, so that a
/// thousand jobs that fire at once do not wait until a thousand lines are written.
package final class EventLogger: Sendable {
    /// Distinguishes its log from the log of the other parts, whose queues must not wait.
    package static let label = "timerd.log"
    /// How long a line may wait for a slow journal. Only this queue waits, and jobs that write
    /// faster wait for it.
    static let timeout: Duration = .seconds(1)

    private let queue: EntryQueue
    private let log: Logger
    /// Whether the log has fields. If not, they are not made.
    let hasFields: Bool
    /// Whether its entries also contain the time records of the jobs.
    package let hasTimeRecords: Bool
    /// Where all events go, also those that the log leaves out.
    let feed: EventFeed
    private let wall: @Sendable () -> WallInstant

    /// The log levels of the jobs that do not log everything.
    package typealias Levels = [Job.Name: Execution.LogLevel]

    private let levels = Mutex<Levels>([:])

    /// - Parameters:
    ///   - hasFields: whether the log has fields; otherwise they are not created.
    ///   - hasTimeRecords: whether entries also contain the time records of jobs, which makes each
    ///     entry about all jobs long.
    ///   - feed: where all events go.
    ///   - together: calls its argument, which logs a batch of entries. When it returns, all of them
    ///     are written, as far as their reader takes them.
    ///   - wall: the wall clock.
    package init(
        log: Logger, hasFields: Bool, hasTimeRecords: Bool? = nil, feed: EventFeed = EventFeed(),
        together: @escaping @Sendable (_ body: () -> Void) -> Void = { $0() },
        wall: @escaping @Sendable () -> WallInstant
    ) {
        queue = EntryQueue(label: Self.label, together: together)
        self.log = log
        self.feed = feed
        self.wall = wall
        self.hasFields = hasFields
        self.hasTimeRecords = hasTimeRecords ?? hasFields
    }

    /// The levels that these jobs set.
    /// - Complexity: O(*n*) in the number of jobs.
    package static func levels(of jobs: [Job]) -> Levels {
        var levels: Levels = [:]
        for job in jobs where job.execution.log != .all { levels[job.name] = job.execution.log }
        return levels
    }

    /// Uses the levels of these jobs from here on; jobs without one have `all`.
    package func follow(_ declared: Levels) { levels.withLock { $0 = declared } }

    private func level(of job: Job.Name) -> Execution.LogLevel {
        levels.withLock { $0[job] ?? .all }
    }

    /// Whether the log has an entry for it. Notices about each run or each job that are seldom
    /// needed have none.
    package func isLogged(_ notice: Notice) -> Bool {
        switch notice {
        case .runBegan, .recovered: log.logLevel <= .debug
        default: true
        }
    }

    /// Logs a notice soon, in the order of the calls, unless the log level of its job leaves it
    /// out.
    ///
    /// - Parameters:
    ///   - time: when it was decided.
    ///   - account: the time records when the notice was created; nil for a log without fields.
    ///   - tail: for the end of a run, the last part of its output.
    ///   - isPart: whether it belongs to a command for many jobs, which has an entry of its own.
    ///   - lead: how long before `time` this is; its entry is not written before that.
    package func log(
        _ notice: Notice, at time: WallInstant, _ account: AccountSnapshot?, tail: [UInt8] = [],
        isPart: Bool = false, lead: Duration = .zero
    ) {
        feed.append(RecordedEvent(content: .notice(notice), time: time, isPart: isPart))
        guard isLogged(notice) else { return }
        queue.add(after: lead) { [self] in
            let subject = notice.subject
            if case .runEnded(let run, _, _, failed: true) = notice {
                if level(of: run.firing.job) == .failures { write(tail, of: run) }
            } else if subject.isRoutine, let job = subject.job, level(of: job) != .all {
                return
            }
            let entry = LogEntry(notice)
            // If both have a field, the field of the notice is more exact.
            log.log(
                level: isPart ? min(entry.level, .info) : entry.level, "\(entry.message)",
                metadata: hasFields
                    ? entry.metadata.merging(account?.fields ?? [:]) { own, _ in own } : nil)
        }
    }

    /// Logs the last output of a failed run, none of which was logged while it ran.
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

    /// Logs something that is no notice of the agenda.
    package func log(_ notice: DaemonNotice) {
        feed.append(RecordedEvent(content: .daemonNotice(notice), time: wall()))
        queue.add { [log] in log.log(notice) }
    }

    /// Logs a line of a job, and calls `done` when it is written. The caller holds further lines
    /// back while too many are not written yet, so that a job cannot fill the memory.
    package func logLine(
        _ line: [UInt8], of run: Run.ID, toStderr: Bool, done: @escaping @Sendable () -> Void
    ) {
        queue.add(written: done) { [self] in
            if level(of: run.firing.job) == .all { write(line, of: run, toStderr: toStderr) }
        }
    }

    /// Logs that a job wrote faster than the log could write, so that lines are missing.
    package func logDroppedLines(_ lines: Int, of run: Run.ID, done: @escaping @Sendable () -> Void)
    {
        queue.add(written: done) { [self] in
            logRunEvent(
                "output-dropped", of: run, .warning,
                """
                \(run.firing.job): \(lines) lines of output were dropped here: run \(run) wrote faster \
                than they were taken
                """, ["TIMERD_DROPPED": "\(lines)"])
        }
    }

    /// Logs that a job wrote more lines than its limit.
    package func logRateLimit(_ lines: Int, of run: Run.ID, done: @escaping @Sendable () -> Void) {
        queue.add(written: done) { [self] in
            // Of the others no line is in the log, so none is missing there.
            logRunEvent(
                "output-limited", of: run, .warning,
                """
                \(run.firing.job): \(plural(lines, "line")) of output of run \(run) \
                \(lines == 1 ? "was" : "were") dropped here: the job wrote more than \
                log-rate-limit-burst lines within log-rate-limit-interval; raise the limit, or let it write \
                less
                """, ["TIMERD_DROPPED": "\(lines)"],
                isLogged: level(of: run.firing.job) == .all)
        }
    }

    /// Logs that a job writes faster than the log can write, and has to wait.
    package func logSlowdown(of run: Run.ID, done: @escaping @Sendable () -> Void) {
        queue.add(written: done) { [self] in
            logRunEvent(
                "output-slowed", of: run, .notice,
                """
                \(run.firing.job): run \(run) writes faster than the log takes its lines; its output is \
                slowed down to that
                """)
        }
    }

    /// Logs which processes of an ended run are killed.
    package func logLeftovers(
        _ count: Int, _ named: [UInt8], of run: Run.ID, done: @escaping @Sendable () -> Void
    ) {
        let names = Printable.text(String(decoding: named, as: UTF8.self))
        queue.add(written: done) { [self] in
            logRunEvent(
                "leftovers-ended", of: run, .notice,
                """
                \(run.firing.job): run \(run) left \(plural(count, "process", "processes")) behind, to \
                which SIGTERM was sent: \(names)
                """, ["TIMERD_LEFTOVERS": "\(count)"])
        }
    }

    /// Logs an event of a run that the agenda does not decide about. On the queue.
    private func logRunEvent(
        _ word: String, of run: Run.ID, _ level: Logger.Level, _ message: String,
        _ fields: Logger.Metadata = [:], isLogged: Bool = true
    ) {
        feed.append(
            RecordedEvent(
                content: .ofRun(run, word: word, level: level, message: message), time: wall()))
        guard isLogged else { return }
        let common: Logger.Metadata = [
            "TIMERD_EVENT": "\(word)", "TIMERD_JOB": "\(run.firing.job)", "TIMERD_RUN_ID": "\(run)",
        ]
        log.log(level: level, "\(message)", metadata: common.merging(fields) { own, _ in own })
    }

    /// Calls `body` once everything before this call is logged.
    package func afterwards(_ body: @escaping @Sendable () -> Void) { queue.add(written: body) {} }

    /// Waits until everything before this call is logged, for at most this long.
    package func flush(within timeout: Duration) {
        let isDone = DispatchSemaphore(value: 0)
        queue.add(written: { isDone.signal() }) {}
        _ = isDone.wait(timeout: .now() + .nanoseconds(Int(timeout.wholeNanoseconds)))
    }
}

/// The names of fields that the log handlers treat in a special way.
enum LogField {
    /// The program or job that wrote the line, if it is not timerd itself: SYSLOG_IDENTIFIER.
    static let identifier = "SYSLOG_IDENTIFIER"
}

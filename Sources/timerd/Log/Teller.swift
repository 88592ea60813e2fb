// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging
import Synchronization
import TimerControl
import TimerCore

/// Says in the log what the agenda tells and the jobs write, on a queue of its own: a thousand jobs that
/// fire at once do not wait for a thousand lines to be written.
final class Teller: Sendable {
    /// Tells its log from that of the parts whose queues wait for nothing.
    static let label = "timerd.log"
    /// How long a line waits for a journal that is slow. The queue holds up nobody else, and jobs that write
    /// faster are held up by it themselves.
    static let patience: Duration = .seconds(1)

    private let queue = DispatchQueue(label: Teller.label, qos: .utility)
    private let log: Logger
    /// Whether the log takes fields.
    let hasFields: Bool

    /// How much is said of the runs of those jobs of which not all is.
    typealias Levels = [Job.Name: Execution.LogLevel]

    private let levels = Mutex<Levels>([:])

    /// - Parameter hasFields: whether the log takes fields; they are made only for one that does.
    init(log: Logger, hasFields: Bool) {
        self.log = log
        self.hasFields = hasFields
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

    /// Says it soon, in the order of the calls, unless it is of a run and its job wants less said.
    ///
    /// - Parameters:
    ///   - standing: how the accounts stood when it was made; nil for a log without fields.
    ///   - tail: of the end of a run, the last of what it wrote.
    ///   - isPart: whether it comes of an order for many jobs, which has a line of its own.
    func tell(
        _ notice: Notice, _ standing: Standing?, tail: [UInt8] = [], isPart: Bool = false
    ) {
        // Said of every run and heard by hardly anybody.
        if case .runBegan = notice, log.logLevel > .debug { return }
        queue.async { [self] in
            if case .runEnded(let run, _, _, failed: true) = notice {
                if level(of: run.firing.job) == .failures { write(tail, of: run) }
            } else if let job = notice.ofGoodRun, level(of: job) != .all {
                return
            }
            let entry = Entry(notice)
            // Where both say something, the notice is more exact about what it is of.
            log.log(
                level: isPart ? min(entry.level, .info) : entry.level, "\(entry.message)",
                metadata: hasFields
                    ? entry.metadata.merging(standing?.fields ?? [:]) { own, _ in own } : nil)
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
            ])
    }

    /// Says something that is no notice of the agenda's.
    func say(_ remark: Remark) {
        queue.async { [log] in log.log(remark) }
    }

    /// Passes on a line a job wrote, and calls `done` when it is written. Whoever calls this waits with
    /// further lines while too many are not: memory is not for a job to fill.
    func pass(
        _ line: [UInt8], of run: Run.ID, toStderr: Bool, done: @escaping @Sendable () -> Void
    ) {
        queue.async { [self] in
            if level(of: run.firing.job) == .all { write(line, of: run, toStderr: toStderr) }
            done()
        }
    }

    /// Says that a job wrote faster than the log took its lines.
    func passDrops(_ lines: Int, of run: Run.ID, done: @escaping @Sendable () -> Void) {
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
    func passLimited(_ lines: Int, of run: Run.ID, done: @escaping @Sendable () -> Void) {
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
    func passSlowing(of run: Run.ID, done: @escaping @Sendable () -> Void) {
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

/// A notice as a line of the log: a fixed sentence for each kind, and fields for machines to find it by.
struct Entry {
    var level: Logger.Level = .info
    var message: String
    private let notice: Notice
    private let kind: Kind
    private let job: Job.Name?

    init(_ notice: Notice) {
        self.notice = notice
        (kind, job) = Self.kind(of: notice)
        (level, message) = Self.sentence(for: notice)
        // A note or a path may have line ends in it; none of them begins a line of the log.
        message = Printable.text(message)
        if let job { message = "\(job): \(message)" }
    }

    /// The fields.
    var metadata: Logger.Metadata {
        var fields = Self.fields(of: notice)
        fields.merge(kind.fields) { $1 }
        if let job { fields["TIMERD_JOB"] = "\(job)" }
        return fields
    }

    /// The kinds of entries. An id, once released, belongs to its kind for ever (sd-id128, `systemd-id128
    /// new`): catalogs and filters of users hang on it.
    enum Kind: String, CaseIterable {
        case lifeBegan = "daemon-started"
        case recovered
        case fired
        case runOrdered = "run-ordered"
        case skipped
        case held
        case replacing
        case retrying
        case runBegan = "run-began"
        case killed = "run-killed"
        case cancelled = "run-cancelled"
        case runEnded = "run-ended"
        case runTakenUp = "run-recovered"
        case runTakenOver = "run-reattached"
        case paused
        case pauseChanged = "pause-changed"
        case resumed
        case started
        case stopped
        case skipsSet = "skip-next-set"
        case renamed
        case finished
        case reloaded
        case zonesChanged = "zones-changed"
        case clockStepped = "clock-stepped"
        case shutDown = "shut-down"
        case commanded
        case stateLost = "state-lost"
        case lossAccepted = "data-loss-accepted"
        case stateDamaged = "state-damaged"

        /// The fields an entry of this kind is found by.
        var fields: Logger.Metadata {
            ["TIMERD_EVENT": "\(rawValue)", "MESSAGE_ID": "\(messageID)"]
        }

        var messageID: String {
            switch self {
            case .lifeBegan: "ccfee833880747cd993caeb202c22c66"
            case .recovered: "c8b60c4954654cd6bc2f54ff8cb0601c"
            case .fired: "56d8dea798c147f89124d8728be112c8"
            case .runOrdered: "482b5b5e0c644169aa0537f5199160ec"
            case .skipped: "09a04bd32e6a4926b828ac3bbd56daa7"
            case .held: "08019b28cb08404493927bf6c5cbfd67"
            case .replacing: "b4748a1a5299413aa593950408fab017"
            case .retrying: "a95b04f95e23436f8005bd0fea6c13ae"
            case .skipsSet: "688ef428590f49709ee701bb4063a476"
            case .renamed: "6f2589a972604722bc16414a46809dc1"
            case .runBegan: "720c42b63b20440f94fefedd13311bd6"
            case .killed: "6130fab8375f46799b3c1364f7b743e0"
            case .cancelled: "a8473a1437004f6b92a9ce2388baf03b"
            case .runEnded: "adba0b97016b4e94b4265864c35602eb"
            case .runTakenUp: "9f37c77c565c475ba9ffb92eb440c802"
            case .runTakenOver: "5b0f4c3e9a4d4a0f8e2b6c7d1f3a9e52"
            case .paused: "d9a7b41daf174e07a47d762208bdfd26"
            case .pauseChanged: "8094433412654bc2b867c091509dd99e"
            case .resumed: "d122d58047494229b6d241623fadce5c"
            case .started: "c23b8ffa95884236a2bc401b6388143c"
            case .stopped: "132be4a8dcb44c549a01cbc50ca70a08"
            case .finished: "72e0b45752a64ee68441d841160a4713"
            case .reloaded: "afe471a1bc9f428d87b73cb92da17bb8"
            case .zonesChanged: "042eba724d5c4eb0a84cf297750d8768"
            case .clockStepped: "9c1d5e0f4b7a4e6f8d2c3b4a5f6e7d81"
            case .shutDown: "3359449f3cf842bcacd3e0bd559bdf34"
            case .commanded: "d95ddf4912584eb1b62327cf20fc955f"
            case .stateLost: "3d3691d4913b48e595c0f4643bc2e72d"
            case .lossAccepted: "daf4867047854eedb6312ebf331b4831"
            case .stateDamaged: "f27b2ed4e51c4c128af016d4f841fb3d"
            }
        }
    }

    private static func kind(of notice: Notice) -> (Kind, Job.Name?) {
        switch notice {
        case .lifeBegan: (.lifeBegan, nil)
        case .recovered(let job, _, _, _, _): (.recovered, job)
        case .fired(let run, _, _): (.fired, run.id.firing.job)
        case .runOrdered(let run, _, _): (.runOrdered, run.id.firing.job)
        case .skipped(let firing, _): (.skipped, firing.id.job)
        case .held(let run, _): (.held, run.id.firing.job)
        case .replacing(let run, _): (.replacing, run.firing.job)
        case .retrying(let run, _, _): (.retrying, run.firing.job)
        case .skipsSet(let job, _, _): (.skipsSet, job)
        case .renamed(let job, _): (.renamed, job)
        case .runBegan(let run): (.runBegan, run.firing.job)
        case .killed(let run, _, _): (.killed, run.firing.job)
        case .cancelled(let run, _): (.cancelled, run.firing.job)
        case .runEnded(let run, _, _, _): (.runEnded, run.firing.job)
        case .runTakenUp(let run): (.runTakenUp, run.firing.job)
        case .runTakenOver(let run): (.runTakenOver, run.firing.job)
        case .paused(let job, _, _, _): (.paused, job)
        case .pauseChanged(let job, _, _): (.pauseChanged, job)
        case .resumed(let job, _, _, _): (.resumed, job)
        case .started(let job, _, _): (.started, job)
        case .stopped(let job, _, _): (.stopped, job)
        case .finished(let job, _): (.finished, job)
        case .reloaded: (.reloaded, nil)
        case .zonesChanged: (.zonesChanged, nil)
        case .clockStepped: (.clockStepped, nil)
        case .shutDown: (.shutDown, nil)
        }
    }
}

extension Notice {
    /// The job, if this is of a run that has not failed: what `log` may leave out.
    fileprivate var ofGoodRun: Job.Name? {
        switch self {
        case .fired(let run, _, _), .held(let run, _): run.id.firing.job
        case .runBegan(let run), .runTakenUp(let run), .runTakenOver(let run),
            .runEnded(let run, _, _, failed: false):
            run.firing.job
        case .lifeBegan, .recovered, .skipped, .replacing, .retrying, .runEnded, .runOrdered,
            .killed, .cancelled, .paused, .pauseChanged, .resumed, .started, .stopped, .skipsSet,
            .renamed, .finished, .reloaded, .zonesChanged,
            .clockStepped,
            .shutDown:
            nil
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import TimerCore

/// What the control API says of a job. As JSON the names are in snake_case; instants are RFC 3339 in UTC,
/// spans are microseconds, and what there is nothing to say of is left out.
public struct JobStatus: Codable, Hashable, Sendable {
    /// The job's name.
    public var job: String
    /// What its configuration says about it.
    public var description: String?
    /// `armed`, `paused`, `stopped` or `finished`.
    public var state: String
    /// The program and its arguments, if it runs one.
    public var command: [String]?
    /// The shell's line, if it runs one.
    public var shell: String?
    /// The interval of an `every` job.
    public var everyUsec: Int64?
    /// The delay of an `after` job.
    public var afterUsec: Int64?
    /// The calendar events of a job that has some, in normal form.
    public var calendar: [String]?
    /// The crontab lines of a job that has some, in normal form.
    public var cron: [String]?
    /// The instant of a job that fires at one.
    public var at: String?
    /// The zone of its calendar events and crontab lines.
    public var timezone: String?
    /// What becomes of times that do not exist, if its configuration says.
    public var dstGap: String?
    /// What becomes of times that come twice, if its configuration says.
    public var dstOverlap: String?
    /// When the next firing is due if nothing changes until then.
    public var next: String?
    /// The active time left to it.
    public var remainingUsec: Int64?
    /// The active time since the last grid point.
    public var accruedUsec: Int64
    /// The active time in all.
    public var activeUsec: Int64
    /// Firings since the job began at zero.
    public var firings: Int
    /// Who paused it.
    public var paused: PauseStatus?
    /// Its runs that live or wait for a place.
    public var running: [RunStatus]
    /// Its latest run that ended.
    public var last: RunStatus?
    /// When its account was last written down.
    public var checkpoint: String
}

/// Who paused a job, when and why.
public struct PauseStatus: Codable, Hashable, Sendable {
    /// Since when.
    public var since: String
    /// By whom.
    public var by: String
    /// What they wrote about it.
    public var note: String?
}

/// What the control API says of a run.
public struct RunStatus: Codable, Hashable, Sendable {
    /// The run's identity.
    public var run: String
    /// When it was due.
    public var scheduled: String
    /// When its process started; absent while it waits and if it never did.
    public var began: String?
    /// How it ended, `exited(0)` for one; absent while it lives.
    public var outcome: String?
    /// From its process's start to its end.
    public var elapsedUsec: Int64?
    /// CPU time in user mode.
    public var userUsec: Int64?
    /// CPU time in the kernel.
    public var systemUsec: Int64?
    /// The largest resident set.
    public var peakBytes: Int64?
}

/// What the control API says of the daemon and all its jobs.
public struct DaemonStatus: Codable, Hashable, Sendable {
    /// The daemon's version.
    public var version: String
    /// Its process.
    public var pid: Int32
    /// When it started.
    public var since: String
    /// When this was said.
    public var now: String
    /// The configuration it reads.
    public var config: String
    /// The jobs the configuration names and the daemon could not accept.
    public var rejected: [String]
    /// The jobs in the order of the configuration.
    public var jobs: [JobStatus]

    /// A daemon as described.
    public init(
        version: String, pid: Int32, since: String, now: String, config: String, rejected: [String],
        jobs: [JobStatus]
    ) {
        self.version = version
        self.pid = pid
        self.since = since
        self.now = now
        self.config = config
        self.rejected = rejected
        self.jobs = jobs
    }
}

/// What came of an order to a job.
public struct OrderReply: Codable, Hashable, Sendable {
    /// Whether anything changed.
    public var changed: Bool
    /// Why nothing did.
    public var reason: String?
    /// The job as it stands now.
    public var status: JobStatus

    /// An answer as described.
    public init(changed: Bool, reason: String?, status: JobStatus) {
        self.changed = changed
        self.reason = reason
        self.status = status
    }
}

/// What came of a reload that was accepted.
public struct ReloadReply: Codable, Hashable, Sendable {
    /// Jobs that are new.
    public var added: [String]
    /// Jobs whose definition changed; their accounts stay.
    public var changed: [String]
    /// Jobs that are gone; their accounts are kept for their names.
    public var removed: [String]
    /// How many jobs are as they were, timers and all.
    public var kept: Int

    /// A reload as described.
    public init(added: [String], changed: [String], removed: [String], kept: Int) {
        self.added = added
        self.changed = changed
        self.removed = removed
        self.kept = kept
    }
}

/// Why a request was not carried out.
public struct ErrorReply: Codable, Hashable, Sendable, Error {
    /// What is wrong, and what to do next.
    public var error: String
    /// The parts of it, one a line, such as the errors of a configuration.
    public var details: [String]?

    /// A refusal as described.
    public init(_ error: String, details: [String]? = nil) {
        self.error = error
        self.details = details
    }
}

/// What an order may carry.
public struct OrderBody: Codable, Hashable, Sendable {
    /// The most bytes a note may have.
    public static let noteBytesMax = 1000

    /// What to write beside it.
    public var note: String?

    /// An order's body.
    public init(note: String? = nil) { self.note = note }
}

/// How the API's values become JSON and come back.
public enum ControlJSON {
    /// One line of JSON with sorted names.
    public static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    /// Reads what `encode` writes.
    public static func decode<Value: Decodable>(_: Value.Type, from bytes: [UInt8]) throws -> Value
    {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Value.self, from: Data(bytes))
    }
}

extension JobStatus {
    /// What a snapshot of a job looks like outside.
    public init(_ snapshot: JobSnapshot) {
        let job = snapshot.job
        self.job = job.name.description
        description = job.description
        state = snapshot.phase.word
        switch job.command {
        case .arguments(let arguments): command = arguments
        case .shell(let line): shell = line
        }
        switch job.schedule {
        case .every(let span): everyUsec = span.wholeMicroseconds
        case .after(let span): afterUsec = span.wholeMicroseconds
        case .wall: break
        }
        next = snapshot.next?.rfc3339
        remainingUsec = snapshot.remaining?.wholeMicroseconds
        accruedUsec = snapshot.accrued.wholeMicroseconds
        activeUsec = snapshot.active.wholeMicroseconds
        firings = snapshot.firings
        if case .paused(let pause) = snapshot.phase {
            paused = PauseStatus(
                since: pause.since.rfc3339, by: pause.by.description, note: pause.note)
        }
        running = snapshot.live.map { RunStatus($0) }
        last = snapshot.lastRun.map { RunStatus($0) }
        checkpoint = snapshot.checkpoint.rfc3339
        if case .wall(let schedule) = job.schedule { show(schedule) }
    }
}

extension JobStatus {
    private mutating func show(_ schedule: WallSchedule) {
        dstGap = schedule.gap?.rawValue
        dstOverlap = schedule.overlap?.rawValue
        for source in schedule.sources {
            switch source {
            case .calendar(let spec, let zone):
                calendar = (calendar ?? []) + [spec.description]
                if spec.zoneName == nil { timezone = zone.name }
            case .cron(let spec, let zone):
                cron = (cron ?? []) + [spec.description]
                timezone = zone.name
            case .at(let instant): at = instant.rfc3339
            }
        }
    }
}

extension RunStatus {
    /// What a run looks like outside.
    public init(_ run: RunSummary) {
        self.run = run.id.description
        scheduled = run.id.firing.scheduled.rfc3339
        began = run.began?.rfc3339
        guard let outcome = run.outcome else { return }
        self.outcome = outcome.description
        elapsedUsec = run.usage.elapsed.wholeMicroseconds
        userUsec = run.usage.user.wholeMicroseconds
        systemUsec = run.usage.system.wholeMicroseconds
        peakBytes = run.usage.peakResidentBytes
    }
}

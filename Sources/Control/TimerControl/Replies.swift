// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What a command did to one job.
public struct CommandReply: Codable, Hashable, Sendable {
    /// Whether the command changed anything. If not, `reason` says why.
    public var changed: Bool
    /// Why nothing changed, or why the command was refused.
    public var reason: String?
    /// The pause as it was before, if its terms were changed.
    public var formerPause: PauseStatus?
    /// The run that was recorded, which starts now or waits; of `run` and `retry` alone.
    public var run: String?
    /// The job as it is after the command.
    public var status: JobStatus

    public init(
        changed: Bool, reason: String?, formerPause: PauseStatus? = nil, run: String? = nil,
        status: JobStatus
    ) {
        self.run = run
        self.changed = changed
        self.reason = reason
        self.formerPause = formerPause
        self.status = status
    }
}

/// The result of a command that holds or releases the machine.
public struct HoldReply: Codable, Hashable, Sendable {
    /// Whether the command changed anything. If not, `reason` says why.
    public var changed: Bool
    /// The hold after the command; absent if the machine is not held.
    public var hold: PauseStatus?
    /// Why nothing changed.
    public var reason: String?

    public init(changed: Bool, hold: PauseStatus? = nil, reason: String? = nil) {
        self.changed = changed
        self.hold = hold
        self.reason = reason
    }
}

/// The result of a command for many jobs, which is saved as a whole or not at all.
public struct CommandsReply: Codable, Hashable, Sendable {
    /// What a command for many jobs did to one of them.
    public struct Result: Codable, Hashable, Sendable {
        /// The job's name.
        public var job: String
        /// Whether the command changed anything. If not, `reason` says why.
        public var changed: Bool
        /// Why nothing changed, or why the command was refused; absent if something changed.
        public var reason: String?
        /// The pause as it was before, if its terms were changed.
        public var formerPause: PauseStatus?
        /// Its pause; absent unless the job was just paused with an end, or the terms of its pause
        /// changed.
        public var paused: PauseStatus?
        /// Whether the command cannot be carried out for this job; absent if it can.
        public var refused: Bool?
        /// The run that was recorded, which starts now or waits; of `run` and `retry` alone.
        public var run: String?
        /// The state after the command: `armed`, `paused`, `stopped` or `finished`; absent for a
        /// job that a reload has just removed.
        public var state: String?
        /// The active time left until its next run; absent if none is due.
        public var remainingUsec: Int64?

        public init(
            job: String, changed: Bool, reason: String? = nil, formerPause: PauseStatus? = nil,
            paused: PauseStatus? = nil, refused: Bool? = nil, run: String? = nil,
            state: String? = nil, remainingUsec: Int64? = nil
        ) {
            self.run = run
            self.formerPause = formerPause
            self.paused = paused
            self.job = job
            self.changed = changed
            self.reason = reason
            self.refused = refused
            self.state = state
            self.remainingUsec = remainingUsec
        }

        // In alphabetical order, so that they need not be sorted when they are written.
        enum CodingKeys: CodingKey, CaseIterable {
            case changed, formerPause, job, paused, reason, refused, remainingUsec, run, state
        }
    }

    /// For each job, in the order in which they were named or are configured.
    public var results: [Result]

    public init(results: [Result]) { self.results = results }
}

/// What a reload changed; of a preview, what it would change.
public struct ReloadReply: Codable, Hashable, Sendable {
    /// A job that is new, changed or removed.
    public struct Change: Codable, Hashable, Sendable {
        /// The job's name.
        public var job: String
        /// Its active time since its last run was due; only if `dry_run`.
        public var elapsedUsec: Int64?

        public init(job: String, elapsedUsec: Int64? = nil) {
            self.job = job
            self.elapsedUsec = elapsedUsec
        }
    }

    /// Whether it was only worked out what would change.
    public var dryRun: Bool
    /// Jobs that the configuration did not have before.
    public var added: [Change]
    /// Jobs whose definition changed; their saved state is kept.
    public var redefined: [Change]
    /// Jobs that are gone; their saved state is kept for their names.
    public var removed: [Change]
    /// How many jobs are as they were, with their timers.
    public var kept: Int
    /// Possible mistakes in the configuration that are no errors, as `timerd check` prints them.
    public var warnings: [String]
    /// Files of `jobs.d` that have errors; their jobs stay as they are.
    public var refusedFiles: [String]
    /// What is wrong with the files that were refused.
    public var errors: [String]

    public init(
        dryRun: Bool = false, added: [Change], redefined: [Change], removed: [Change], kept: Int,
        warnings: [String] = [], refusedFiles: [String] = [], errors: [String] = []
    ) {
        self.dryRun = dryRun
        self.refusedFiles = refusedFiles
        self.errors = errors
        self.added = added
        self.redefined = redefined
        self.removed = removed
        self.kept = kept
        self.warnings = warnings
    }

    /// The changes of a preview, with the elapsed time of each job.
    public init(
        _ preview: ReloadPreview, warnings: [String] = [], refusedFiles: [String] = [],
        errors: [String] = []
    ) {
        func changes(_ lines: [ReloadPreview.Line]) -> [Change] {
            lines.map {
                Change(job: $0.job.description, elapsedUsec: $0.accrued.wholeMicroseconds)
            }
        }
        self.init(
            dryRun: true, added: changes(preview.added), redefined: changes(preview.changed),
            removed: changes(preview.removed), kept: preview.kept.count, warnings: warnings,
            refusedFiles: refusedFiles, errors: errors)
    }
}

/// The values of a command; each belongs to some verbs only.
public struct CommandBody: Codable, Hashable, Sendable {
    /// The maximum length of a note, in bytes.
    public static let noteBytesMax = 1000
    /// The longest pause that ends by itself: a hundred years of 365.25 days each.
    public static let forUsecMax: Int64 = 100 * 31_557_600 * 1_000_000
    /// The maximum of `count`.
    public static let countMax = SkipNext.most

    /// For a pause: what the user writes about it.
    public var note: String?
    /// For a pause: when it ends by itself, RFC 3339.
    public var until: String?
    /// For a pause: how long it lasts, in microseconds; not together with `until`.
    public var forUsec: Int64?
    /// For a pause: whether active runs are suspended as well.
    public var withRun: Bool?
    /// For `skip-next`: how many runs are skipped; absent for one.
    public var count: Int?
    /// For `run`: variables that are set for this run only, each as `NAME=value`.
    public var environment: [String]?
    /// For `run`: words that are appended to the command for this run only.
    public var arguments: [String]?
    /// For `run`: whether no other job follows the run.
    public var alone: Bool?
    /// For `run`: whether it starts whatever the condition of the job says.
    public var force: Bool?
    /// For `run` of a job of a fleet: the machine that runs it; absent for the one that is asked.
    public var machine: String?

    /// The error in a note; nil if it is valid.
    static func fault(inNote note: String) -> String? {
        guard note.utf8.count <= noteBytesMax else {
            return "a note has at most \(noteBytesMax) bytes, this one has \(note.utf8.count)"
        }
        let scalars = note.unicodeScalars
        guard
            let place = scalars.firstIndex(where: { $0.properties.generalCategory == .control })
        else { return nil }
        let code = String(scalars[place].value, radix: 16, uppercase: true)
        return "a note cannot have control characters such as line ends; character "
            + "\(scalars.distance(from: scalars.startIndex, to: place) + 1) is U+"
            + String(repeating: "0", count: 4 - code.utf8.count) + code
    }

    /// By default a command without values.
    public init(
        note: String? = nil, until: String? = nil, forUsec: Int64? = nil, withRun: Bool? = nil,
        count: Int? = nil, environment: [String]? = nil, arguments: [String]? = nil,
        alone: Bool? = nil, force: Bool? = nil, machine: String? = nil
    ) {
        self.environment = environment
        self.arguments = arguments
        self.alone = alone
        self.force = force
        self.machine = machine
        self.note = note
        self.until = until
        self.forUsec = forUsec
        self.withRun = withRun
        self.count = count
    }
}

/// A job, or a file of jobs, whose configuration has errors.
public struct Rejection: Codable, Hashable, Sendable {
    /// The name of the job; or the file, for errors that are about no single job.
    public var name: String
    /// What is wrong with it, one error per line.
    public var errors: [String]

    public init(name: String, errors: [String]) {
        self.name = name
        self.errors = errors
    }
}

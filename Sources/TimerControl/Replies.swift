// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What came of an order to a job.
public struct OrderReply: Codable, Hashable, Sendable {
    /// Whether anything changed.
    public var changed: Bool
    /// Why nothing did.
    public var reason: String?
    /// Of a pause that was given other terms: what it was before.
    public var formerPause: PauseStatus?
    /// Of `run` and `retry`: the run that was recorded, which starts now or waits.
    public var run: String?
    /// The job as it stands now.
    public var status: JobStatus

    /// An answer as described.
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

/// What came of an order for many jobs, which is kept as a whole or not at all.
public struct OrdersReply: Codable, Hashable, Sendable {
    /// What came of it for one job.
    public struct Result: Codable, Hashable, Sendable {
        /// The job's name.
        public var job: String
        /// Whether anything changed.
        public var changed: Bool
        /// Why nothing did.
        public var reason: String?
        /// Of a pause that was given other terms: what it was before.
        public var formerPause: PauseStatus?
        /// The pause it is in; absent unless it was just paused with an end, or its pause was given other terms.
        public var paused: PauseStatus?
        /// Whether the order cannot be carried out for this job; absent if not.
        public var refused: Bool?
        /// Of `run` and `retry`: the run that was recorded, which starts now or waits.
        public var run: String?
        /// `armed`, `paused`, `stopped` or `finished`, now; absent for a job that a reload has just removed.
        public var state: String?
        /// The time left to its next firing.
        public var remainingUsec: Int64?

        /// A result as described.
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

        // In the order of the names, so that none has to be sorted when it is written.
        enum CodingKeys: CodingKey, CaseIterable {
            case changed, formerPause, job, paused, reason, refused, remainingUsec, run, state
        }
    }

    /// For each job, in the order in which they were named or are configured.
    public var results: [Result]

    /// An answer as described.
    public init(results: [Result]) { self.results = results }
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
    /// What in the configuration is no error and may still not be meant, as `timerd check` says it.
    public var warnings: [String]
    /// The files of `jobs.d` that have errors; their jobs stay as they are.
    public var refused: [String]
    /// What is wrong with these files.
    public var errors: [String]

    /// A reload as described.
    public init(
        added: [String], changed: [String], removed: [String], kept: Int, warnings: [String] = [],
        refused: [String] = [], errors: [String] = []
    ) {
        self.refused = refused
        self.errors = errors
        self.warnings = warnings
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
    /// The longest pause that ends by itself: a hundred years, as time spans count them, of 365.25 days.
    public static let forUsecMax: Int64 = 100 * 31_557_600 * 1_000_000
    /// The most firings one order lets go.
    public static let countMax = 1_000_000

    /// What to write beside it.
    public var note: String?
    /// Of a pause: when it ends by itself, RFC 3339.
    public var until: String?
    /// Of a pause: how long it lasts.
    public var forUsec: Int64?
    /// Of a pause: whether runs that live stand still as well.
    public var withRun: Bool?
    /// Of `skip-next`: how many firings are let go; absent is one.
    public var count: Int?
    /// Of `run`: variables that are set for that run alone, each as `NAME=value`.
    public var environment: [String]?

    /// What is wrong with a note; nil if nothing is.
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

    /// An order's body.
    public init(
        note: String? = nil, until: String? = nil, forUsec: Int64? = nil, withRun: Bool? = nil,
        count: Int? = nil, environment: [String]? = nil
    ) {
        self.environment = environment
        self.note = note
        self.until = until
        self.forUsec = forUsec
        self.withRun = withRun
        self.count = count
    }
}

/// What a reload would do, with the accrued time each job would go on from.
public struct ReloadPreviewReply: Codable, Hashable, Sendable {
    /// One job of it.
    public struct Line: Codable, Hashable, Sendable {
        /// Its name.
        public var job: String
        /// Its active time since its last grid point; of one that is removed, what is kept for its name.
        public var elapsedUsec: Int64
    }

    /// How many jobs do not change.
    public var kept: Int
    /// Jobs whose definition changed; their accounts stay.
    public var changed: [Line]
    /// Jobs that are new.
    public var added: [Line]
    /// Jobs that are gone; their accounts are kept for their names.
    public var removed: [Line]
    /// What in the configuration is no error and may still not be meant, as `timerd check` says it.
    public var warnings: [String]
    /// The files of `jobs.d` that have errors; their jobs would stay as they are.
    public var refused: [String]
    /// What is wrong with these files.
    public var errors: [String]

    /// A preview as the API tells it.
    public init(
        _ preview: ReloadPreview, warnings: [String] = [], refused: [String] = [],
        errors: [String] = []
    ) {
        self.warnings = warnings
        self.refused = refused
        self.errors = errors
        func lines(_ lines: [ReloadPreview.Line]) -> [Line] {
            lines.map {
                Line(job: $0.job.description, elapsedUsec: $0.accrued.wholeMicroseconds)
            }
        }
        kept = preview.kept.count
        changed = lines(preview.changed)
        added = lines(preview.added)
        removed = lines(preview.removed)
    }
}

/// A job the configuration names and the daemon could not accept.
public struct Rejection: Codable, Hashable, Sendable {
    /// Its name, or the file.
    public var name: String
    /// What is wrong with it.
    public var errors: [String]

    /// A rejection as described.
    public init(name: String, errors: [String]) {
        self.name = name
        self.errors = errors
    }
}

/// What is needed to say why a job has not run.
public struct WhyReply: Codable, Hashable, Sendable {
    /// The job's name.
    public var job: String
    /// When this was said.
    public var now: String
    /// The job; absent if it is rejected.
    public var status: JobStatus?
    /// What is wrong with it, if the configuration was not accepted.
    public var rejected: Rejection?
    /// How many runs live, of all jobs.
    public var live: Int
    /// How many may.
    public var maxConcurrent: Int

    /// An answer as described.
    public init(
        job: String, now: String, status: JobStatus?, rejected: Rejection?, live: Int,
        maxConcurrent: Int
    ) {
        self.job = job
        self.now = now
        self.status = status
        self.rejected = rejected
        self.live = live
        self.maxConcurrent = maxConcurrent
    }
}

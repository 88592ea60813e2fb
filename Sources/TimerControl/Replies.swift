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

/// What a reload changed, or would change.
public struct ReloadReply: Codable, Hashable, Sendable {
    /// One job of it.
    public struct Change: Codable, Hashable, Sendable {
        /// Its name.
        public var job: String
        /// Its active time since its last grid point; of one that is removed, what is kept for its name. Only in a
        /// preview.
        public var elapsedUsec: Int64?

        /// A change as described.
        public init(job: String, elapsedUsec: Int64? = nil) {
            self.job = job
            self.elapsedUsec = elapsedUsec
        }
    }

    /// Whether it was only looked at what would change.
    public var dryRun: Bool
    /// Jobs that are new.
    public var added: [Change]
    /// Jobs whose definition changed; their saved state stays.
    public var redefined: [Change]
    /// Jobs that are gone; their saved state is kept for their names.
    public var removed: [Change]
    /// How many jobs are as they were, timers and all.
    public var kept: Int
    /// What in the configuration is no error and may still not be meant, as `timerd check` says it.
    public var warnings: [String]
    /// The files of `jobs.d` that have errors; their jobs stay as they are.
    public var refusedFiles: [String]
    /// What is wrong with these files.
    public var errors: [String]

    /// A reload as described.
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

    /// A preview as the API tells it.
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

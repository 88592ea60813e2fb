// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// Which events are requested, and for how long.
public struct EventQuery: RequestQuery {
    /// How many of the latest events the daemon keeps.
    public static let kept = 4096

    /// With which event the answer begins.
    public enum Start: Hashable, Sendable {
        /// With the next event that happens.
        case now
        /// With the event after the one with this number. If it is not kept any more, there is a
        /// gap.
        case after(UInt64)
        /// With the last events, at most so many: 0 to `kept`.
        case last(Int)
    }

    public var start: Start
    /// Only events of this job; nil: of all, and those of the daemon itself.
    public var job: Job.Name?
    /// Whether the answer continues with later events; otherwise it ends after the latest one.
    public var follows: Bool

    /// By default the events from now on, of all jobs, without an end.
    public init(start: Start = .now, job: Job.Name? = nil, follows: Bool = true) {
        self.start = start
        self.job = job
        self.follows = follows
    }

    public init() { self.init(start: .now) }

    public static let parameters: [QueryParameter<EventQuery>] = [
        .after(\.after, "Begin behind the event with this number."),
        QueryParameter(
            "last", .number(0...kept, unless: nil),
            "Begin with the last events; not together with `after`. Without both, the stream begins with the next event."
        ) { (text, query) throws(ControlRequest.Fault) in
            guard let count = Int(digits: text), (0...kept).contains(count) else {
                throw .badQuery("last must be from 0 to \(kept)")
            }
            guard query.after == nil else { throw .badQuery("give after or last, not both") }
            query.start = .last(count)
        } write: {
            if case .last(let count) = $0.start { "\(count)" } else { nil }
        },
        .job("job", \.job, "Only events of this job."),
        .flag(
            "follow", \.follows,
            "Whether the stream continues with later events, as it does without this parameter; otherwise it ends behind the latest one."
        ),
    ]

    private var after: UInt64? {
        get { if case .after(let number) = start { number } else { nil } }
        set { start = newValue.map { .after($0) } ?? .now }
    }

    /// What browsers send when they connect again goes before the query, which is that of the first
    /// time.
    public mutating func read(_ headers: RequestHeaders) throws(ControlRequest.Fault) {
        guard let id = headers.lastEventID else { return }
        guard let number = UInt64(digits: id), number <= Int64.max else {
            throw .badQuery("Last-Event-ID must be the number of an event")
        }
        start = .after(number)
    }
}

/// Something that happened, as the journal has it.
public struct EventStatus: Codable, Hashable, Sendable {
    /// What kind of event it is: the word that the journal has as TIMERD_EVENT.
    public var event: String
    /// The job that it is about; absent for one of the daemon itself.
    public var job: String?
    /// How important it is.
    public var level: String
    /// The sentence of the journal, which is for people.
    public var message: String
    /// Its number, from 1; each start of the daemon begins with 1 again.
    public var number: UInt64
    /// The run that it is about; absent if it is not about one.
    public var run: String?
    /// When it happened, or was decided, RFC 3339.
    public var time: String

    public init(
        event: String, job: String? = nil, level: String, message: String, number: UInt64,
        run: String? = nil, time: String
    ) {
        self.event = event
        self.job = job
        self.level = level
        self.message = message
        self.number = number
        self.run = run
        self.time = time
    }
}

/// The message `hello`, with which a stream of events begins.
public struct EventsHello: Codable, Hashable, Sendable {
    /// Which start of the daemon it is: `since` of the list of all jobs. Numbers of another one
    /// mean other events.
    public var instance: String
    /// The number of the latest event; 0 if there is none yet.
    public var number: UInt64

    public init(instance: String, number: UInt64) {
        self.instance = instance
        self.number = number
    }
}

/// A message `events` of a stream of events.
public struct EventsFrame: Codable, Hashable, Sendable {
    /// The events, in the order of their numbers.
    public var events: [EventStatus]
    /// The jobs that they are about, as they are after them.
    public var jobs: [JobStatus]
    /// When the daemon wrote this, RFC 3339: the spans of the jobs are counted from then.
    public var now: String
    /// Whether jobs that are not in `jobs` may have changed as well, so that all must be listed
    /// again; absent if not.
    public var relist: Bool?
    /// The jobs that they are about and that are not configured any more.
    public var removedJobs: [String]

    public init(
        events: [EventStatus], jobs: [JobStatus], now: String, relist: Bool? = nil,
        removedJobs: [String] = []
    ) {
        self.events = events
        self.jobs = jobs
        self.now = now
        self.relist = relist
        self.removedJobs = removedJobs
    }

    // In the order of the names, so that none has to be sorted when it is written.
    enum CodingKeys: CodingKey, CaseIterable {
        case events, jobs, now, relist, removedJobs
    }
}

/// A message `gap` of a stream of events: events are missing here. List all jobs again.
public struct EventsGap: Codable, Hashable, Sendable {
    /// The last event before those that are missing.
    public var after: UInt64
    /// The number of the first event behind them.
    public var nextNumber: UInt64

    public init(after: UInt64, nextNumber: UInt64) {
        self.after = after
        self.nextNumber = nextNumber
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The endpoints for jobs, and the commands for them.
extension ControlRequest {
    static let jobEndpoints: [any AnyEndpoint] =
        [list.endpoint, show, why, log, kill] + commandForms.map(\.one) + commandForms.map(\.many)
        + [oneOffs, takeOneOff, cancelOneOff, slots.endpoint]

    public static let list = get(
        "list", "/v1/jobs", "The daemon and all jobs.", for: .readers,
        answer: .json(DaemonStatus.self, "All jobs."), isLong: true
    ).request

    public static let show = get(
        "show", "/v1/jobs/{job}", "One job.", for: .readers, of: .job,
        answer: .json(JobStatus.self, "The job."), errors: [.notFound])

    public static let why = get(
        "why", "/v1/jobs/{job}/why", "Why a job has not run, when it will, and what could stop it.",
        for: .readers, of: .job, answer: .json(WhyReply.self, "The reasons."), errors: [.notFound])

    public static let log = get(
        "log", "/v1/jobs/{job}/log",
        "What a job wrote: of an active run, recent output since the daemon started; of one that ended, the last of it.",
        for: .readers, of: .job, query: LogQuery.self,
        answer: .json(LogReply.self, "The output."), errors: [.notFound])

    public static let kill = post(
        "kill", "/v1/jobs/{job}/kill", "Stop the runs of a job, or send them a signal.",
        for: .operators, of: .job, query: KillQuery.self, body: .kill,
        answer: .json(KillReply.self, "Which runs were reached."), errors: [.notFound, .conflict])

    public static let slots = get(
        "slots", "/v1/slots",
        "The slots that jobs share, with the runs that hold them and those that wait for them.",
        for: .readers, answer: .json(SlotsReply.self, "The slots, by name.")
    ).request

    // MARK: - Commands

    /// A command, for one job and for many.
    public struct CommandForm: Sendable {
        public let verb: JobCommand.Verb
        public let one: Endpoint<Job.Name, NoQuery, CommandBody>
        public let many: Endpoint<NoPlace, NoQuery, CommandForMany>

        /// - Parameters:
        ///   - words: what it does, with `%` for the jobs.
        ///   - schemas: of the body for one job and for many jobs.
        ///   - keys: those of the body for one job.
        init(
            _ verb: JobCommand.Verb, _ id: String, _ words: String,
            schemas: (one: String, many: String) = ("EmptyBody", "JobsBody"), keys: [String] = []
        ) {
            self.verb = verb
            func sentence(_ jobs: String) -> String {
                words.split(separator: "%", omittingEmptySubsequences: false).joined(
                    separator: jobs)
            }
            one = post(
                id, "/v1/jobs/{job}/\(verb.rawValue)", sentence("a job") + ".", for: .operators,
                of: .job, body: .command(schemas.one, keys),
                answer: .json(CommandReply.self, "What was done."), errors: [.notFound, .conflict])
            many = post(
                id + "Jobs", "/v1/jobs/\(verb.rawValue)",
                sentence("many jobs")
                    + ", in one transaction: all of them or, if one of the names is unknown, none.",
                for: .operators, body: .commands(schemas.many, keys, hasPauses: verb == .resume),
                answer: .json(CommandsReply.self, "What was done to each."), errors: [.notFound],
                isLong: true)
        }
    }

    /// The commands, `kill` excepted.
    public static let commandForms = [
        CommandForm(
            .pause, "pause", "Pause %", schemas: ("PauseBody", "PauseJobsBody"),
            keys: ["for_usec", "note", "until", "with_run"]),
        CommandForm(.resume, "resume", "Resume %", schemas: ("EmptyBody", "ResumeJobsBody")),
        CommandForm(.start, "start", "Start the timer of %"),
        CommandForm(.stop, "stop", "Stop the timer of %"),
        CommandForm(
            .run, "run", "Run now %", schemas: ("RunBody", "RunJobsBody"),
            keys: ["alone", "arguments", "environment", "force", "machine"]),
        CommandForm(.retry, "retry", "Run again now % whose last run failed"),
        CommandForm(
            .skipNext, "skipNext", "Skip the next runs of %",
            schemas: ("SkipNextBody", "SkipNextJobsBody"), keys: ["count"]),
    ]

    private static let formOfVerb = Dictionary(
        uniqueKeysWithValues: commandForms.map { ($0.verb, $0) })

    /// A command for a job; that of `kill` is a request of its own.
    public static func command(
        _ verb: JobCommand.Verb, _ job: Job.Name, _ body: CommandBody = CommandBody()
    ) -> ControlRequest {
        guard let form = formOfVerb[verb] else { return kill(job, KillQuery(), KillBody()) }
        return form.one(job, NoQuery(), body)
    }

    /// The same command for many jobs, in one transaction.
    ///
    /// - Precondition: it is not `kill`, which is for one job.
    public static func commands(
        _ verb: JobCommand.Verb, _ jobs: JobSelection, _ body: CommandBody = CommandBody()
    ) -> ControlRequest {
        guard let form = formOfVerb[verb] else { preconditionFailure("kill is for one job") }
        return form.many(CommandForMany(jobs: jobs, values: body))
    }

    // MARK: - One-off jobs

    public static let oneOffs = get(
        "oneOffs", "/v1/one-offs", "What is needed to write the definition of a one-off job.",
        for: .readersAtSocket, query: OneOffsQuery.self,
        answer: .json(OneOffsReply.self, "Where to write it, and a name."))

    public static let takeOneOff = post(
        "takeOneOff", "/v1/one-offs/{job}", "Use the one-off job whose definition was written.",
        for: .operatorsAtSocket, of: .job, answer: .json(CommandReply.self, "What was done."))

    public static let cancelOneOff = post(
        "cancelOneOff", "/v1/one-offs/{job}/cancel",
        "Remove a one-off job whose definition was removed.", for: .operators, of: .job,
        answer: .json(CommandReply.self, "What was done."))
}

/// Which output of a job is requested.
public struct LogQuery: RequestQuery {
    /// Of this run; nil: of the active or latest one.
    public var run: Run.ID?
    /// Only lines that came since an earlier answer, by its cursor; nil: all that are kept.
    public var after: UInt64?

    public init() {}

    public init(run: Run.ID? = nil, after: UInt64? = nil) {
        self.run = run
        self.after = after
    }

    public static let parameters: [QueryParameter<LogQuery>] = [
        .run("run", \.run, "The run that is meant; without it, the latest."),
        .after(\.after, "Only lines that came since an earlier answer: its `cursor`."),
    ]
}

/// Which runs of a job are meant.
public struct KillQuery: RequestQuery {
    /// Only this run; nil: all that are active, and a waiting retry.
    public var run: Run.ID?

    public init() {}

    public init(run: Run.ID?) { self.run = run }

    public static let parameters: [QueryParameter<KillQuery>] = [
        .run("run", \.run, "Only this run.")
    ]
}

/// Whether a name for a one-off job is requested.
public struct OneOffsQuery: RequestQuery {
    /// A free name begins with it; nil: none is requested.
    public var base: String?

    public init() {}

    public init(base: String?) { self.base = base }

    public static let parameters: [QueryParameter<OneOffsQuery>] = [
        QueryParameter(
            "base",
            .text(pattern: "^[A-Za-z0-9_][A-Za-z0-9._@-]{0,\(OneOffsReply.baseLengthMax - 1)}$"),
            "What a free name is made from by adding a number."
        ) { (text, query) throws(ControlRequest.Fault) in
            guard text.utf8.count <= OneOffsReply.baseLengthMax, Job.Name(text) != nil else {
                throw .badQuery(
                    "base must be the beginning of a job name, of \(OneOffsReply.baseLengthMax) "
                        + "characters at most")
            }
            query.base = text
        } write: {
            $0.base
        }
    ]
}

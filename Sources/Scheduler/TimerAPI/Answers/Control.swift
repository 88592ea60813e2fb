// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import COpenAPI
import Dispatch
import Glibc
import HostQueues
import Logging
import NIOHTTP1
import TimerConfig
package import TimerControl
package import TimerCore
package import TimerDaemon
package import TimerHTTP
package import TimerLog
package import TimerRecording

/// Answers the requests of the control socket with data from the loop.
package struct Control: ControlService {
    let loop: Loop
    let reloader: Reloader
    let recorder: Recorder
    let recent: RecentOutput
    let events: EventPublisher
    let about: About
    let access: ControlAccess
    let sender: NotificationSender
    private let names: UserNames
    let listings: ListCoalescer<Listed, ControlAnswer>
    /// What a list is made of: the jobs, what is wrong with the configuration, and the notifiers.
    typealias Listed = (Snapshot, Loop.Unusable, [Notifier.Name: NotifierState])
    private let snapshots: ListCoalescer<Snapshot, Snapshot>
    let previews: ListCoalescer<Result<ReloadReply, ErrorReply>, ControlAnswer>
    let metrics: [MetricsFormat: ListCoalescer<MetricsReading, ControlAnswer>]

    /// What the metrics are made of: of the jobs, of the notifiers, and of the fleet.
    typealias MetricsReading = (
        Loop.Measures, [Notifier.Name: NotifierState], FleetMeasures?
    )

    package init(
        loop: Loop, reloader: Reloader, recorder: Recorder, recent: RecentOutput,
        events: EventPublisher, meters: Meters, about: About, access: ControlAccess,
        sender: NotificationSender, names: UserNames = UserNames()
    ) {
        self.access = access
        self.sender = sender
        self.names = names
        // The names of the users that may change anything are looked up in advance.
        for uid in [0, geteuid()] { names.name(of: uid) { _ in } }
        self.loop = loop
        self.reloader = reloader
        self.recorder = recorder
        self.recent = recent
        self.events = events
        self.about = about
        listings = ListCoalescer { done in
            loop.later {
                $0.gather { snapshot, unusable in
                    sender.readStates { done((snapshot, unusable, $0)) }
                }
            }
        } make: { snapshot, unusable, notifiers in
            Self.listing(of: snapshot, unusable, notifiers, about)
        }
        snapshots = ListCoalescer { done in
            loop.later { $0.gather { snapshot, _ in done(snapshot) } }
        } make: {
            $0
        }
        metrics = Dictionary(
            uniqueKeysWithValues: [MetricsFormat.text, .openMetrics].map { format in
                let pages = Self.metrics(of: loop, reloader, sender) { measures, notifiers, fleet in
                    let page = MetricsPage(
                        measures, ProcessMeasures(), meters, recorder.meter.reading,
                        notifiers: notifiers, fleet: fleet, version: about.version)
                    return ControlAnswer(.ok, page.text(format), type: format.type)
                }
                return (format, pages)
            })
        previews = ListCoalescer {
            reloader.preview(done: $0)
        } make: { result in
            switch result {
            case .success(let preview): ControlAnswer(.ok, preview)
            case .failure(let error): ControlAnswer(.unprocessableEntity, error)
            }
        }
    }

    /// The metrics, which are gathered once for all clients that ask meanwhile.
    private static func metrics(
        of loop: Loop, _ reloader: Reloader, _ sender: NotificationSender,
        make: @escaping @Sendable (MetricsReading) -> ControlAnswer
    ) -> ListCoalescer<MetricsReading, ControlAnswer> {
        ListCoalescer { done in
            let jobsMax = reloader.metricsJobsMax
            loop.later { loop in
                let fleet = loop.fleet
                loop.measure(jobsMax: jobsMax) { measures in
                    sender.readStates { notifiers in
                        Self.measures(of: fleet) { done((measures, notifiers, $0)) }
                    }
                }
            }
        } make: {
            make($0)
        }
    }

    /// Facts that never change while the daemon runs.
    package struct About: Sendable {
        var version: String
        var pid: Int32
        var since: WallInstant
        var config: String

        package init(version: String, pid: Int32, since: WallInstant, config: String) {
            self.version = version
            self.pid = pid
            self.since = since
            self.config = config
        }

        /// The absolute path of the configuration. The daemon does not change its working directory.
        var configPath: String {
            guard !config.hasPrefix("/") else { return config }
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
            guard getcwd(&buffer, buffer.count) != nil else { return config }
            return String(
                decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                + "/" + config
        }
    }

    package func answer(
        _ request: ControlRequest, from peer: Peer,
        reply: @escaping ControlAnswer.Reply
    ) {
        guard let handler = Self.handlers[request.endpoint] else {
            return reply(.error(.internalServerError, "nothing answers \(request.path)"))
        }
        // A user name is needed only for a change, and for the answer that has the name.
        let needsName = request.isChange || handler.needsName
        // The name of the user of a session was looked up with the session.
        guard needsName, peer.origin == .connection || peer.isOwner else {
            return handler.answer(self, request, peer, reply)
        }
        names.name(of: peer.uid) { name in
            var peer = peer
            peer.name = name
            handler.answer(self, request, peer, reply)
        }
    }

    func show(_ job: Job.Name, _ reply: @escaping ControlAnswer.Reply) {
        loop.later { loop in
            let (snapshot, names) = loop.snapshot(of: job)
            DispatchQueue.answers.async {
                guard let snapshot else { return self.noSuchJob(job, among: names, reply) }
                self.lookUp(snapshot) { snapshot in
                    var status = JobStatus(snapshot)
                    status.historyDeleted = self.recorder.history.deletion(of: job).map {
                        HistoryDeletion(before: $0.before.rfc3339Micros, limit: $0.limit)
                    }
                    status.settings = snapshot.job.settings
                    if let place = self.reloader.place(of: job) {
                        (status.file, status.line) = place
                    }
                    self.send(.ok, status, reply)
                }
            }
        }
    }

    func why(_ job: Job.Name, _ reply: @escaping ControlAnswer.Reply) {
        loop.later { loop in
            let (why, names) = loop.why(job)
            let snapshot = loop.snapshot(of: job).0
            DispatchQueue.answers.async {
                guard let why else { return self.noSuchJob(job, among: names, reply) }
                guard let snapshot else { return self.send(.ok, why.explained, reply) }
                self.lookUp(snapshot) {
                    var why = why
                    why.status = JobStatus($0)
                    self.send(.ok, why.explained, reply)
                }
            }
        }
    }

    func slots(_ reply: @escaping ControlAnswer.Reply) {
        loop.later { loop in
            let slots = loop.slots()
            DispatchQueue.answers.async {
                self.send(.ok, SlotsReply(slots: slots.map { SlotStatus($0) }), reply)
            }
        }
    }

    func upcoming(_ query: UpcomingQuery, _ reply: @escaping ControlAnswer.Reply) {
        // The answer is made on the queue of the snapshots, so that it rests after each.
        snapshots.list { snapshot in
            if let job = query.job, !snapshot.jobs.contains(where: { $0.job.name == job }) {
                return noSuchJob(job, reply)
            }
            send(.ok, UpcomingReply(snapshot, query), reply)
        }
    }

    package func mayHaveRight(_ peer: Peer) -> Bool { access.operators.mayHaveRight(peer) }

    package func checkRight(of peer: Peer, _ done: @escaping @Sendable (Operators.Right) -> Void) {
        access.operators.check(peer, done)
    }

    package func peer(of credentials: Credentials) -> Peer? {
        access.sessions.peer(of: credentials)
    }

    /// The OpenAPI document, which is part of the program.
    static let document: ControlAnswer = {
        var count = 0
        let bytes = copenapi_document(&count)
        return ControlAnswer(.ok, text: [UInt8](UnsafeBufferPointer(start: bytes, count: count)))
    }()

    private static func listing(
        of snapshot: Snapshot, _ unusable: Loop.Unusable,
        _ notifiers: [Notifier.Name: NotifierState], _ about: About
    ) -> ControlAnswer {
        let failing = notifiers.filter { $0.value.lastError != nil }.keys.sorted()
        let held = notifiers.sorted { $0.key < $1.key }.compactMap { name, state in
            state.held.map {
                HeldNotifications(
                    notifier: name.description, heldCount: $0.count,
                    until: $0.until.rfc3339Micros)
            }
        }
        let status = DaemonStatus(
            version: about.version, pid: about.pid, since: about.since.rfc3339Micros,
            now: snapshot.at.wall.rfc3339Micros, config: about.configPath,
            refusal: unusable.refusal,
            rejected: unusable.rejected, hold: snapshot.hold.map { PauseStatus($0) },
            failingNotifiers: failing.isEmpty ? nil : failing.map(\.description),
            heldNotifications: held.isEmpty ? nil : held, jobs: [])
        return ControlAnswer(.ok, DaemonStatus.Listing(status, jobs: snapshot))
    }

    func reload(
        by peer: Peer, isStrict: Bool, _ reply: @escaping ControlAnswer.Reply
    ) {
        reloader.reload(by: peer.name, isStrict: isStrict) { result in
            switch result {
            case .success(let change): self.send(.ok, change, reply)
            case .failure(let error): self.send(.unprocessableEntity, error, reply)
            }
        }
    }

    /// Answers that there is no job of this name, or that it is not loaded.
    ///
    /// - Parameter names: those of all jobs, for a suggestion; nil: the loop is asked for them.
    func noSuchJob(
        _ job: Job.Name, among names: [Job.Name]? = nil, _ reply: @escaping ControlAnswer.Reply
    ) {
        loop.later { loop in
            let rejection = loop.rejection(of: job)
            let names = names ?? loop.snapshot(of: job).names
            DispatchQueue.answers.async {
                guard let rejection else {
                    let what = Self.noSuchJob(job, among: names.map(\.description))
                    return self.send(.notFound, ErrorReply(what, code: .noSuchJob), reply)
                }
                let what =
                    "\"\(job)\" is not loaded because of an error in the configuration; `timerctl why \(job)` explains it"
                self.send(
                    .notFound,
                    ErrorReply(what, code: .noSuchJob, details: rejection.errors), reply)
            }
        }
    }

    /// That no job has this name, with the name that was probably meant. A job that each machine of a
    /// fleet runs for itself has the name of its machine. The name of a template is that of no job.
    static func noSuchJob(_ job: Job.Name, among names: [String]) -> String {
        if job.isTemplate, let instance = names.first(where: { $0.hasPrefix("\(job)") }) {
            return "\"\(job)\" is a template; name one of its jobs, such as \"\(instance)\""
        }
        let near =
            names.first { $0.hasPrefix("\(job)@") } ?? nearestName(job.description, among: names)
        return "no job is named \"\(job)\"" + (near.map { " (did you mean \"\($0)\"?)" } ?? "")
    }

    func send(
        _ status: HTTPResponseStatus, _ value: some Encodable,
        _ reply: ControlAnswer.Reply
    ) {
        reply(ControlAnswer(status, value))
    }
}

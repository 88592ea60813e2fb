// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import NIOHTTP1
import TimerControl
import TimerCore
import TimerDaemon
import TimerHTTP
import TimerLog
import TimerRecording
import TimerStore

extension Control {
    /// The parts of the answer that do not come from the store.
    private struct LogParts: Sendable {
        var excerpt: RecentOutput.Excerpt
        var active: [RunStatus] = []
        var lastEnded: String?
        var outputTail: Int?
    }

    /// Without a number to continue from, answers with all known lines of the run, or of the job's
    /// latest run. With a number, answers with the lines that came since.
    func log(
        of named: Job.Name, run: Run.ID?, after: UInt64?, _ reply: @escaping ControlAnswer.Reply
    ) {
        loop.later { loop in
            let job = run.map { loop.owner(of: $0) } ?? named
            let (snapshot, names) = loop.snapshot(of: job)
            let active = snapshot?.live ?? loop.removedRuns(of: job)
            let live = active.filter { $0.wait == nil }.map(\.id)
            // After a job is renamed, its ended runs are still stored under the old name.
            let ended = snapshot?.lastRun?.id
            let wanted = after == nil ? run ?? live.last : run
            var parts = LogParts(
                excerpt: recent.lines(after: after ?? 0) {
                    ($0 == ended || loop.owner(of: $0) == job) && (wanted == nil || $0 == wanted)
                })
            let now = loop.clocks.now()
            parts.active = active.map {
                RunStatus(
                    $0, of: job, waitingFor: snapshot?.awaitedSlots[$0.id], at: now)
            }
            if let snapshot {
                parts.lastEnded = ended?.description
                parts.outputTail = snapshot.job.execution.outputTail
            }
            let isLive = wanted.map { live.contains($0) } == true
            if isLive || (after != nil && (snapshot != nil || run != nil || !live.isEmpty)) {
                return answer(nil, parts, reply)
            }
            let found = parts
            recorder.read { (store) throws(StoreError) in
                guard let run else {
                    return try store.history(of: job, since: nil, failed: false, limit: 1)
                        .first
                }
                return try store.pastRun(run)
            } _: { result in
                switch result {
                case .failure(let error): self.send(error, reply)
                case .success(nil) where snapshot == nil: self.noSuchJob(job, among: names, reply)
                case .success(nil) where run != nil: self.send(unknown: run, reply)
                case .success(let past):
                    self.answer(after == nil ? past : nil, found, reply)
                }
            }
        }
    }

    private func answer(
        _ past: Store.PastRun?, _ parts: LogParts, _ reply: @escaping ControlAnswer.Reply
    ) {
        DispatchQueue.answers.async {
            let excerpt = parts.excerpt
            func shown(_ lines: [RecentOutput.Line]) -> [LogReply.Line] {
                lines.filter { past == nil || $0.run == past?.summary.id }.map {
                    LogReply.Line(
                        run: $0.run.description, number: $0.ordinal, at: $0.at.rfc3339Micros,
                        isError: $0.toStderr, text: String(decoding: $0.text, as: UTF8.self))
                }
            }
            let unfinished = shown(excerpt.unfinished)
            let written = excerpt.written.filter { past == nil || $0.key == past?.summary.id }.map {
                LogReply.Written(run: $0.key.description, lineCount: $0.value)
            }
            send(
                .ok,
                LogReply(
                    past: past.map { RunStatus($0) }, lines: shown(excerpt.lines),
                    unfinished: unfinished.isEmpty ? nil : unfinished,
                    written: written.sorted { $0.run < $1.run }, cursor: excerpt.last,
                    active: parts.active, lastEnded: parts.lastEnded,
                    since: about.since.rfc3339Micros,
                    outputTailBytes: parts.outputTail),
                reply)
        }
    }

    // MARK: - One run

    /// Answers with everything about a run, whether it is active, ending or stored.
    func show(_ run: Run.ID, _ reply: @escaping ControlAnswer.Reply) {
        loop.later { loop in
            let view = loop.view(of: run)
            let frame = RunFrame(run, view, since: about.since)
            if let active = view.active {
                return DispatchQueue.answers.async {
                    self.send(.ok, frame.reply(active, at: view.now), reply)
                }
            }
            let further = Run.ID(firing: run.firing, attempt: run.attempt + 1)
            recorder.read { (store) throws(StoreError) in
                (
                    try store.pastRun(run), try store.pastRun(further),
                    try store.runs(causedBy: run)
                )
            } _: { result in
                DispatchQueue.answers.async {
                    switch result {
                    case .failure(let error): self.send(error, reply)
                    case .success((let past?, let next, let caused)):
                        self.send(.ok, frame.reply(past, next, caused), reply)
                    case .success((nil, _, _)):
                        // The end of the run is known but not written yet.
                        guard let last = view.snapshot?.lastRun, last.id == run else {
                            return self.showElsewhere(frame, reply)
                        }
                        self.send(.ok, frame.reply(last), reply)
                    }
                }
            }
        }
    }

    /// Answers with a run that only the fleet knows: it is on another machine, or starts here next.
    private func showElsewhere(_ frame: RunFrame, _ reply: @escaping ControlAnswer.Reply) {
        loop.later { loop in
            guard let (driver, _) = loop.fleet else {
                return DispatchQueue.answers.async { self.send(unknown: frame.run, reply) }
            }
            driver.readRun(frame.run) { found in
                DispatchQueue.answers.async {
                    guard let found, found.skipReason == nil else {
                        return self.send(unknown: frame.run, reply)
                    }
                    self.send(.ok, frame.reply(found), reply)
                }
            }
        }
    }

    private func send(unknown run: Run.ID?, _ reply: ControlAnswer.Reply) {
        let what = run.map { "\($0)" } ?? ""
        send(
            .notFound,
            ErrorReply(
                "nothing is known of run \(what): it is not active, and the history does not have it; "
                    + "`timerctl history` lists the runs that it has", code: .noSuchRun), reply)
    }
}

/// The parts of the answer beside the run itself.
private struct RunFrame: Sendable {
    let run: Run.ID
    let view: RunView
    let since: WallInstant

    init(_ run: Run.ID, _ view: RunView, since: WallInstant) {
        self.run = run
        self.view = view
        self.since = since
    }

    func reply(_ active: ActiveRun, at now: Now) -> RunReply {
        var status = RunStatus(
            active, of: view.job, waitingFor: view.snapshot?.awaitedSlots[active.id], at: now)
        status.missed = active.firing.missed
        return make(state: active.state.word, status)
    }

    func reply(
        _ past: Store.PastRun, _ next: Store.PastRun?, _ caused: [Store.PastRun]
    ) -> RunReply {
        var reply = make(state: "ended", RunStatus(past))
        let runs =
            caused.map { RunStatus($0.summary, of: $0.job).because(of: $0.cause) }
            + view.caused.map { RunStatus($0, of: $0.firing.id.job, at: view.now) }
        if !runs.isEmpty { reply.caused = Array(runs.prefix(Store.causedMax)) }
        if reply.followingAttempt == nil, let next {
            reply.followingAttempt = RunStatus(next.summary, of: next.job).because(of: next.cause)
        }
        return reply
    }

    func reply(_ last: RunSummary) -> RunReply {
        make(state: "ended", RunStatus(last, of: view.job))
    }

    func reply(_ run: FleetJobView.MachineRun) -> RunReply {
        let status = RunStatus(run)
        let state = status.outcome != nil ? "ended" : run.began == nil ? "starting" : "running"
        return make(state: state, status)
    }

    private func make(state: String, _ status: RunStatus) -> RunReply {
        RunReply(
            runStatus: status, state: state, attempt: run.attempt,
            retries: view.snapshot?.job.policy.retry.retries,
            followingAttempt: view.further.map { RunStatus($0, of: view.job, at: view.now) },
            next: view.snapshot?.next?.rfc3339Micros, live: view.live,
            maxConcurrent: view.maxConcurrent, now: view.now.wall.rfc3339Micros,
            since: since.rfc3339Micros)
    }
}

extension Control {
    /// Answers that the store could not be read.
    func send(_ error: StoreError, _ reply: ControlAnswer.Reply) {
        send(
            error.code == .busy ? .serviceUnavailable : .internalServerError,
            ErrorReply("\(error)", code: error.code == .busy ? .busy : .failed), reply)
    }

    func killed(_ command: JobCommand, _ answer: Answer, _ reply: @escaping ControlAnswer.Reply) {
        switch answer {
        case .killed(let runs, let cancelled):
            send(
                .ok,
                KillReply(
                    changed: true, signalled: runs.map(\.description),
                    cancelled: cancelled.map(\.description)), reply)
        case .unchanged(let reason):
            send(.ok, KillReply(changed: false, reason: reason), reply)
        case .refused(let reason):
            send(.conflict, ErrorReply("job \"\(command.job)\": \(reason)", code: .conflict), reply)
        case .done, .pauseChanged, .requested, .noSuchJob: noSuchJob(command.job, reply)
        }
    }
}

extension RunStatus {
    /// A stored run as the control API shows it.
    init(_ run: Store.PastRun) {
        self = RunStatus(run.summary, of: run.job).because(of: run.cause)
        missed = run.missed
        if run.hasOutput { output = String(decoding: run.tail, as: UTF8.self) }
    }
}

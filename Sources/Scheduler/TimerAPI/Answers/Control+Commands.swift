// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import NIOHTTP1
import TimerConfig
import TimerControl
import TimerCore
import TimerDaemon
import TimerHTTP
import TimerLog

/// Commands that change jobs: one, or many at once.
extension Control {
    func command(_ command: JobCommand, _ reply: @escaping ControlAnswer.Reply) {
        loop.later { loop in
            loop.handle(command) { answer, snapshot in
                DispatchQueue.answers.async { self.command(command, answer, snapshot, reply) }
            }
        }
    }

    func kill(_ command: JobCommand, _ reply: @escaping ControlAnswer.Reply) {
        loop.later { loop in
            loop.handle(command) { answer, _ in
                DispatchQueue.answers.async { self.killed(command, answer, reply) }
            }
        }
    }

    private func command(
        _ command: JobCommand, _ answer: Answer, _ snapshot: JobSnapshot?,
        _ reply: @escaping ControlAnswer.Reply
    ) {
        guard let snapshot else { return noSuchJob(command.job, reply) }
        let status = JobStatus(snapshot)
        switch answer {
        case .done, .killed:
            send(.ok, CommandReply(changed: true, reason: nil, status: status), reply)
        case .requested(let run):
            send(
                .ok,
                CommandReply(changed: true, reason: nil, run: run.description, status: status),
                reply)
        case .pauseChanged(let former):
            send(
                .ok,
                CommandReply(
                    changed: true, reason: nil, formerPause: PauseStatus(former), status: status),
                reply)
        case .unchanged(let reason):
            send(.ok, CommandReply(changed: false, reason: reason, status: status), reply)
        case .refused(let reason):
            send(.conflict, ErrorReply("job \"\(command.job)\": \(reason)", code: .conflict), reply)
        case .noSuchJob: noSuchJob(command.job, among: [], reply)
        }
    }

    /// For how many unknown names the answer suggests a known job.
    private static let hintsMax = 10

    func commands(
        _ verb: JobCommand.Verb, _ jobs: JobSelection, _ body: CommandBody, by peer: Peer,
        _ reply: @escaping ControlAnswer.Reply
    ) {
        var names: [Job.Name]?
        var pauses: [Job.Name: SeenPause] = [:]
        switch jobs {
        case .all: break
        case .jobs(let jobs): names = jobs
        case .pauses(let given):
            let pairs = given.compactMap { pause in
                Job.Name(pause.job).flatMap { name in pause.seen.map { (name, $0) } }
            }
            names = pairs.map(\.0)
            pauses = Dictionary(pairs) { first, _ in first }
        }
        let (chosen, seen) = (names, pauses)
        loop.later { loop in
            // All jobs get the same end of the pause, whenever the command reaches each of them.
            var body = body
            if let span = body.forUsec {
                body.until = (loop.clocks.now().wall + .microseconds(span)).rfc3339Micros
                body.forUsec = nil
            }
            let whole = body
            loop.handle(chosen) { job in
                var command = JobCommand(verb, job, by: .user(peer.name), whole)
                command.onlyPause = seen[job]
                return command
            } unknown: { others, configured in
                DispatchQueue.answers.async { self.noSuchJobs(others, among: configured, reply) }
            } done: { results in
                let notice = DaemonNotice.commanded(
                    verb, results.map(\.answer), by: peer.name, note: whole.note)
                self.loop.later { $0.log(notice) }
                DispatchQueue.answers.async {
                    self.send(.ok, CommandsReply(results: results.map { .init($0) }), reply)
                }
            }
        }
    }

    private func noSuchJobs(
        _ jobs: [Job.Name], among names: [Job.Name], _ reply: @escaping ControlAnswer.Reply
    ) {
        guard jobs.count > 1 else {
            let near = names.count <= Loop.hintNamesMax ? names : []
            return noSuchJob(jobs[0], among: near, reply)
        }
        let configured = names.count <= Loop.hintNamesMax ? names.map(\.description) : []
        let hinted = jobs.prefix(Self.hintsMax).map { Self.noSuchJob($0, among: configured) }
        let others = jobs.dropFirst(Self.hintsMax).map { "no job is named \"\($0)\"" }
        let what = "\(jobs.count) of the jobs do not exist; nothing was changed"
        send(.notFound, ErrorReply(what, code: .noSuchJob, details: hinted + others), reply)
    }
}

extension CommandsReply.Result {
    fileprivate init(_ result: CommandResults.Result) {
        self.init(
            job: result.command.job.description, changed: false,
            state: result.snapshot?.phase.word,
            remainingUsec: result.snapshot?.remaining?.wholeMicroseconds)
        switch result.answer {
        case .done, .killed:
            changed = true
            if result.command.verb == .pause, case .paused(let pause)? = result.snapshot?.phase,
                pause.until != nil
            {
                paused = PauseStatus(pause)
            }
        case .requested(let made):
            changed = true
            run = made.description
        case .pauseChanged(let former):
            changed = true
            formerPause = PauseStatus(former)
            if case .paused(let pause)? = result.snapshot?.phase { paused = PauseStatus(pause) }
        case .unchanged(let why): reason = why
        case .refused(let why):
            reason = why
            refused = true
        case .noSuchJob:
            reason = "a reload has removed it"
            refused = true
        }
    }
}

extension JobCommand {
    /// A command from the control API. Its values were checked when it was read.
    init(_ verb: Verb, _ job: Job.Name, by initiator: Initiator, _ body: CommandBody) {
        self.init(
            verb, job, by: initiator, note: body.note, until: PauseEnd(body),
            withRun: body.withRun ?? false, count: body.count ?? 1, variables: body.variables,
            arguments: RunArguments(body.arguments ?? []), isAlone: body.alone ?? false,
            isForced: body.force ?? false, machine: body.machine.flatMap { MachineName($0) })
    }
}

extension JobCommand.PauseEnd {
    /// The end of a pause or of a hold; nil if the body has none.
    init?(_ body: CommandBody) {
        if let instant = body.until.flatMap({ WallInstant(rfc3339: $0) }) {
            self = .at(instant)
        } else if let span = body.forUsec {
            self = .after(.microseconds(span))
        } else {
            return nil
        }
    }
}

/// One-off jobs: their files are written by the client, and loaded or removed here.
extension Control {
    func oneOffs(_ base: String?, _ reply: @escaping ControlAnswer.Reply) {
        guard let base else {
            return send(.ok, OneOffsReply(config: about.configPath, name: nil), reply)
        }
        loop.later { loop in
            let name = loop.agenda.freeName(base)?.description
            DispatchQueue.answers.async {
                self.send(.ok, OneOffsReply(config: about.configPath, name: name), reply)
            }
        }
    }

    func loadOneOff(_ job: Job.Name, by peer: Peer, _ reply: @escaping ControlAnswer.Reply) {
        reloader.loadOneOff(job, by: peer.name) { answer in
            DispatchQueue.answers.async { self.answer(job, answer, reply) }
        }
    }

    func cancelOneOff(
        _ job: Job.Name, by peer: Peer, _ reply: @escaping ControlAnswer.Reply
    ) {
        reloader.cancelOneOff(job, by: peer.name) { answer in
            DispatchQueue.answers.async { self.answer(job, answer, reply) }
        }
    }

    private func answer(
        _ job: Job.Name, _ answer: Loop.OneOffAnswer, _ reply: @escaping ControlAnswer.Reply
    ) {
        switch answer {
        case .done(let snapshot?):
            let status = JobStatus(snapshot)
            send(.ok, CommandReply(changed: true, reason: nil, status: status), reply)
        case .done(nil):
            send(
                .conflict, ErrorReply("job \"\(job)\": a reload has removed it", code: .conflict),
                reply)
        case .refused(let why):
            send(.conflict, ErrorReply("job \"\(job)\": \(why)", code: .conflict), reply)
        case .noSuchJob(let names): noSuchJob(job, among: names, reply)
        }
    }
}

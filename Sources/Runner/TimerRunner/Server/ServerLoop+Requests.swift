// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostThreads
import TimerCore
import TimerRunnerProtocol

/// Executes the requests of the scheduler, and closes the connection at an invalid one.
extension ServerLoop {
    mutating func execute(
        _ frame: ArraySlice<UInt8>, on connection: ServerConnection
    ) throws(Closing) {
        guard let request = try? WireRequest(frame) else {
            throw Closing(why: "sent an invalid request")
        }
        guard !connection.isGreeted else { return try execute(request) }
        guard case .hello(let version) = request else {
            throw Closing(why: "did not start with a greeting")
        }
        let welcome = WireReply.welcome(version: Wire.version, instance: instance)
        connection.socket.send(welcome.bytes)
        checkProgram()
        guard version == Wire.version else { return }
        // The requests of the previous scheduler are executed first.
        finishReadings()
        guard self.connection != nil else { return }
        connection.greet(reading: prepare())
        barriers.restart()
        let memory = WireReply.memory(runner.registry.memory)
        for reply in [memory] + outbound.connect() + [.complete] {
            connection.socket.send(reply.bytes)
        }
    }

    private mutating func execute(_ request: WireRequest) throws(Closing) {
        switch request {
        case .hello: throw Closing(why: "greeted twice")
        case .start(let requests): try start(requests)
        case .end(let run, _), .suspend(let run), .resume(let run), .signal(let run, _):
            if try !hold(request, for: run) { try command(request) }
        case .barrier(let token): barriers.barrier(token)
        case .prepare:
            connection?.ask()
            answerIfPrepared()
        case .forget(let runs):
            var known: [Run.ID] = []
            for run in runs where try !hold(.forget([run]), for: run) { known.append(run) }
            forget(known)
        case .seen(let events, let output): outbound.seen(events, output: output)
        case .shutDown(let grace):
            guard settings.allowsShutDown else {
                throw Closing(
                    why: "asked to end every run, which this scheduler is not permitted to do")
            }
            departure.request(grace: grace)
        case .refresh: refresh()
        case .forgetFormer: forgetFormer()
        case .discard(let jobs): discard(jobs)
        case .send(let request): try send(request)
        case .check(let request): try check(request)
        }
    }

    /// Queues a command if its run waits for its definition.
    private mutating func hold(_ request: WireRequest, for run: Run.ID) throws(Closing) -> Bool {
        guard waiting.hold(request, for: run) else { return false }
        try check(waiting.commands, settings.limits.commands, "commands that wait")
        return true
    }

    func command(_ request: WireRequest) throws(Closing) {
        try check(runner.load.commands, settings.limits.commands, "commands that wait")
        switch request {
        case .end(let run, let grace): runner.end(run, grace: grace)
        case .suspend(let run): runner.suspend(run)
        case .resume(let run): runner.resume(run)
        case .signal(let run, let number): runner.signal(run, number)
        case .forget(let runs): forget(runs)
        case .hello, .start, .barrier, .prepare, .seen, .shutDown, .refresh, .forgetFormer,
            .discard, .send, .check:
            break
        }
    }

    /// On a thread of its own, since that waits for the disk.
    private func discard(_ jobs: [Job.Name]) {
        guard !jobs.isEmpty else { return }
        _ = WorkerThread.start("timerd.one-off") { [settings] in settings.discard(jobs) }
    }

    private func forget(_ runs: [Run.ID]) {
        for run in outbound.forget(runs) { runner.forget(run) }
    }

    func check(_ count: Int, _ most: Int, _ what: String) throws(Closing) {
        guard count > most else { return }
        throw Closing(why: "exceeded a limit: \(count) \(what), at most \(most)")
    }

    /// Starts the requested runs with their definitions from the configuration. Runs whose
    /// definitions are unknown wait until it is read once more, and are then started or refused.
    private mutating func start(_ requests: [StartRequest]) throws(Closing) {
        let size = outbound.size
        try check(size.runs + requests.count, settings.limits.runs, "runs that are not forgotten")
        try check(
            size.tailBytes, settings.limits.tailBytes, "bytes of output of runs that are over")
        try check(
            runner.load.starts + waiting.count + requests.count, settings.limits.starts,
            "runs that wait to start")
        try check(
            waiting.variableBytes + requests.reduce(0) { $0 + $1.cost },
            settings.limits.variableBytes,
            "bytes of variables and arguments for runs that wait to start")
        var runs: [RunRequest] = []
        var mustRead = false
        let hasChanged = !requests.isEmpty && settings.hasChanged()
        if hasChanged { readings.check() }
        for request in requests where outbound.isNew(request.run) {
            if let definition = definition(for: request, hasChanged: hasChanged) {
                runs.append(RunRequest(request, definition))
            } else {
                mustRead = true
            }
        }
        if mustRead { readings.readUnlessUnderWay() }
        try start(runs[...])
    }

    /// The definition of a requested run. Nil if the configuration may have to be read for it: then the
    /// run waits.
    ///
    /// - Parameter check: the number of the request if the condition of the run is to be checked only.
    mutating func definition(
        for request: StartRequest, check: UInt64? = nil, hasChanged: Bool
    ) -> Definition? {
        let mayDiffer = readings.mayDiffer && settings.isAffected(request.run.firing.job)
        let definition = definitions.definition(for: request)
        if !mayDiffer, let definition { return definition }
        // Files that changed just now may be taken for unchanged, so a job that is unknown may have
        // been added after they were read.
        let isCovered = readings.isChecking && !hasChanged && definition != nil
        waiting.append(request, check: check, until: readings.latest + (isCovered ? 0 : 1))
        return nil
    }

    func start(_ requests: ArraySlice<RunRequest>) throws(Closing) {
        var rest = requests
        while !rest.isEmpty {
            do throws(Closing) {
                try check(
                    runner.load.startBytes, settings.limits.startBytes,
                    "bytes for runs that wait to start")
            } catch {
                // The scheduler may request these runs again, so nothing of them is kept.
                outbound.cancelPending(rest.map(\.id))
                throw error
            }
            runner.start(Array(rest.prefix(RunnerLimits.startsPerLook)))
            rest = rest.dropFirst(RunnerLimits.startsPerLook)
        }
    }
}

extension RunRequest {
    init(_ request: StartRequest, _ definition: Definition) {
        self.init(
            id: request.run, definition: definition, missed: request.missed, active: request.active,
            variables: request.variables)
        arguments = request.arguments
        fleet = request.fleet
        chain = request.chain
        notBefore = request.notBefore
    }
}

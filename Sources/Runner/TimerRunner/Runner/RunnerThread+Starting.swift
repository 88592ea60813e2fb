// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// Starts runs: creates the process of each, with its pipes, its control group and its record.
extension RunnerThread {
    /// How long a program may have to wait until it may start.
    static let startDelayMax: Duration = .seconds(1)

    /// Starts some of the runs that wait, as many as one loop iteration may.
    mutating func startPreparations() {
        var started = 0
        while let preparation = starts.next(after: started, beside: children.occupancy) {
            parts.mailbox.finishStart(preparation)
            start(preparation)
            started += 1
        }
    }

    private mutating func start(_ preparation: Preparation) {
        let run = preparation.request.id
        do throws(Spawner.Failure) {
            try spawn(preparation)
        } catch {
            guard !isTriedAgain(preparation.request, after: error) else { return }
            takePendingCommands(run)
            let end = RunEnd(
                outcomeAfterRetries(of: run, error),
                at: Self.wall(notBefore: preparation.request.notBefore))
            retries.remove(run)
            // The record of a run that was started before already says how it ended.
            if end.outcome != .lost(.runner) { parts.registry.recordEnd(end, of: run) }
            events.report(.ended(run, end))
        }
    }

    /// Reattaches to a run that an earlier runner started. The kernel reports its exit status only
    /// to its parent.
    mutating func reattach(_ run: Run.ID, _ process: RunRegistry.Process, _ pidfd: Int32) {
        let serial = children.nextSerial()
        guard epoll.watch(pidfd, as: .child(serial, .process)) else {
            close(pidfd)
            return events.report(.ended(run, RunEnd(.lost(.runner), at: RunnerClock.wall())))
        }
        let group = process.controlGroup.flatMap { groups?.has($0) == true ? $0 : nil }
        add(
            Child(
                id: run, began: process.began, beganAt: process.beganAt,
                killTimeout: process.killTimeout, controlGroup: group,
                process: ChildProcess(pid: process.pid, pidfd: pidfd, isOwn: false),
                setUp: .done, output: ChildOutput(),
                timeLimit: TimeLimit(until: process.deadline)),
            serial)
    }

    private mutating func add(_ child: Child, _ serial: UInt64) {
        children.add(child, serial)
        if let deadline = child.timeLimit.deadline { timers.set(serial, at: deadline) }
    }

    // MARK: - One start

    /// Creates the pipes and the process and watches them; on an error it leaves nothing behind.
    private mutating func spawn(_ preparation: Preparation) throws(Spawner.Failure) {
        let request = preparation.request
        var definition = request.definition
        // The process is created at once, and waits until its program may start.
        let now = RunnerClock.awake()
        let delay = Self.delay(until: request.notBefore, at: now)
        let began = now + delay.wholeNanoseconds
        let beganAt = RunnerClock.wall() + delay
        let deadline = definition.execution.timeout.flatMap { span -> Int64? in
            let (instant, overflow) = began.addingReportingOverflow(span.wholeNanoseconds)
            return overflow ? nil : instant
        }
        let serial = children.nextSerial()
        let group = groups?.name(
            serial, of: request.id, isKept: !definition.execution.killsLeftovers)
        let record = try parts.registry.make(
            for: request.id, began: began, beganAt: beganAt, deadline: deadline,
            killTimeout: definition.execution.killTimeout, controlGroup: group)
        var ready = try preparation.result.get()
        if let message = ready.message { definition.execution.stdin = message.input }
        let pipes = try ChildPipes()
        defer { pipes.closeWriting() }
        let process: Spawner.Process
        let context = Spawner.SpawnContext(
            output: pipes.output.writing, error: pipes.error.writing, signals: parts.signals,
            record: record, before: request.fleet?.before,
            notBefore: delay > .zero ? request.notBefore : nil,
            wantsPidfd: parts.orphanWatch == nil)
        do throws(Spawner.Failure) {
            process = try makeProcess(
                of: request.id, serial, definition, &ready, pipes, group, context)
        } catch {
            pipes.closeReading()
            if let group { groups?.remove(group) }
            credentials?.remove(request.id)
            throw error
        }
        let child = Child(
            id: request.id, began: began, beganAt: beganAt,
            killTimeout: definition.execution.killTimeout, controlGroup: group,
            process: ChildProcess(pid: process.pid, pidfd: process.pidfd, isOwn: true),
            setUp: .underWay(
                Child.Launch(
                    number: process.launch, request: request, definition: definition,
                    account: ready.account, reports: process.session)),
            output: ChildOutput(
                [pipes.output.reading, pipes.error.reading],
                tail: definition.execution.outputTail,
                lineLimit: LineLimit(definition.execution), redaction: ready.message?.redaction),
            timeLimit: TimeLimit(until: deadline))
        add(child, serial)
        launches.add(
            LaunchPolls.Launch(
                serial: serial, number: process.launch, isInSession: process.session != nil,
                began: began),
            at: RunnerClock.awake())
    }

    /// How long a program must wait. An instant that is further ahead is not one of this clock, and
    /// the program does not wait for it.
    private static func delay(until instant: AwakeInstant, at now: Int64) -> Duration {
        let left = instant - AwakeInstant(nanoseconds: now)
        return left <= startDelayMax ? max(.zero, left) : .zero
    }

    /// When a run ends that ends now: no run ends before it may start.
    static func wall(notBefore instant: AwakeInstant) -> WallInstant {
        RunnerClock.wall() + delay(until: instant, at: RunnerClock.awake())
    }

    /// Creates the process in its control group and watches it and its pipes. The caller cleans up
    /// what an error leaves behind: the pipes, the control group and the credentials.
    private mutating func makeProcess(
        of run: Run.ID, _ serial: UInt64, _ definition: Definition,
        _ ready: inout Preparation.Ready, _ pipes: ChildPipes, _ group: String?,
        _ context: Spawner.SpawnContext
    ) throws(Spawner.Failure) -> Spawner.Process {
        guard epoll.watch(pipes.output.reading, as: .child(serial, .output)),
            epoll.watch(pipes.error.reading, as: .child(serial, .error))
        else { throw Spawner.failure(errno, "watch a pipe") }
        pipes.give(to: ready.account)
        var context = context
        if let groups, let group { context.controlGroup = try groups.make(group) }
        defer { if group != nil { close(context.controlGroup) } }
        if group == nil, let runtime = parts.runtime {
            ready.variables[LivingRuns.variable] = runtime
        }
        try storeCredentials(of: run, to: &ready)
        if let message = ready.message { context.passed = try Self.makeBody(message) }
        defer { if context.passed >= 0 { close(context.passed) } }
        let process = try parts.spawner.spawn(definition, ready, in: context)
        // Without a pidfd, SIGCHLD reports the end of every child.
        if let pidfd = process.pidfd, !epoll.watch(pidfd, as: .child(serial, .process)) {
            throw dismiss(process, errno)
        }
        if let socket = process.session, !epoll.watch(socket, as: .child(serial, .reports)) {
            throw dismiss(process, errno)
        }
        return process
    }

    /// The body of a message, in memory that cannot be changed; -1 if it has none.
    private static func makeBody(_ message: MessageCommand) throws(Spawner.Failure) -> Int32 {
        guard let body = message.body else { return -1 }
        let file = body.withUnsafeBytes {
            cspawn_make_text($0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
        }
        guard file >= 0 else { throw Spawner.failure(errno, "provide the body of a message") }
        return file
    }

    /// Stores the credentials of a run and passes the path of their directory to its process.
    private mutating func storeCredentials(
        of run: Run.ID, to ready: inout Preparation.Ready
    ) throws(Spawner.Failure) {
        guard !ready.credentials.isEmpty else { return }
        let path = try credentials?.add(
            ready.credentials, of: run, for: ready.account.identity)
        guard let path else {
            throw Spawner.failure(
                ENOTSUP, "provide credentials: this runner has no directory for them")
        }
        ready.variables["CREDENTIALS_DIRECTORY"] = path
    }

    /// A process that cannot be watched is killed before its start is reported.
    private func dismiss(_ process: Spawner.Process, _ code: Int32) -> Spawner.Failure {
        let pidfd = process.pidfd ?? cspawn_open_process(process.pid)
        if pidfd < 0 {
            // Without a descriptor to wait for, it is reaped later with the others.
            Glibc.kill(process.pid, SIGKILL)
        } else {
            _ = cspawn_signal(pidfd, SIGKILL)
            var ending = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
            _ = poll(&ending, 1, Int32(clamping: Runner.killWait.wholeNanoseconds / 1_000_000))
            var end = cspawn_end()
            if cspawn_reap(pidfd, &end) != 0 { cspawn_release_launch(process.launch) }
            close(pidfd)
        }
        if let socket = process.session { close(socket) }
        return Spawner.failure(code, "watch the process")
    }
}

/// Tries to start a run again if something was used up: descriptors, memory, the processes of a user
/// or of the service, the space for credentials. Usually it is free again in a moment, when another
/// run ends. Nothing of the job was executed, so the run still starts at most once.
extension RunnerThread {
    /// Lets a run wait that could not start, if that may help. Nothing is left of it if the runner
    /// shuts down, as of one that waits: another runner may start it.
    mutating func isTriedAgain(_ request: RunRequest, after failure: Spawner.Failure) -> Bool {
        guard failure.isTransient else { return false }
        guard !isShutDown else {
            retries.remove(request.id)
            parts.registry.remove(request.id)
            return true
        }
        // Each run that ends has descriptors of this process.
        let isFreedByEnd = failure.code == EMFILE && children.hasActive
        guard retries.add(request, isEndless: isFreedByEnd, at: RunnerClock.awake()) else {
            return false
        }
        parts.registry.remove(request.id)
        parts.mailbox.keepStart(of: Preparation.cost(of: request))
        return true
    }

    /// The same for a run whose process could not execute the program, and has ended.
    mutating func isTriedAgain(_ serial: UInt64) -> Bool {
        guard let child = children[serial], isShutDown || child.termination.isRunning,
            child.process.reaped != nil, case .failed(let failure, let request) = child.setUp,
            isTriedAgain(request, after: failure)
        else { return false }
        children.endRun(of: serial)
        if let group = child.controlGroup { removeGroup(group, of: child, serial, wasEnded: true) }
        credentials?.remove(child.id)
        drop(serial)
        return true
    }

    /// The outcome of a run that could not start and is not tried again.
    func outcomeAfterRetries(of run: Run.ID, _ failure: Spawner.Failure) -> RunOutcome {
        guard failure.isTransient, retries.contains(run),
            case .spawnFailed(let code, let what) = failure.outcome
        else { return failure.outcome }
        return .spawnFailed(
            errno: code, what: "\(what), for \(Retries.max / 1_000_000_000) seconds")
    }

    /// Starts the runs whose time to be tried again has come.
    mutating func startRetries(at now: Int64) {
        for request in retries.takeDue(at: now) {
            parts.mailbox.finishStart(of: Preparation.cost(of: request))
            guard let command = parts.prepareAgain(request) else { continue }
            parts.mailbox.beginStart(command)
            execute(command)
        }
    }
}

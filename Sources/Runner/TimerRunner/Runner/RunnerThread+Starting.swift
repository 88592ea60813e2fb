// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

extension RunnerThread {
    /// Whether a run waits, the limit of active runs is not reached, and there are descriptors for one more. This is
    /// checked again when an active run has ended.
    var mayStart: Bool {
        !waiting.isEmpty && serials.count - activeMessages.count < activeMax
            && children.count < placesMax
    }

    /// Whether a waiting message can start: messages have a limit of their own.
    var maySend: Bool { !messages.isEmpty && activeMessages.count < Self.activeMessagesMax }

    /// Starts some of the runs that wait, as many as one loop iteration may.
    mutating func startPreparations() {
        guard mayStart || maySend else { return }
        for _ in 0..<Self.startsPerIteration {
            guard mayStart, let preparation = waiting.popFirst() else { break }
            mailbox.finishStart(preparation)
            start(preparation)
        }
        // Messages are not urgent: they start when no run can.
        while maySend, !mayStart, let preparation = messages.popFirst() {
            mailbox.finishStart(preparation)
            start(preparation)
        }
    }

    private mutating func start(_ preparation: Preparation) {
        let run = preparation.request.id
        do throws(Spawner.Failure) {
            try spawn(preparation)
        } catch {
            guard !isTriedAgain(preparation.request, after: error) else { return }
            removePendingCommands(run)
            let end = RunEnd(
                outcomeAfterRetries(of: run, error),
                at: Self.wall(notBefore: preparation.request.notBefore))
            retries[run] = nil
            // The record of a run that was started before already says how it ended.
            if end.outcome != .lost(.runner) { registry.recordEnd(end, of: run) }
            handler(.ended(run, end))
        }
    }

    /// Reattaches to a run that an earlier runner started. The kernel reports its exit status only
    /// to its parent.
    mutating func reattach(_ run: Run.ID, _ process: RunRegistry.Process, _ pidfd: Int32) {
        serial += 1
        guard Self.watch(pidfd, token: serial << 2, in: epoll) else {
            close(pidfd)
            return handler(.ended(run, RunEnd(.lost(.runner), at: RunnerClock.wall())))
        }
        var child = Child(
            id: run, pid: process.pid, pidfd: pidfd, began: process.began,
            beganAt: process.beganAt, streams: [nil, nil], tail: Tail(limit: 0),
            killTimeout: process.killTimeout)
        child.isOwn = false
        child.controlGroup = process.controlGroup.flatMap { groups?.has($0) == true ? $0 : nil }
        child.deadline = process.deadline
        add(child)
    }

    /// Takes over the control group of a run that ended while no runner was running, or shortly
    /// before.
    mutating func takeOverGroup(_ group: RunRegistry.Group, of run: Run.ID) {
        guard groups?.has(group.name) == true, !ControlGroups.isKept(group.name) else { return }
        serial += 1
        watchGroup(group.name, of: run, grace: group.killTimeout, serial, at: RunnerClock.awake())
    }

    private mutating func add(_ child: Child) {
        children[serial] = child
        serials[child.id] = serial
        processes[child.pid] = serial
        if child.id.isMessage { activeMessages.insert(child.id) }
        if let deadline = child.deadline { timers.set(serial, at: deadline) }
    }

    /// The pipes of a run; both ends of each are open.
    private struct Pipes {
        var output = Pipe()
        var error = Pipe()

        struct Pipe {
            var reading: Int32 = -1
            var writing: Int32 = -1
        }

        init() throws(Spawner.Failure) {
            guard cspawn_pipe(&output.reading, &output.writing) == 0 else {
                throw Spawner.failure(errno, "make a pipe")
            }
            guard cspawn_pipe(&error.reading, &error.writing) == 0 else {
                let code = errno
                close(output.reading)
                close(output.writing)
                throw Spawner.failure(code, "make a pipe")
            }
        }
    }

    /// Creates the pipes and the process and watches them; on an error it leaves nothing behind.
    private mutating func spawn(_ preparation: Preparation) throws(Spawner.Failure) {
        var definition = preparation.request.definition
        // The process is created at once, and waits until its program may start.
        let now = RunnerClock.awake()
        let delay = Self.delay(until: preparation.request.notBefore, at: now)
        let began = now + delay.wholeNanoseconds
        let beganAt = RunnerClock.wall() + delay
        let deadline = definition.execution.timeout.flatMap { span -> Int64? in
            let (instant, overflow) = began.addingReportingOverflow(span.wholeNanoseconds)
            return overflow ? nil : instant
        }
        serial += 1
        let group = groups?.name(
            serial, of: preparation.request.id, isKept: !definition.execution.killsLeftovers)
        let record = try registry.make(
            for: preparation.request.id, began: began, beganAt: beganAt, deadline: deadline,
            killTimeout: definition.execution.killTimeout, controlGroup: group)
        var ready = try preparation.result.get()
        if let message = ready.message { definition.execution.stdin = message.input }
        let pipes = try Pipes()
        defer {
            close(pipes.output.writing)
            close(pipes.error.writing)
        }
        let process: Spawner.Process
        let context = Spawner.SpawnContext(
            output: pipes.output.writing, error: pipes.error.writing, signals: signals,
            record: record, before: preparation.request.fleet?.before,
            notBefore: delay > .zero ? preparation.request.notBefore : nil,
            wantsPidfd: orphanWatch == nil)
        do throws(Spawner.Failure) {
            process = try makeProcess(
                of: preparation.request.id, definition, &ready, pipes, group, context)
        } catch {
            close(pipes.output.reading)
            close(pipes.error.reading)
            if let group { groups?.remove(group) }
            credentials?.remove(preparation.request.id)
            throw error
        }
        var child = Child(
            id: preparation.request.id, pid: process.pid, pidfd: process.pidfd, began: began,
            beganAt: beganAt,
            streams: [pipes.output.reading, pipes.error.reading].map {
                Child.Stream(descriptor: $0)
            }, tail: Tail(limit: definition.execution.outputTail),
            killTimeout: definition.execution.killTimeout)
        child.launch = Child.Launch(
            number: process.launch, request: preparation.request, definition: definition,
            account: ready.account,
            session: process.session.map { Child.Session(socket: $0) })
        child.lineLimit = LineLimit(definition.execution)
        child.redaction = ready.message?.redaction
        child.controlGroup = group
        child.deadline = deadline
        add(child)
        awaitLaunch(of: serial)
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
        of run: Run.ID, _ definition: Definition, _ ready: inout Preparation.Ready,
        _ pipes: Pipes, _ group: String?, _ context: Spawner.SpawnContext
    ) throws(Spawner.Failure) -> Spawner.Process {
        guard Self.watch(pipes.output.reading, token: serial << 2 | 1, in: epoll),
            Self.watch(pipes.error.reading, token: serial << 2 | 2, in: epoll)
        else { throw Spawner.failure(errno, "watch a pipe") }
        give(pipes, to: ready.account)
        var context = context
        if let groups, let group { context.controlGroup = try groups.make(group) }
        defer { if group != nil { close(context.controlGroup) } }
        if group == nil, let runtime { ready.variables[LivingRuns.variable] = runtime }
        try storeCredentials(of: run, to: &ready)
        if let message = ready.message { context.passed = try Self.makeBody(message) }
        defer { if context.passed >= 0 { close(context.passed) } }
        let process = try spawner.spawn(definition, ready, in: context)
        // Without one, SIGCHLD reports the end of every child.
        if let pidfd = process.pidfd, !Self.watch(pidfd, token: serial << 2, in: epoll) {
            throw dismiss(process, errno)
        }
        if let socket = process.session { try watchSession(socket, process) }
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

    /// Makes the user of the run the owner of the pipes, because a program that opens /dev/stderr
    /// opens the pipe again and needs permission for it.
    private func give(_ pipes: Pipes, to account: Account) {
        guard let identity = account.identity else { return }
        for pipe in [pipes.output, pipes.error] {
            fchown(pipe.writing, identity.user, identity.group)
        }
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

    /// Watches the socket of `timerd-session`, or ends the process if that fails.
    private func watchSession(
        _ socket: Int32, _ process: Spawner.Process
    ) throws(Spawner.Failure) {
        guard !Self.watch(socket, token: serial << 2 | 3, in: epoll) else { return }
        throw dismiss(process, errno)
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

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
package import TimerCore
import TimerLog
import TimerRecording
import TimerStore

/// Commands: for one job, for many jobs, and for one-off jobs.
extension Loop {
    /// Executes a command and answers once its changes are on the disk.
    package func handle(
        _ command: JobCommand, reply: @escaping @Sendable (Answer, JobSnapshot?) -> Void
    ) {
        after(.clocks) { $0.execute(command, isPart: false, reply: reply) }
    }

    /// Executes a command now.
    ///
    /// - Parameter isPart: whether it belongs to a command for many jobs.
    fileprivate func execute(
        _ command: JobCommand, isPart: Bool,
        reply: @escaping @Sendable (Answer, JobSnapshot?) -> Void
    ) {
        if fleet != nil || command.machine != nil, handleInFleet(command, reply: reply) { return }
        receive(
            .command(command),
            answer: Reply(about: command.job, isPart: isPart) { answer in
                self.later { loop in
                    let snapshot = loop.agenda.snapshot(of: command.job, at: loop.steadyNow())
                    reply(answer, snapshot.map { loop.shown($0) })
                }
            })
    }

    // MARK: - The machine

    /// Holds the machine, or changes the terms of its hold, and answers once that is on the disk.
    package func hold(
        _ terms: MachineHold.Terms, reply: @escaping @Sendable (Answer, MachineHold?) -> Void
    ) {
        handleForMachine(.hold(terms), reply)
    }

    /// Releases the machine, and answers once that is on the disk.
    package func release(
        by initiator: Initiator, reply: @escaping @Sendable (Answer, MachineHold?) -> Void
    ) {
        handleForMachine(.release(by: initiator), reply)
    }

    private func handleForMachine(
        _ event: Event, _ reply: @escaping @Sendable (Answer, MachineHold?) -> Void
    ) {
        after([.clocks, .decision, .transaction]) { loop in
            loop.receive(
                event,
                answer: Reply { answer in
                    self.later { reply(answer, $0.agenda.machineHold) }
                })
        }
    }

    // MARK: - Many jobs

    /// Gives the same command to many jobs and answers once all changes are on the disk.
    ///
    /// - Parameters:
    ///   - jobs: the jobs, or templates for all of their jobs; nil for all.
    ///   - order: makes the command for a job. The end of a pause in it must be an instant.
    ///   - unknown: called instead of `done` if some jobs are not configured, with these and with
    ///     all jobs that are. Nothing was changed then.
    ///   - done: called with the result for each job, on a queue of its own.
    package func handle(
        _ jobs: [Job.Name]?, command: @escaping @Sendable (Job.Name) -> JobCommand,
        unknown: @escaping @Sendable (_ jobs: [Job.Name], _ configured: [Job.Name]) -> Void,
        done: @escaping @Sendable ([CommandResults.Result]) -> Void
    ) {
        after([.clocks, .decision, .transaction]) { loop in
            let configured = loop.agenda.names
            let jobs = jobs?.replacingTemplates(among: configured)
            if let jobs {
                let known = Set(configured)
                let others = jobs.filter {
                    !known.contains($0) && loop.shared.instance(of: $0) == nil
                }
                guard others.isEmpty else { return unknown(others, configured) }
            }
            let commands = (jobs ?? configured).map(command)
            loop.router.beginTransaction()
            let results = CommandResults(count: commands.count, done: done)
            loop.begin(CommandWork(commands[...], results), as: .command)
        }
    }

    /// All jobs are decided on, and now everything is saved.
    fileprivate func saveTransaction(_ results: CommandResults) {
        let writes = router.takeTransaction().map { write($0) }
        recorder.writeAtomically(
            writes.map(\.changes), durable: writes.contains(where: \.durable)
        ) { refused in
            self.later { $0.finishTransaction(writes, refused, results) }
        } onDelayed: { error in
            for write in writes { write.onDelayed?(error) }
        }
    }

    /// Submits the writes that waited for the transaction.
    private func finishTransaction(
        _ writes: [Write], _ refused: Set<Run.ID>, _ results: CommandResults
    ) {
        for late in router.endTransaction() { submit(write(late)) }
        recorder.write([noteWrite(through: agenda.eventNumber)])
        begin(CompletionWork(writes[...], refused), as: .completions)
        results.noteSaved()
        runWaiting()
    }

    // MARK: - One-off jobs: a command creates them, and they are removed when they are over

    /// The shortest time between two removals of finished one-off jobs, which are removed together.
    private static let expiryPause: Duration = .seconds(60)

    /// The result of a command that adds or removes a one-off job.
    package enum OneOffAnswer: Sendable {
        case done(JobSnapshot?)
        case refused(String)
        case noSuchJob([Job.Name])
    }

    /// Adds a one-off job, and answers once it is on the disk.
    ///
    /// - Parameter jobsMax: the most jobs there may be.
    func include(
        _ job: Job, jobsMax: Int, by initiator: String,
        reply: @escaping @Sendable (OneOffAnswer) -> Void
    ) {
        after([.clocks, .decision]) {
            $0.includeNow(job, jobsMax: jobsMax, by: initiator, reply: reply)
        }
    }

    private func includeNow(
        _ job: Job, jobsMax: Int, by initiator: String,
        reply: @escaping @Sendable (OneOffAnswer) -> Void
    ) {
        guard agenda.isOneOff(job.name) == nil else {
            return reply(.refused("there is already a job of this name"))
        }
        guard agenda.jobCount < jobsMax else {
            return reply(.refused("there are \(jobsMax) jobs, which is the limit (jobs-max)"))
        }
        guard !agenda.isShutDown else { return reply(.refused("the daemon is stopping")) }
        let name = job.name
        receive(
            .include(job),
            onDelayed: { reply(.refused("accepted, but not on the disk yet: \($0)")) },
            done: { loop in
                loop.log(.oneOffCreated(job, by: initiator))
                reply(.done(loop.agenda.snapshot(of: name, at: loop.steadyNow())))
            })
        followOneOffs()
    }

    /// Removes a one-off job whose definition is deleted already, and answers once that is on the
    /// disk.
    func exclude(
        _ job: Job.Name, by initiator: String, reply: @escaping @Sendable (OneOffAnswer) -> Void
    ) {
        after([.clocks, .decision]) { $0.excludeNow(job, by: initiator, reply: reply) }
    }

    private func excludeNow(
        _ job: Job.Name, by initiator: String, reply: @escaping @Sendable (OneOffAnswer) -> Void
    ) {
        let (snapshot, names) = snapshot(of: job)
        guard let snapshot else { return reply(.noSuchJob(names)) }
        guard snapshot.job.isOneOff else {
            return reply(
                .refused("it is in the configuration; `timerctl stop \(job)` stops its timer"))
        }
        removeOneOffs([job]) { loop in
            loop.log(.oneOffCancelled(job, by: initiator))
            reply(.done(snapshot))
        } onDelayed: {
            reply(.refused("done, but not on the disk yet: \($0)"))
        }
        // If only the job were removed, its definition would bring it back at the next start.
        launcher.discard([job])
    }

    private func removeOneOffs(
        _ jobs: [Job.Name], done: (@Sendable (isolated Loop) -> Void)? = nil,
        onDelayed: (@Sendable (StoreError) -> Void)? = nil
    ) {
        receive(.exclude(jobs), onDelayed: onDelayed, done: done)
        restartPortions()
    }

    /// Sets the timer for the removal of finished one-off jobs.
    private func followOneOffs() {
        guard agenda.oneOffs > 0, !serviceTimers.isSet(.oneOffs),
            let next = agenda.expiredOneOffs(at: reading().wall).next
        else { return }
        let wait = max(Self.expiryPause, next - reading().wall)
        serviceTimers.set(.oneOffs, after: wait, tolerance: Self.expiryPause, for: self) {
            $0.expireOneOffs()
        }
    }

    /// Removes the one-off jobs that finished long enough before this instant (nil: now), with
    /// their definitions.
    func expireOneOffs(at instant: WallInstant? = nil) {
        after(.decision) { $0.expireOneOffsNow(at: instant) }
    }

    private func expireOneOffsNow(at instant: WallInstant?) {
        serviceTimers.cancel(.oneOffs)
        guard agenda.oneOffs > 0 else { return }
        let expired = agenda.expiredOneOffs(at: instant ?? reading().wall).jobs
        if !expired.isEmpty {
            removeOneOffs(expired) { loop in
                for job in expired { loop.log(.oneOffRemoved(job)) }
            }
            launcher.discard(expired)
        }
        followOneOffs()
    }
}

/// A command for many jobs that the agenda decides on, some jobs at a time.
private final class CommandWork: LongWork {
    private var commands: ArraySlice<JobCommand>
    private let results: CommandResults

    init(_ commands: ArraySlice<JobCommand>, _ results: CommandResults) {
        self.commands = commands
        self.results = results
    }

    func advance(on loop: isolated Loop) -> PortionResult {
        let some = commands.prefix(Loop.jobsPerPortion)
        commands = commands.dropFirst(some.count)
        for (index, command) in zip(some.indices, some) {
            loop.router.reach(command.job)
            loop.execute(command, isPart: true) { [results] answer, snapshot in
                results.note(.init(command: command, answer: answer, snapshot: snapshot), at: index)
            }
        }
        guard commands.isEmpty else { return .more }
        loop.saveTransaction(results)
        return .finished
    }
}

/// What follows when the writes of such a command are on the disk.
private final class CompletionWork: LongWork {
    private var writes: ArraySlice<Loop.Write>
    private let refused: Set<Run.ID>

    init(_ writes: ArraySlice<Loop.Write>, _ refused: Set<Run.ID>) {
        self.writes = writes
        self.refused = refused
    }

    func advance(on loop: isolated Loop) -> PortionResult {
        for write in writes.prefix(Loop.jobsPerPortion) { write.onCommit?(refused) }
        writes = writes.dropFirst(Loop.jobsPerPortion)
        return writes.isEmpty ? .finished : .more
    }
}

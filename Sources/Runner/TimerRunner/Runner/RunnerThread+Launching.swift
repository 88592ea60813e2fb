// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// What a run waits for before its program runs: its environment file and credentials, and the
/// set-up of its process. All of these access files that the user of the run may control, and any
/// may hang, so nothing else waits for them.
extension RunnerThread {
    // MARK: - Users and files

    /// Waits for the user of a run, or for its files, which other threads look up and read.
    mutating func awaitPreparation(
        of request: RunRequest, _ number: RunnerMailbox.RequestNumber, _ account: Account? = nil
    ) {
        guard !isShutDown else { return }
        pending.add(request, number, account, at: RunnerClock.awake())
        launches.look(within: LaunchPolls.interval.upperBound, at: RunnerClock.awake())
    }

    /// The user of a run was looked up. The run may have been cancelled meanwhile.
    mutating func didLookUp(
        _ run: Run.ID, _ number: RunnerMailbox.RequestNumber,
        _ account: Result<Account, Spawner.Failure>
    ) {
        if let found = pending.didLookUp(run, number, account, at: RunnerClock.awake()) {
            starts.add(found)
        }
    }

    /// The files were read. The run that needs them may have been cancelled meanwhile.
    mutating func didReadFiles(
        of run: Run.ID, _ number: RunnerMailbox.RequestNumber, _ files: Preparation.Files
    ) {
        if let read = pending.didReadFiles(of: run, number, files) {
            starts.add(read)
        } else {
            parts.mailbox.forgetFiles(files)
        }
    }

    // MARK: - The set-up

    /// Polls the launches in progress. True if it was time to poll all of them.
    mutating func pollLaunches(at now: Int64) -> Bool {
        guard var pass = launches.pass(at: now) else { return false }
        while var launch = launches.next(in: &pass) {
            // Usually this only reads the shared memory. For a session, its socket reports the
            // progress.
            let isOver = !launch.isInSession && cspawn_is_over(launch.number)
            guard !(pass.isTime || isOver) || isUnderWay(launch.serial, at: now) else { continue }
            // One that waits until it is due needs no copies of its descriptors any more.
            if launch.hasCopies { launch.hasCopies = !cspawn_give_back_descriptors(launch.number) }
            launches.keep(launch, in: &pass)
        }
        if pass.isTime { for late in pending.expire(at: now) { starts.add(late) } }
        launches.end(pass, isNeeded: !pending.isEmpty, at: now)
        return pass.isTime
    }

    /// Polls one set-up. False if it is over; one that takes too long is terminated.
    private mutating func isUnderWay(_ serial: UInt64, at now: Int64) -> Bool {
        pollLaunch(of: serial)
        guard let launch = children[serial]?.setUp.launch, let began = children[serial]?.began
        else { return false }
        if now - began >= Spawner.timeout.wholeNanoseconds {
            end(serial, tooLate(launch).outcome, grace: .zero)
        }
        return true
    }

    private func tooLate(_ launch: Child.Launch) -> Spawner.Failure {
        launch.session?.isOpen == false
            ? Spawner.sessionTooLate(launch.definition, launch.account)
            : Spawner.tooLate(launch.definition, launch.account)
    }

    /// Polls the set-up of one child, and reports the start of the run when its program runs.
    mutating func pollLaunch(of serial: UInt64) {
        guard let launch = children[serial]?.setUp.launch else { return }
        var failure = cspawn_failure()
        guard cspawn_poll_launch(launch.number, &failure) == CSPAWN_IS_OVER else { return }
        guard failure.step == CSPAWN_STEP_NONE else {
            let isHelper = launch.session != nil
            return failLaunch(
                of: serial,
                isHelper
                    ? Spawner.helperFailure(failure)
                    : Spawner.failure(failure, of: launch.definition, launch.account))
        }
        guard launch.session == nil else { return receiveReports(of: serial) }
        reportStart(of: serial)
    }

    /// The program of a child runs, so the set-up is over: reports the start.
    mutating func reportStart(of serial: UInt64) {
        releaseLaunch(of: serial)
        // A run that was terminated during its set-up never ran its program.
        guard let child = children[serial], child.termination.isRunning else { return }
        retries.remove(child.id)
        events.report(.began(child.id, pid: child.process.pid, at: child.beganAt))
        executePendingCommands(child.id)
    }

    /// The program of a child does not run; the end of its process follows.
    mutating func failLaunch(of serial: UInt64, _ failure: Spawner.Failure) {
        guard let request = children[serial]?.setUp.launch?.request else { return }
        releaseLaunch(of: serial)
        children[serial]?.setUp = .failed(failure, request)
    }

    private mutating func releaseLaunch(of serial: UInt64) {
        guard let launch = children[serial]?.setUp.launch else { return }
        cspawn_release_launch(launch.number)
        if let socket = launch.session?.socket { close(socket) }
        children[serial]?.setUp = .done
    }

    /// Called when the run is over: reports the result of its set-up first.
    mutating func finishLaunch(of serial: UInt64) {
        pollLaunch(of: serial)
        failIfHelperEnded(of: serial)
        // A process that was killed before its first step has reported nothing. A process that is
        // abandoned may still write its progress, so its entry is never reused.
        if children[serial]?.process.reaped != nil { releaseLaunch(of: serial) }
        if let run = children[serial]?.id { takePendingCommands(run) }
    }
}

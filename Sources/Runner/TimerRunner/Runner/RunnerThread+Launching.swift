// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// What a run waits for before its program runs: its environment file and credentials, and the
/// set-up of its process. All of these access files that the user of the run may control, and any
/// may hang, so nothing else waits for them.
///
/// A process reports its progress in memory that it shares with the runner, without waking it. The
/// runner polls that memory in every loop iteration, and otherwise at the interval at which started
/// runs are reported.
extension RunnerThread {
    /// How soon after a start the set-up is polled if nothing else happens, and how long that
    /// interval may grow while the set-up takes long, in nanoseconds.
    private static let launchPollMin: Int64 = 10_000_000
    private static let launchPollMax: Int64 = 1_000_000_000

    /// How many of the latest launches are polled in each loop iteration.
    private static let launchesPerIteration = 64

    // MARK: - The set-up

    mutating func awaitLaunch(of serial: UInt64) {
        guard let launch = children[serial]?.launch else { return }
        launching.append((serial, launch.number, launch.session != nil, hasCopies: true))
        let began = children[serial]?.began ?? 0
        let next = max(began, RunnerClock.awake()) + Self.launchPollMin
        launchBy = min(launchBy ?? next, next)
    }

    /// Polls the launches in progress. True if it was time to poll all of them.
    mutating func pollLaunches(at now: Int64) -> Bool {
        guard let by = launchBy else { return false }
        let isTime = now >= by
        let first = isTime ? 0 : max(0, launching.count - Self.launchesPerIteration)
        // The array is changed in place, because this runs in each loop iteration.
        var kept = first
        for index in first..<launching.count {
            var one = launching[index]
            // Usually this only reads the shared memory. For a session, its socket reports the
            // progress.
            let isOver = !one.isInSession && cspawn_is_over(one.launch)
            guard !(isTime || isOver) || isUnderWay(one.serial, at: now) else { continue }
            // One that waits until it is due needs no copies of its descriptors any more.
            if one.hasCopies { one.hasCopies = !cspawn_give_back_descriptors(one.launch) }
            launching[kept] = one
            kept += 1
        }
        launching.removeSubrange(kept...)
        if isTime {
            expireReading(at: now)
            launchBy = nextLaunchPoll(at: now)
        } else if launching.isEmpty, reading.isEmpty {
            // Otherwise the thread would wake up once more for each short run.
            launchBy = nil
        }
        return isTime
    }

    /// Polls one set-up. False if it is over; one that takes too long is terminated.
    private mutating func isUnderWay(_ serial: UInt64, at now: Int64) -> Bool {
        pollLaunch(of: serial)
        guard let launch = children[serial]?.launch, let began = children[serial]?.began else {
            return false
        }
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

    /// The longer the latest set-up takes, the less often it is polled.
    private func nextLaunchPoll(at now: Int64) -> Int64? {
        guard let last = launching.last, let child = children[last.serial] else {
            return reading.isEmpty ? nil : now + Self.launchPollMax
        }
        let age = now - child.began
        return now + min(Self.launchPollMax, max(Self.launchPollMin, age / 2))
    }

    /// Polls the set-up of one child, and reports the start of the run when its program runs.
    mutating func pollLaunch(of serial: UInt64) {
        guard let child = children[serial], let launch = child.launch else { return }
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
        guard let child = children[serial], child.isRunning else { return }
        retries[child.id] = nil
        handler(.began(child.id, pid: child.pid, at: child.beganAt))
        executePendingCommands(child.id)
    }

    /// The program of a child does not run; the end of its process follows.
    mutating func failLaunch(of serial: UInt64, _ failure: Spawner.Failure) {
        guard let request = children[serial]?.launch?.request else { return }
        releaseLaunch(of: serial)
        children[serial]?.failure = (failure, request)
    }

    private mutating func releaseLaunch(of serial: UInt64) {
        guard let launch = children[serial]?.launch else { return }
        cspawn_release_launch(launch.number)
        if let socket = launch.session?.socket { close(socket) }
        children[serial]?.launch = nil
    }

    /// Called when the run is over: reports the result of its set-up first.
    mutating func finishLaunch(of serial: UInt64) {
        pollLaunch(of: serial)
        failIfHelperEnded(of: serial)
        // A process that was killed before its first step has reported nothing. A process that is
        // abandoned may still write its progress, so its entry is never reused.
        if children[serial]?.reaped != nil { releaseLaunch(of: serial) }
        if let run = children[serial]?.id { removePendingCommands(run) }
    }

    // MARK: - Users and files

    /// Waits for the user of a run, or for its files, which other threads look up and read.
    mutating func awaitPreparation(
        of request: RunRequest, _ number: RunnerMailbox.RequestNumber, _ account: Account? = nil
    ) {
        guard !isShutDown else { return }
        let until = RunnerClock.awake() + Spawner.timeout.wholeNanoseconds
        reading[request.id] = Reading(
            request: request, number: number, account: account, until: until)
        launchBy = min(launchBy ?? .max, RunnerClock.awake() + Self.launchPollMax)
    }

    /// The user of a run was looked up. The run may have been cancelled meanwhile.
    mutating func didLookUp(
        _ run: Run.ID, _ number: RunnerMailbox.RequestNumber,
        _ account: Result<Account, Spawner.Failure>
    ) {
        guard let looking = reading[run], looking.number == number, looking.account == nil else {
            return
        }
        if case .success(let found) = account, RunFiles(looking.request) != nil {
            reading[run]?.account = found
            // The files have a time limit of their own.
            reading[run]?.until = RunnerClock.awake() + Spawner.timeout.wholeNanoseconds
        } else {
            reading[run] = nil
            enqueue(Preparation(looking.request, account))
        }
    }

    /// The files were read. The run that needs them may have been cancelled meanwhile.
    mutating func didReadFiles(
        of run: Run.ID, _ number: RunnerMailbox.RequestNumber, _ files: Preparation.Files
    ) {
        guard let read = reading[run], read.number == number, let account = read.account else {
            return mailbox.forgetFiles(files)
        }
        reading[run] = nil
        enqueue(Preparation(read.request, .success(account), files: files))
    }

    private mutating func enqueue(_ preparation: Preparation) {
        if preparation.request.id.isMessage {
            messages.append(preparation)
        } else {
            waiting.append(preparation)
        }
    }

    private mutating func expireReading(at now: Int64) {
        let limit = "within \(Spawner.timeout.components.seconds) seconds"
        for (run, read) in reading where now >= read.until {
            if read.account == nil {
                let key = AccountLookUps.Key(read.request)
                let what = "look up \(key) \(limit)"
                didLookUp(run, read.number, .failure(Spawner.failure(ETIMEDOUT, what)))
            } else {
                let files = RunFiles(read.request)?.description ?? ""
                didReadFiles(
                    of: run, read.number,
                    .failure(Spawner.failure(ETIMEDOUT, "read \(files) \(limit)")))
            }
        }
    }

    /// Cancels a run while its user is being looked up or its files are being read. False if that
    /// is not so.
    mutating func cancelReading(_ run: Run.ID) -> Bool {
        guard let read = reading.removeValue(forKey: run) else { return false }
        mailbox.finishStart(of: Preparation.cost(of: read.request))
        return true
    }
}

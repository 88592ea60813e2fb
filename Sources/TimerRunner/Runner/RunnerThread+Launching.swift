// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// What a run waits for before its program runs: its environment file and credentials, and the set-up of its process. All
/// touch what its user may control, and any may hang; nothing else waits for them.
///
/// A process says how far it is in memory it shares with the runner, and wakes nobody: it is looked at whenever the
/// thread turns, and else as often as beginnings are told.
extension RunnerThread {
    /// How soon after a start the set-up is looked at, if nothing else happens, and how long that may grow while it
    /// takes long, in nanoseconds.
    private static let launchLook: Int64 = 10_000_000
    private static let launchLookMax: Int64 = 1_000_000_000

    /// How many of the latest are looked at in any turn.
    private static let launchesPerTurn = 64

    // MARK: - The set-up

    mutating func awaitLaunch(of serial: UInt64) {
        guard let launch = children[serial]?.launch else { return }
        launching.append((serial, launch.number, launch.session != nil))
        let next = RunnerClock.awake() + Self.launchLook
        launchBy = min(launchBy ?? next, next)
    }

    /// Looks how far processes are that set themselves up. True if it was time to look at all of them.
    mutating func pollLaunches(at now: Int64) -> Bool {
        guard let by = launchBy else { return false }
        let isTime = now >= by
        let first = isTime ? 0 : max(0, launching.count - Self.launchesPerTurn)
        // In place: this is done in each turn.
        var kept = first
        for index in first..<launching.count {
            let one = launching[index]
            // A look at the shared memory alone, most of the time. Of a session its socket tells.
            let isOver = !one.isInSession && cspawn_is_over(one.launch)
            guard !(isTime || isOver) || isUnderWay(one.serial, at: now) else { continue }
            launching[kept] = one
            kept += 1
        }
        launching.removeSubrange(kept...)
        if isTime {
            giveUpReading(at: now)
            launchBy = nextLook(at: now)
        }
        return isTime
    }

    /// Looks at one set-up. False if it is over; one that takes too long is made to end.
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

    /// The longer the latest takes, the less often it is looked at.
    private func nextLook(at now: Int64) -> Int64? {
        guard let last = launching.last, let child = children[last.serial] else {
            return reading.isEmpty ? nil : now + Self.launchLookMax
        }
        let age = now - child.began
        return now + min(Self.launchLookMax, max(Self.launchLook, age / 2))
    }

    /// Looks how far the process of one child is. Once its program runs, its beginning is told.
    mutating func pollLaunch(of serial: UInt64) {
        guard let child = children[serial], let launch = child.launch else { return }
        var failure = cspawn_failure()
        guard cspawn_look(launch.number, &failure) == CSPAWN_IS_OVER else { return }
        guard failure.step == CSPAWN_STEP_NONE else {
            let isHelper = launch.session != nil
            return failLaunch(
                of: serial,
                isHelper
                    ? Spawner.helperFailure(failure)
                    : Spawner.failure(failure, of: launch.definition, launch.account))
        }
        guard launch.session == nil else { return hearSession(of: serial) }
        tellBeginning(of: serial)
    }

    /// The program of a child runs.
    mutating func tellBeginning(of serial: UInt64) {
        forgetLaunch(of: serial)
        // One that was made to end over its set-up never ran.
        guard let child = children[serial], case .running = child.stage else { return }
        handler(.began(child.id, pid: child.pid, at: child.beganAt))
        executeEarly(child.id)
    }

    /// The program of a child does not run; the end of its process follows.
    mutating func failLaunch(of serial: UInt64, _ failure: Spawner.Failure) {
        forgetLaunch(of: serial)
        children[serial]?.failure = failure.outcome
    }

    private mutating func forgetLaunch(of serial: UInt64) {
        guard let launch = children[serial]?.launch else { return }
        cspawn_forget(launch.number)
        if let socket = launch.session?.socket { close(socket) }
        children[serial]?.launch = nil
    }

    /// The run is over. What is known of its set-up is told first.
    mutating func finishLaunch(of serial: UInt64) {
        pollLaunch(of: serial)
        noteSilence(of: serial)
        // One that was killed before its first step has said devNull. One that is given up and may still come to
        // it keeps its place for as long as this program runs: it writes there.
        if children[serial]?.taken != nil { forgetLaunch(of: serial) }
        if let run = children[serial]?.id { forgetEarly(run) }
    }

    // MARK: - Files

    /// Waits for the files of a run, which others read.
    mutating func awaitFiles(of request: RunRequest, _ account: Account) {
        guard !isShutDown else { return }
        let until = RunnerClock.awake() + Spawner.timeout.wholeNanoseconds
        reading[request.id] = Reading(request: request, account: account, until: until)
        launchBy = min(launchBy ?? .max, RunnerClock.awake() + Self.launchLookMax)
    }

    /// The files were read. The run that needs them may have been cancelled meanwhile.
    mutating func takeFiles(of run: Run.ID, _ files: Preparation.Files) {
        guard let read = reading.removeValue(forKey: run) else {
            return mailbox.forgetFiles(files)
        }
        waiting.append(Preparation(read.request, .success(read.account), files: files))
    }

    private mutating func giveUpReading(at now: Int64) {
        for (run, read) in reading where now >= read.until {
            let files = RunFiles(read.request.definition.execution)?.description ?? ""
            let failure = Spawner.failure(
                ETIMEDOUT,
                "read \(files) within \(Spawner.timeout.components.seconds) seconds")
            takeFiles(of: run, .failure(failure))
        }
    }

    /// The run is not begun. False if no file of it is being read.
    mutating func cancelReading(_ run: Run.ID) -> Bool {
        guard let read = reading.removeValue(forKey: run) else { return false }
        mailbox.finishStart(Preparation(read.request, .success(read.account)))
        return true
    }
}

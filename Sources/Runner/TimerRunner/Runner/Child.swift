// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// The process of a run that is active, or whose output is still read. It is an object, because to
/// change a value in place in a dictionary allocates memory each time. Instants are of
/// CLOCK_MONOTONIC, in nanoseconds.
final class Child {
    let id: Run.ID
    /// When its program may start, or started.
    let began: Int64
    let beganAt: WallInstant
    let killTimeout: Duration
    /// The name of its control group, if it has one.
    let controlGroup: String?
    var process: ChildProcess
    var setUp: SetUp
    var program = SessionProgram()
    var output: ChildOutput
    var termination = Termination()
    var timeLimit: TimeLimit

    init(
        id: Run.ID, began: Int64, beganAt: WallInstant, killTimeout: Duration,
        controlGroup: String?, process: ChildProcess, setUp: SetUp, output: ChildOutput,
        timeLimit: TimeLimit
    ) {
        self.id = id
        self.began = began
        self.beganAt = beganAt
        self.killTimeout = killTimeout
        self.controlGroup = controlGroup
        self.process = process
        self.setUp = setUp
        self.output = output
        self.timeLimit = timeLimit
    }
}

extension Child {
    /// What comes before the program of a run.
    enum SetUp {
        case underWay(Launch)
        /// The program could not run, and the process ends.
        case failed(Spawner.Failure, RunRequest)
        /// The program runs.
        case done

        var launch: Launch? { if case .underWay(let launch) = self { launch } else { nil } }

        /// Whether `timerd-session` has opened a session, so that only the program remains.
        var isInOpenSession: Bool {
            if case .underWay(let launch) = self { launch.session?.isOpen == true } else { false }
        }

        /// Notes that `timerd-session` has opened the session.
        mutating func openSession() { changeLaunch { $0.session?.isOpen = true } }

        /// Closes the socket of `timerd-session`, from which no more reports will come.
        mutating func closeReports() {
            changeLaunch { launch in
                if let socket = launch.session?.socket { close(socket) }
                launch.session?.socket = nil
            }
        }

        private mutating func changeLaunch(_ change: (inout Launch) -> Void) {
            guard case .underWay(var launch) = self else { return }
            change(&launch)
            self = .underWay(launch)
        }
    }

    /// A process whose program does not run yet, because it is being set up.
    struct Launch {
        /// The argument for `cspawn_poll_launch`, which names the set-up.
        let number: Int32
        let request: RunRequest
        let definition: Definition
        let account: Account
        /// The session of a run with `pam-service`; nil for any other run.
        fileprivate(set) var session: Session?

        init(
            number: Int32, request: RunRequest, definition: Definition, account: Account,
            reports socket: Int32?
        ) {
            self.number = number
            self.request = request
            self.definition = definition
            self.account = account
            session = socket.map { Session(socket: $0) }
        }
    }

    /// A PAM session that `timerd-session` opens, and closes after the run.
    struct Session {
        /// The argument for `cspawn_receive_report`; nil when no more reports will come.
        fileprivate(set) var socket: Int32?
        /// Whether it is open, so that only the set-up of the program remains.
        fileprivate(set) var isOpen = false
    }
}

/// The program's own process in a PAM session, whose parent is `timerd-session`. It is killed before
/// the rest of its process group, so that `timerd-session` can close the session.
struct SessionProgram {
    /// Nil for a run without a session, and once the process is killed.
    private var pidfd: Int32?
    private(set) var wasKilled = false

    /// Takes a pidfd of the process.
    mutating func take(_ descriptor: Int32) {
        close()
        pidfd = descriptor
    }

    /// Kills the process. False if there is none, or if it is already killed.
    mutating func kill() -> Bool {
        guard let pidfd else { return false }
        _ = cspawn_signal(pidfd, SIGKILL)
        close()
        wasKilled = true
        return true
    }

    mutating func close() {
        if let pidfd { Glibc.close(pidfd) }
        pidfd = nil
    }
}

/// The time limit of a run. Its time does not pass while the run is suspended.
struct TimeLimit {
    private enum State {
        case none
        case running(until: Int64)
        case suspended(left: Int64)
    }

    private var state: State

    /// - Parameter deadline: when it is over, by CLOCK_MONOTONIC; nil for no limit.
    init(until deadline: Int64?) { state = deadline.map { .running(until: $0) } ?? .none }

    /// When it is over; nil if there is none, or if it is suspended.
    var deadline: Int64? { if case .running(let until) = state { until } else { nil } }

    func isOver(at now: Int64) -> Bool { deadline.map { now >= $0 } ?? false }

    mutating func suspend(at now: Int64) {
        if case .running(let until) = state { state = .suspended(left: max(0, until - now)) }
    }

    /// - Returns: when it is over now; nil if it was not suspended.
    mutating func resume(at now: Int64) -> Int64? {
        guard case .suspended(let left) = state else { return nil }
        state = .running(until: now + left)
        return now + left
    }

    /// It does not apply any more, because the run is being terminated.
    mutating func remove() { state = .none }
}

/// How far the termination of a run is: SIGTERM, SIGKILL after a grace period that can only become
/// shorter, and when a shutdown does not wait any longer. The first reason is its outcome.
struct Termination {
    enum Stage {
        case running
        /// It got SIGTERM, will end with this outcome, and gets SIGKILL at this instant.
        case ending(RunOutcome, killAt: Int64)
        /// It got SIGKILL; at this instant a shutdown abandons it.
        case killed(RunOutcome, abandonAt: Int64)
    }

    /// What to do when a run is to be terminated.
    enum Step: Hashable {
        /// Send SIGTERM, and call `kill` at this instant.
        case terminate(killAt: Int64)
        /// The run is being terminated; look again at this instant.
        case wait(until: Int64)
        /// The run is being terminated, and gets SIGKILL no later than requested.
        case nothing
    }

    private(set) var stage = Stage.running

    /// Whether nothing has begun to terminate it.
    var isRunning: Bool { if case .running = stage { true } else { false } }

    /// How the run ends when its processes are gone; nil while nothing has begun to terminate it.
    var outcome: RunOutcome? {
        switch stage {
        case .running: nil
        case .ending(let outcome, _), .killed(let outcome, _): outcome
        }
    }

    /// Begins to terminate the run, or shortens its grace period.
    mutating func begin(_ outcome: RunOutcome, killAt: Int64) -> Step {
        switch stage {
        case .running:
            stage = .ending(outcome, killAt: killAt)
            return .terminate(killAt: killAt)
        case .ending(let outcome, let before):
            guard killAt < before else { return .nothing }
            stage = .ending(outcome, killAt: killAt)
            return .wait(until: killAt)
        // The instant may be long past; only the shutdown of the runner abandons the run.
        case .killed(_, let abandonAt): return .wait(until: abandonAt)
        }
    }

    /// Changes when a run that is being terminated gets SIGKILL, once its program was killed alone.
    mutating func setKill(at instant: Int64) {
        if case .ending(let outcome, _) = stage { stage = .ending(outcome, killAt: instant) }
    }

    /// Notes that a run that is being terminated gets SIGKILL.
    mutating func kill(abandonAt: Int64) {
        if case .ending(let outcome, _) = stage { stage = .killed(outcome, abandonAt: abandonAt) }
    }
}

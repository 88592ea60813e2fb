// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// Handles runs in PAM sessions. The process of such a run is `timerd-session`, which starts the
/// program as its child and ends with the same exit code or signal. Until the program runs,
/// `timerd-session` reports its progress.
extension RunnerThread {
    /// How long `timerd-session` has to close the session after the program was killed, in
    /// nanoseconds.
    private static let sessionCloseTimeout: Int64 = 2_000_000_000

    /// Receives the reports of `timerd-session` that have arrived.
    mutating func receiveReports(of serial: UInt64) {
        while let launch = children[serial]?.setUp.launch, let socket = launch.session?.socket {
            var report = cspawn_report()
            var program: Int32 = -1
            switch cspawn_receive_report(socket, &report, &program) {
            case 0: return
            case 1: take(report, program, of: serial, launch)
            // `timerd-session` has ended, or the program did not start; its exit status says more.
            default: children[serial]?.setUp.closeReports()
            }
        }
    }

    private mutating func take(
        _ report: cspawn_report, _ program: Int32, of serial: UInt64, _ launch: Child.Launch
    ) {
        if program >= 0 { children[serial]?.program.take(program) }
        switch report.kind {
        case CSPAWN_REPORT_OPEN: children[serial]?.setUp.openSession()
        case CSPAWN_REPORT_RUNS: reportStart(of: serial)
        default:
            failLaunch(
                of: serial, Spawner.failure(report, of: launch.definition, launch.account))
        }
    }

    /// Only the program writes to the pipes of a run in a session. If there is output, the program
    /// runs, even if the report of that arrives later.
    mutating func reportStartIfItWrote(_ serial: UInt64, stream: Int) {
        guard children[serial]?.setUp.isInOpenSession == true,
            let descriptor = children[serial]?.output.descriptor(of: stream)
        else { return }
        var reading = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&reading, 1, 0) > 0, reading.revents & Int16(POLLIN) != 0 else { return }
        reportStart(of: serial)
    }

    /// Called when the run is over. If `timerd-session` ended and the program never ran, that is
    /// the reason.
    mutating func failIfHelperEnded(of serial: UInt64) {
        guard let child = children[serial], child.process.reaped != nil,
            let launch = child.setUp.launch, launch.session != nil
        else { return }
        failLaunch(of: serial, Spawner.helperEnded(launch.definition))
    }

    /// Kills the program of a run in a session before the whole process group is killed, so that
    /// `timerd-session` can close the session. False if there is no program to kill, or it was
    /// already killed.
    mutating func killProgram(of serial: UInt64, at now: Int64) -> Bool {
        guard let child = children[serial], child.process.reaped == nil,
            children[serial]?.program.kill() == true
        else { return false }
        let killAt = now + Self.sessionCloseTimeout
        children[serial]?.termination.setKill(at: killAt)
        timers.set(serial, at: killAt)
        return true
    }

    /// The session is closed, so the rest of the process group can be killed now.
    mutating func killGroupOfProgram(of serial: UInt64) {
        guard children[serial]?.program.wasKilled == true else { return }
        children[serial]?.termination.setKill(at: RunnerClock.awake())
    }
}

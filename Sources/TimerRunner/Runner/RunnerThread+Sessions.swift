// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// Runs in PAM sessions. The process of such a run is `timerd-session`, which starts the program as its child and
/// ends as that ends. Until the program runs, `timerd-session` reports how far it is.
extension RunnerThread {
    /// How long `timerd-session` has to close its session after the program was killed, in nanoseconds.
    private static let closePatience: Int64 = 2_000_000_000

    /// Takes what `timerd-session` reported.
    mutating func hearSession(of serial: UInt64) {
        while let launch = children[serial]?.launch, let socket = launch.session?.socket {
            var report = cspawn_report()
            var program: Int32 = -1
            switch cspawn_hear(socket, &report, &program) {
            case 0: return
            case 1: take(report, program, of: serial, launch)
            default:
                // It is gone, or the program did not start: its end says more.
                close(socket)
                children[serial]?.launch?.session?.socket = nil
            }
        }
    }

    private mutating func take(
        _ report: cspawn_report, _ program: Int32, of serial: UInt64, _ launch: Child.Launch
    ) {
        if program >= 0 {
            closeProgram(of: serial)
            children[serial]?.program = program
        }
        switch report.kind {
        case CSPAWN_REPORT_OPEN: children[serial]?.launch?.session?.isOpen = true
        case CSPAWN_REPORT_RUNS: tellBeginning(of: serial)
        default:
            failLaunch(
                of: serial, Spawner.failure(report, of: launch.definition, launch.account))
        }
    }

    /// Only the program writes into the pipes of a run in a session: if something is there, it runs, even if the
    /// report of that comes later.
    mutating func beginIfItWrote(_ serial: UInt64, stream: Int) {
        // In place: each piece of output of any run comes by here.
        guard children[serial]?.launch?.session?.isOpen == true,
            let descriptor = children[serial]?.streams[stream]?.descriptor
        else { return }
        var reading = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&reading, 1, 0) > 0, reading.revents & Int16(POLLIN) != 0 else { return }
        tellBeginning(of: serial)
    }

    /// The run is over. If `timerd-session` ended and its program did not run, that is why.
    mutating func noteSilence(of serial: UInt64) {
        guard let child = children[serial], child.taken != nil, let launch = child.launch,
            launch.session != nil
        else { return }
        failLaunch(of: serial, Spawner.helperEnded(launch.definition))
    }

    func closeProgram(of serial: UInt64) {
        if let program = children[serial]?.program { close(program) }
    }

    /// Before the whole process group of a run in a session is killed, its program is, so that `timerd-session` can
    /// close the session. False if there is no program to kill, or it was killed before.
    mutating func killProgram(of serial: UInt64, _ outcome: RunOutcome, at now: Int64) -> Bool {
        guard let child = children[serial], child.taken == nil, let program = child.program else {
            return false
        }
        _ = cspawn_signal(program, SIGKILL)
        close(program)
        children[serial]?.program = nil
        children[serial]?.isProgramKilled = true
        let killAt = now + Self.closePatience
        children[serial]?.stage = .ending(outcome, killAt: killAt)
        timers.set(serial, at: killAt)
        return true
    }

    /// The session is closed, so nothing keeps the rest of the process group from being killed.
    mutating func killRest(of serial: UInt64) {
        guard let child = children[serial], child.isProgramKilled,
            case .ending(let outcome, _) = child.stage
        else { return }
        children[serial]?.stage = .ending(outcome, killAt: RunnerClock.awake())
    }
}

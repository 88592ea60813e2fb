// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import TimerCore
import TimerRunnerProtocol

/// The process of a run that is active, or whose output is still read. Instants are of
/// CLOCK_MONOTONIC, in nanoseconds.
struct Child {
    var id: Run.ID
    var pid: Int32
    /// A pidfd of the process. A child of this process may have none until it is needed: until the
    /// child is reaped, its id is not reused. It is kept after that to find the rest of the process
    /// group.
    var pidfd: Int32?
    /// Set while the process sets itself up; nil once it runs its program or has failed.
    var launch: Launch?
    /// The reason why it could not run its program, and the request for the run.
    var failure: (reason: Spawner.Failure, request: RunRequest)?
    /// A pidfd of the program's own process, whose parent is `timerd-session`, for a run in a PAM
    /// session, until that process is killed.
    var program: Int32?
    /// Whether that process was killed before the rest of its process group.
    var isProgramKilled = false
    /// Whether it has ended and its tracer has not released it yet.
    var isTraced = false
    /// Whether it is a child of this process: false for a run that an earlier runner started.
    var isOwn = true
    var began: Int64
    var beganAt: WallInstant
    /// Standard output and standard error; nil once closed.
    var streams: [Stream?]
    var tail: Tail
    /// Removes the secrets of a message from it.
    var redaction: Redaction?
    /// How many lines its job may write in which time; nil for no limit.
    var lineLimit: LineLimit?
    /// The lines that were dropped because of that limit and are not reported yet. While this is
    /// above zero, all further lines are dropped too.
    var limited = 0
    /// Its output is not read until this instant, because its lines are not consumed; nil if it is
    /// read.
    var unreadUntil: Int64?
    var stage = Stage.running
    /// When its time limit expires; nil for no limit, and while it is suspended.
    var deadline: Int64?
    /// The rest of its time limit when it was suspended.
    var left: Int64?
    var killTimeout: Duration
    /// The exit status of its process, while the rest of its process group has time to end.
    var reaped: Reaped?
    /// The name of its control group, if it has one.
    var controlGroup: String?

    /// The last part of its output, without secrets.
    var cleanTail: [UInt8] {
        redaction.map { $0.apply(to: tail.last, isCut: tail.isCut) } ?? tail.last
    }

    /// A process whose program does not run yet, because it is being set up.
    struct Launch {
        /// The argument for `cspawn_poll_launch`, which names the set-up.
        var number: Int32
        var request: RunRequest
        var definition: Definition
        var account: Account
        /// The session of a run with `pam-service`; nil for any other run.
        var session: Session?
    }

    /// A PAM session that `timerd-session` opens, and closes after the run.
    struct Session {
        /// The argument for `cspawn_receive_report`; nil when no more reports will come.
        var socket: Int32?
        /// Whether it is open, so that only the set-up of the program remains.
        var isOpen = false
    }

    struct Stream {
        var descriptor: Int32
        var lines = LineCutter()
    }

    struct Reaped {
        var end: cspawn_end
        var isKnown: Bool
    }

    /// Whether nothing has begun to terminate it.
    var isRunning: Bool { if case .running = stage { true } else { false } }

    /// How far its termination is.
    enum Stage {
        case running
        /// It got SIGTERM, will end with this outcome, and gets SIGKILL at this instant.
        case ending(RunOutcome, killAt: Int64)
        /// It got SIGKILL; at this instant a shutdown abandons it.
        case killed(RunOutcome, abandonAt: Int64)
    }
}

extension Child {
    /// Cuts the bytes of one of its streams into lines and passes on those that its job may write.
    /// The others are counted.
    mutating func take(
        _ bytes: UnsafeRawBufferPointer, of stream: Int, within window: inout LineWindow?,
        each: (_ line: [UInt8], _ isCut: Bool) -> Void
    ) {
        var over = 0
        streams[stream]?.lines.take(bytes) { line, isCut in
            if window?.admit() == false { over += 1 } else { each(line, isCut) }
        }
        limited += over
    }

    /// Passes on the partial line at the end of a stream, if the job may write it. Otherwise it is
    /// counted.
    mutating func finishLine(
        of stream: Int, within window: inout LineWindow?,
        each: (_ line: [UInt8], _ isCut: Bool) -> Void
    ) {
        var over = 0
        streams[stream]?.lines.finish { line, isCut in
            if window?.admit() == false { over += 1 } else { each(line, isCut) }
        }
        limited += over
    }
}

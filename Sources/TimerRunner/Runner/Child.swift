// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import TimerCore
import TimerRunnerProtocol

/// One run that lives, or whose output still comes. Instants are of CLOCK_MONOTONIC, in nanoseconds.
struct Child {
    var id: Run.ID
    var pid: Int32
    /// Nil once its end is taken.
    var pidfd: Int32?
    /// The descriptor of its process, whose end is taken, as long as others of its group are to be found by it.
    var group: Int32?
    /// While the process sets itself up; nil once it runs its program, or failed to.
    var launch: Launch?
    /// Why it could not run its program.
    var failure: RunOutcome?
    /// A descriptor of the program's own process below `timerd-session`, for a run in a PAM session, until that
    /// process is killed.
    var program: Int32?
    /// Whether that process was killed before the rest of its process group.
    var isProgramKilled = false
    /// Whether it has ended and somebody who traces it keeps its end.
    var isTraced = false
    /// Whether its end will be told to this process: not for one that an earlier runner began.
    var isOwn = true
    var began: Int64
    var beganAt: WallInstant
    /// Standard output and standard error; nil once closed.
    var streams: [Stream?]
    var tail: Tail
    /// How many lines its job may write in what span; nil: as many as it likes.
    var lineLimit: LineLimit?
    /// The lines that were dropped for that and are not told of. Above zero all further ones are too, until they are.
    var limited = 0
    /// Nothing is read of it until this instant, since its lines are not taken; nil if it is read.
    var unreadUntil: Int64?
    var stage = Stage.running
    /// When its time is up; nil for no limit, and while it stands still.
    var deadline: Int64?
    /// What was left of its time when it was made to stand still.
    var left: Int64?
    var killTimeout: Duration
    /// The end of its process, while others of its group are given the time to follow.
    var taken: Taken?
    /// The name of its control group, if it has one of its own.
    var controlGroup: String?

    /// A set-up that is under way.
    struct Launch {
        /// What `cspawn_look` is asked with.
        var number: Int32
        var definition: Definition
        var account: Account
        /// For a run in a PAM session.
        var session: Session?
    }

    /// A PAM session that `timerd-session` opens.
    struct Session {
        /// What `cspawn_hear` is asked with; nil once no more reports come.
        var socket: Int32?
        /// Whether it is open, so that only the set-up of the program is left.
        var isOpen = false
    }

    struct Stream {
        var descriptor: Int32
        var lines = LineCutter()
    }

    struct Taken {
        var end: cspawn_end
        var isKnown: Bool
    }

    /// How far its ending has got.
    enum Stage {
        case running
        /// It was told to end, for this outcome, and is killed at this instant.
        case ending(RunOutcome, killAt: Int64)
        /// It was killed; at this instant it is given up.
        case killed(RunOutcome, giveUpAt: Int64)
    }
}

extension Child {
    /// Cuts what came by one of its streams into lines, and hands out those that its job may write. The others are
    /// counted.
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

    /// Hands out the line that a stream ends with, if the job may write it. Else it is counted.
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

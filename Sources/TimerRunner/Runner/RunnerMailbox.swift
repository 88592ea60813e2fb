// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import HostThreads
import Synchronization
import TimerCore
import TimerRunnerProtocol

/// What the runner's thread is to do, left for it by others.
final class RunnerMailbox: Sendable {
    enum Command: Sendable {
        case start([Preparation])
        /// The files of this run are being read; `wasRead` will say what is in them.
        case read(RunRequest, Account)
        case wasRead(Run.ID, Preparation.Files)
        case signal(Run.ID, Int32)
        case end(Run.ID, grace: Duration)
        case suspend(Run.ID)
        case resume(Run.ID)
        case barrier(@Sendable () -> Void)
        case readOn([Run.ID])
        case limit(Int)
        case shutDown(Duration)
    }

    /// What waits for the thread.
    struct Load: Sendable {
        /// The runs that wait for their start, and the bytes of what was prepared for them.
        var starts = 0
        var startBytes = 0
        /// The commands that are not carried out.
        var commands = 0
    }

    private struct State {
        var commands: [Command] = []
        var load = Load()
        /// The thread has ended and takes nothing more.
        var isClosed = false
    }

    /// Readable while there is something; an eventfd(2).
    let descriptor: Int32
    private let state = Mutex(State())

    init() throws(Runner.Failure) {
        descriptor = EventFD.make()
        guard descriptor >= 0 else { throw Runner.Failure("cannot make an eventfd", errno) }
    }

    deinit { Glibc.close(descriptor) }

    /// Leaves command and returns at once.
    /// - Returns: false if the thread has ended; the command is not taken then.
    @discardableResult
    func post(_ command: Command) -> Bool {
        let count: Int? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.commands.append(command)
            switch command {
            case .start(let preparations):
                state.load.starts += preparations.count
                state.load.startBytes += preparations.reduce(0) { $0 + $1.cost }
            case .read:
                state.load.starts += 1
                state.load.startBytes += Preparation.costOfOne
            case .wasRead(_, let files):
                state.load.startBytes += Preparation.cost(of: files)
            default: state.load.commands += 1
            }
            return state.commands.count
        }
        guard let count else { return false }
        // Whoever left the first command since they were taken has rung already.
        if count == 1 { EventFD.signal(descriptor) }
        return true
    }

    /// Takes everything there is, in the order it was left.
    func take() -> [Command] {
        EventFD.drain(descriptor)
        return state.withLock { state in
            defer { state.commands = [] }
            for command in state.commands {
                switch command {
                case .start, .read, .wasRead: continue
                default: state.load.commands -= 1
                }
            }
            return state.commands
        }
    }

    /// What waits for the thread, what it has taken and not carried out among it.
    var load: Load { state.withLock(\.load) }

    /// A start that was taken is carried out or called off.
    func finishStart(_ preparation: Preparation) {
        state.withLock { state in
            state.load.starts -= 1
            state.load.startBytes -= preparation.cost
        }
    }

    /// No caller waits for what was read.
    func forgetFiles(_ files: Preparation.Files) {
        state.withLock { $0.load.startBytes -= Preparation.cost(of: files) }
    }

    /// So many more commands, or fewer, are kept for runs that wait for their start.
    func keepCommands(_ count: Int) { state.withLock { $0.load.commands += count } }

    /// Nothing is left here any more; what is there is nobody's.
    func close() { state.withLock { $0 = State(isClosed: true) } }
}

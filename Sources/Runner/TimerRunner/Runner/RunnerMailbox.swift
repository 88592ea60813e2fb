// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import HostThreads
import Synchronization
import TimerCore
import TimerRunnerProtocol

/// The commands that other threads post to the runner's thread.
final class RunnerMailbox: Sendable {
    enum Command: Sendable {
        case start([Preparation])
        /// The user of this run is being looked up; `lookedUp` follows, and then, if the run has
        /// files, `wasRead`.
        case lookUp(RunRequest, RequestNumber)
        case lookedUp(Run.ID, RequestNumber, Result<Account, Spawner.Failure>)
        /// The files of this run are being read; `wasRead` follows with their contents.
        case read(RunRequest, Account, RequestNumber)
        case wasRead(Run.ID, RequestNumber, Preparation.Files)
        case signal(Run.ID, Int32)
        case end(Run.ID, grace: Duration)
        case suspend(Run.ID)
        case resume(Run.ID)
        case barrier(Barrier)
        case resumeReading([Run.ID])
        case limit(Int)
        case shutDown(Duration)
    }

    /// What is called on the thread when every end that has happened before is reported.
    struct Barrier: Sendable {
        let isPassed: @Sendable () -> Void
    }

    /// The number of a request. A run that was stopped and forgotten can be requested again, and
    /// must not get what was found for the earlier request.
    typealias RequestNumber = UInt64

    /// How much work waits for the thread, so that the server can refuse more.
    struct Load: Sendable {
        /// The runs that wait for their start, and the bytes of memory that their preparations
        /// take.
        var starts = 0
        var startBytes = 0
        /// How many commands have not been executed.
        var commands = 0

        /// Adds a command that the thread has not executed.
        mutating func add(_ command: Command) {
            switch command {
            case .start(let preparations):
                starts += preparations.count
                startBytes += preparations.reduce(0) { $0 + $1.cost }
            case .lookUp(let request, _), .read(let request, _, _):
                starts += 1
                startBytes += Preparation.cost(of: request)
            case .wasRead(_, _, let files): startBytes += Preparation.cost(of: files)
            case .lookedUp: break
            default: commands += 1
            }
        }
    }

    private struct State {
        var commands: [Command] = []
        var load = Load()
        /// The thread has ended and accepts no more commands.
        var isClosed = false
    }

    /// An eventfd(2) that is readable while there is a command.
    let descriptor: Int32
    private let state = Mutex(State())

    init() throws(Runner.Failure) {
        descriptor = EventFD.make()
        guard descriptor >= 0 else { throw Runner.Failure("cannot make an eventfd", errno) }
    }

    deinit { Glibc.close(descriptor) }

    /// Posts a command and returns at once.
    /// - Returns: false if the thread has ended; the command is dropped then.
    @discardableResult
    func post(_ command: Command) -> Bool {
        let count: Int? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.commands.append(command)
            state.load.add(command)
            return state.commands.count
        }
        guard let count else { return false }
        // The thread was already signalled for the first command since it last took them.
        if count == 1 { EventFD.signal(descriptor) }
        return true
    }

    /// Takes all commands, in the order in which they were posted.
    func drain() -> [Command] {
        EventFD.drain(descriptor)
        return state.withLock { state in
            defer { state.commands = [] }
            for command in state.commands {
                switch command {
                case .start, .lookUp, .lookedUp, .read, .wasRead: continue
                default: state.load.commands -= 1
                }
            }
            return state.commands
        }
    }

    /// The work that waits for the thread, including what the thread has taken and not executed.
    var load: Load { state.withLock(\.load) }

    /// Called when the thread executes a start that was not posted.
    func beginStart(_ command: Command) { state.withLock { $0.load.add(command) } }

    /// Called when a run waits to be started again.
    func keepStart(of cost: Int) {
        state.withLock { state in
            state.load.starts += 1
            state.load.startBytes += cost
        }
    }

    /// Called when a start has been executed or cancelled.
    func finishStart(_ preparation: Preparation) { finishStart(of: preparation.cost) }

    /// The same, for one that takes so many bytes.
    func finishStart(of cost: Int) {
        state.withLock { state in
            state.load.starts -= 1
            state.load.startBytes -= cost
        }
    }

    /// Called when the contents of files are not needed any more.
    func forgetFiles(_ files: Preparation.Files) {
        state.withLock { $0.load.startBytes -= Preparation.cost(of: files) }
    }

    /// Adds this number, which may be negative, to the commands that are kept for runs that have
    /// not started.
    func keepCommands(_ count: Int) { state.withLock { $0.load.commands += count } }

    /// Closes the mailbox and drops the remaining commands.
    func close() { state.withLock { $0 = State(isClosed: true) } }
}

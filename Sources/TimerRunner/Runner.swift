// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Dispatch
import Glibc
public import TimerCore

/// Owns the processes of runs: starts them, reads what they write, and tells how they end.
///
/// All of it happens on one thread of its own, however many processes there are; calls only leave word for
/// it and return at once. What it tells comes on that thread, in order for each run.
///
/// Before a run is begun its mark, an empty file named after it, is made in the marks directory. It stays
/// until the run is forgotten, so that after a crash a run without a mark is known never to have begun.
///
/// The end of its process is the end of a run. What a process left behind with its output in hand is read
/// on, for at most `leftoversMax` runs; beyond, the oldest's pipes are closed, and whoever writes there
/// gets SIGPIPE.
///
/// A runner is to be shut down. One that is let go without is shut down with no grace, without waiting.
public final class Runner: Sendable {
    /// How many ended runs may have somebody left behind who still holds their output.
    public static let leftoversMax = 256

    /// How long a shutdown waits after SIGKILL. A process that outlives it stands still in the kernel, or
    /// became another user's, and is given up as `lost(daemon)`.
    public static let killPatience: Duration = .seconds(5)

    /// The longest grace of a shutdown; a longer one is cut to it.
    public static let graceMax: Duration = .seconds(86_400)

    private let inbox: Inbox
    private let marks: Marks
    /// Signalled when the thread has ended.
    private let done = DispatchSemaphore(value: 0)

    /// Starts the runner's thread.
    ///
    /// It undoes an ignored SIGCHLD, which would have the kernel throw the ends of processes away, and
    /// raises this process's soft limit of open files towards the hard one; jobs get the former one.
    ///
    /// - Parameters:
    ///   - marks: a descriptor of the directory of marks; the runner makes its own of it.
    ///   - handler: takes what the runner tells; called on the runner's thread, so it must not wait.
    /// - Throws: `Failure`; no thread and no descriptor is left behind.
    public init(
        marks directory: Int32, handler: @escaping @Sendable (RunnerEvent) -> Void
    ) throws(Failure) {
        cspawn_claim_ends()
        inbox = try Inbox()
        marks = try Marks(in: directory)
        try RunnerThread.begin(inbox: inbox, marks: marks, done: done, handler: handler)
    }

    deinit { inbox.leave(.shutDown(.zero)) }

    /// Why there is no runner.
    public struct Failure: Error, Hashable, CustomStringConvertible {
        /// What could not be done, and why.
        public let description: String

        init(_ what: String, _ code: Int32) {
            description = "\(what): \(String(cString: strerror(code)))"
        }
    }

    /// Begins the runs, in this order. A run that has a mark is not begun again but told as ended,
    /// `lost(daemon)`. After a shutdown nothing is begun and nothing told.
    public func start(_ requests: [RunRequest]) {
        guard !requests.isEmpty else { return }
        inbox.leave(.start(requests))
    }

    /// Sends a signal to the process group of a run. One that still waits for its start gets it right after;
    /// for a run that has ended it is ignored.
    public func signal(_ run: Run.ID, _ number: Int32) { inbox.leave(.signal(run, number)) }

    /// Calls `done`, on the runner's thread, once every end that has come to pass by now is told. After the
    /// runner was shut down it is not called.
    public func settle(_ done: @escaping @Sendable () -> Void) { inbox.leave(.settle(done)) }

    /// The end of this run is on record: its mark is not needed any more. After a shutdown too.
    public func forget(_ run: Run.ID) {
        if !inbox.leave(.forget(run)) { marks.remove(run) }
    }

    /// Ends every run, by SIGTERM, after `grace` by SIGKILL, and then the thread. Their ends are told as
    /// usual, as `stopped`. Returns when that is done, after at most `grace` and `killPatience`; afterwards
    /// nothing is started any more. A second call may only shorten the grace. Must not be called by the
    /// handler, whose thread it waits for.
    public func shutdown(grace: Duration) {
        inbox.leave(.shutDown(grace))
        done.wait()
        // For whoever asks again.
        done.signal()
    }

    /// The names of all marks in a directory: the runs that were begun and not forgotten. Empty if it
    /// cannot be read.
    /// - Complexity: O(n) in the entries of the directory.
    public static func marks(in directory: Int32) -> Set<String> { Marks.names(in: directory) }
}

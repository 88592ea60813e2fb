// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization
public import TimerCore

/// Owns the processes of runs: starts them, reads what they write, and tells how they end.
///
/// All of it happens on one thread of its own, however many processes there are; calls only leave word for
/// it and return at once. What it tells comes on that thread, in order for each run.
///
/// Before a run is begun its mark, an empty file named after it, is made in the marks directory. It stays
/// until the run is forgotten, so that after a crash a run without a mark is known never to have begun.
public final class Runner: Sendable {
    private let inbox: Inbox
    /// Signalled when the thread has ended.
    private let done = DispatchSemaphore(value: 0)

    /// Starts the runner's thread.
    ///
    /// - Parameters:
    ///   - marks: a descriptor of the directory of marks; the runner makes its own of it.
    ///   - handler: takes what the runner tells; called on the runner's thread, so it must not wait.
    /// - Throws: `Failure`; nothing is left behind.
    public init(
        marks: Int32, handler: @escaping @Sendable (RunnerEvent) -> Void
    ) throws(Failure) {
        inbox = try Inbox()
        let directory = fcntl(marks, F_DUPFD_CLOEXEC, 3)
        guard directory >= 0 else {
            throw Failure("cannot keep the directory of marks open", errno)
        }
        try RunnerThread.begin(inbox: inbox, marks: directory, done: done, handler: handler)
    }

    /// Why there is no runner.
    public struct Failure: Error, Hashable, CustomStringConvertible {
        /// What could not be done, and why.
        public let description: String

        init(_ what: String, _ code: Int32) {
            description = "\(what): \(String(cString: strerror(code)))"
        }
    }

    /// Begins the runs, in this order.
    public func start(_ requests: [RunRequest]) {
        guard !requests.isEmpty else { return }
        inbox.leave(.start(requests))
    }

    /// Sends a signal to the process group of a run that lives; any other is ignored.
    public func signal(_ run: Run.ID, _ number: Int32) { inbox.leave(.signal(run, number)) }

    /// Calls `done`, on the runner's thread, once every end that has come to pass by now is told. After the
    /// runner was shut down it is not called.
    public func settle(_ done: @escaping @Sendable () -> Void) { inbox.leave(.settle(done)) }

    /// The end of this run is on record: its mark is not needed any more.
    public func forget(_ run: Run.ID) { inbox.leave(.forget(run)) }

    /// Ends every run, by SIGTERM, after `grace` by SIGKILL, and then the thread. Their ends are told as
    /// usual, as `stopped`. Returns when that is done; afterwards nothing is started any more.
    public func shutdown(grace: Duration) {
        inbox.leave(.shutDown(grace))
        done.wait()
        // For whoever asks again.
        done.signal()
    }

    /// The names of all marks in a directory: the runs that were begun and not forgotten.
    public static func marks(in directory: Int32) -> Set<String> {
        // Through a descriptor of its own, since closedir(3) closes it.
        let copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0, let listing = fdopendir(copy) else { return [] }
        defer { closedir(listing) }
        var names: Set<String> = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.insert(name) }
        }
        return names
    }
}

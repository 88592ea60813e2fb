// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import Synchronization
import TimerCore

/// What the runner's thread is to do, left for it by others.
final class Inbox: Sendable {
    enum Word: Sendable {
        case start([Preparation])
        case signal(Run.ID, Int32)
        case end(Run.ID, grace: Duration)
        case suspend(Run.ID)
        case resume(Run.ID)
        case settle(@Sendable () -> Void)
        case shutDown(Duration)
    }

    private struct State {
        var words: [Word] = []
        /// The thread has ended and takes nothing more.
        var isClosed = false
    }

    /// Readable while there is something; an eventfd(2).
    let descriptor: Int32
    private let state = Mutex(State())

    init() throws(Runner.Failure) {
        descriptor = cspawn_eventfd()
        guard descriptor >= 0 else { throw Runner.Failure("cannot make an eventfd", errno) }
    }

    deinit { Glibc.close(descriptor) }

    /// Leaves word and returns at once.
    /// - Returns: false if the thread has ended; the word is not taken then.
    @discardableResult
    func leave(_ word: Word) -> Bool {
        let count: Int? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.words.append(word)
            return state.words.count
        }
        guard let count else { return false }
        // Whoever left the first word since they were taken has rung already.
        if count == 1 { EventFD.ring(descriptor) }
        return true
    }

    /// Takes everything there is, in the order it was left.
    func take() -> [Word] {
        EventFD.hush(descriptor)
        return state.withLock { state in
            defer { state.words = [] }
            return state.words
        }
    }

    /// Nothing is left here any more; what is there is nobody's.
    func close() { state.withLock { $0 = State(isClosed: true) } }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import EtcdClient
import Glibc
import HostThreads
import Synchronization

/// What one thread has to do, which waits for it without using the processor.
final class WorkQueue<Work: Sendable>: Sendable {
    private struct State {
        var work: [Work] = []
        var isClosed = false
        /// Ends the call for which the thread waits; nil if there is none.
        var canceller: EtcdCanceller?
    }

    private let descriptor: Int32
    private let state = Mutex(State())

    /// - Throws: `StartFailure` if this process has no free descriptor.
    init() throws(StartFailure) {
        descriptor = EventFD.make()
        guard descriptor >= 0 else { throw StartFailure("cannot make an eventfd", errno) }
    }

    deinit { Glibc.close(descriptor) }

    /// Adds work for the thread, and wakes it.
    func post(_ work: Work) {
        state.withLock { $0.work.append(work) }
        EventFD.signal(descriptor)
    }

    /// Puts this work in the place of what is waiting, and ends what the thread does now.
    ///
    /// - Returns: what was waiting.
    func replace(with work: Work) -> [Work] {
        defer { EventFD.signal(descriptor) }
        return state.withLock { state in
            defer { state.work = [work] }
            state.canceller?.cancel()
            return state.work
        }
    }

    /// Removes what is waiting and not needed any more.
    func removeAll(where isUseless: (Work) -> Bool) {
        state.withLock { $0.work.removeAll(where: isUseless) }
    }

    /// Ends the thread, and at once what it waits for.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.work = []
            state.canceller?.cancel()
        }
        EventFD.signal(descriptor)
    }

    /// Makes `sleep` return.
    func wake() { EventFD.signal(descriptor) }

    // MARK: - For the thread

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Whether other work waits, or the thread must end.
    var hasWork: Bool { state.withLock { $0.isClosed || !$0.work.isEmpty } }

    /// Waits for work. Nil: the thread must end.
    func next() -> Work? {
        while true {
            let (work, isClosed) = state.withLock { state in
                (state.work.isEmpty ? nil : state.work.removeFirst(), state.isClosed)
            }
            if isClosed { return nil }
            if let work { return work }
            sleep()
        }
    }

    /// Waits until the descriptor is signalled, as by `post` and `wake`.
    func sleep() {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&wanted, 1, -1)
        EventFD.drain(descriptor)
    }

    /// Names what ends the calls of the thread. It is cancelled at once if the queue was closed.
    func use(_ canceller: EtcdCanceller) {
        let isClosed = state.withLock { state in
            state.canceller = canceller
            return state.isClosed
        }
        if isClosed { canceller.cancel() }
    }
}

/// Why the program cannot start, as a sentence.
struct StartFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    /// A failure with the text of an errno.
    init(_ what: String, _ code: Int32) {
        description = "\(what): \(String(cString: strerror(code)))"
    }
}

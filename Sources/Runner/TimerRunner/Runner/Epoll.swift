// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc

/// An epoll(7) that says which descriptors can be read.
struct Epoll {
    /// What a descriptor belongs to.
    enum Source: Hashable {
        /// The mailbox of the thread.
        case mailbox
        /// The descriptor that reports that children have ended.
        case ends
        /// A descriptor of the child with this serial number, which is at least 1.
        case child(UInt64, Part)

        /// The number that the kernel keeps. Its two lowest bits are the part of the child.
        var token: UInt64 {
            switch self {
            case .mailbox: 0
            case .ends: .max
            case .child(let serial, let part): serial << 2 | part.rawValue
            }
        }

        init(token: UInt64) {
            switch token {
            case 0: self = .mailbox
            case .max: self = .ends
            default: self = .child(token >> 2, Part(rawValue: token & 3) ?? .process)
            }
        }
    }

    /// What of a child is ready.
    enum Part: UInt64, CaseIterable {
        /// Its process has ended.
        case process
        case output
        case error
        /// `timerd-session` has reported something.
        case reports

        /// Standard output or standard error, by the index of the stream.
        static func stream(_ index: Int) -> Part { index == 0 ? .output : .error }
    }

    private let descriptor: Int32
    private var events = [epoll_event](repeating: epoll_event(), count: 256)

    init() throws(Runner.Failure) {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw Runner.Failure("cannot make an epoll", errno) }
    }

    /// Reports a descriptor when there is something to read. False, with errno set, on an error.
    func watch(_ watched: Int32, as source: Source) -> Bool {
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: source.token))
        return epoll_ctl(descriptor, EPOLL_CTL_ADD, watched, &event) == 0
    }

    /// Does not report a descriptor any more.
    func ignore(_ watched: Int32) { epoll_ctl(descriptor, EPOLL_CTL_DEL, watched, nil) }

    /// Waits until something is ready.
    ///
    /// - Parameter milliseconds: how long at most; -1 for no limit.
    /// - Returns: how many sources are ready, which `source(at:)` returns; and whether these are all.
    mutating func wait(_ milliseconds: Int32) -> (count: Int, areAll: Bool) {
        let count = Int(epoll_wait(descriptor, &events, Int32(events.count), milliseconds))
        return (max(0, count), count >= 0 && count < events.count)
    }

    /// A source that was ready at the last `wait`.
    func source(at index: Int) -> Source { Source(token: events[index].data.u64) }

    /// Makes the kernel's descriptor table of this process large enough for `descriptorsReady`. The
    /// kernel doubles the table when it is full, and if threads share it, each time waits until no
    /// processor can still be using the old one (Linux, fs/file.c: expand_fdtable, synchronize_rcu).
    /// That takes 10 ms and more, during the start of the first large burst of runs.
    func preallocateFDTable() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let count = min(limit.rlim_cur, Self.descriptorsReady)
        let last = fcntl(descriptor, F_DUPFD_CLOEXEC, Int32(count) - 1)
        if last >= 0 { Glibc.close(last) }
    }

    /// Enough for 1300 active runs, with their pipes and pidfds.
    private static let descriptorsReady: rlim_t = 4096

    func close() { Glibc.close(descriptor) }
}

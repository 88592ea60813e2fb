// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerRunnerProtocol

/// Waits for the runner and for commands.
extension ClientLoop {
    mutating func wait() {
        guard !hasFrames else { return }
        var wanted = [pollfd(fd: mailbox.descriptor, events: Int16(POLLIN), revents: 0)]
        var time: Int32 = -1
        if let descriptor = socket?.descriptor {
            let events = (socket?.backlog ?? 0) > 0 ? POLLIN | POLLOUT : POLLIN
            wanted.append(pollfd(fd: descriptor, events: Int16(events), revents: 0))
        } else if !isEnding {
            time = search.timeout
            wanted.append(pollfd(fd: search.descriptor, events: Int16(POLLIN), revents: 0))
        }
        // Events are recorded soon, and their acknowledgement is not urgent, so one iteration sends
        // all of them.
        if hasDelivered, time < 0 { time = RunnerClient.acknowledgementDelay }
        let isWritten = socket?.backlog == 0
        let way = mailbox.expect(
            shortly: hasDelivered, gathering: isWritten && wantsToGather,
            socket: isWritten ? socket?.descriptor : nil, room: room)
        guard let way else { return }
        hasDelivered = false
        if way == .gathering {
            hasGathered = true
            // poll(2) still reports that the runner is gone.
            wanted[1].events = 0
            time = Int32(clamping: gathering.wholeNanoseconds / 1_000_000)
        }
        _ = poll(&wanted, nfds_t(wanted.count), time)
        if socket == nil, wanted.count > 1, wanted[1].revents != 0 { search.handleChange() }
    }

    /// Says that everything was reported that was left in the socket.
    mutating func noteRead() {
        for done in readers { done() }
        readers = []
        guard hasGathered else { return }
        hasGathered = false
        let count = mailbox.gatheringCount
        handler(.gathered) { [mailbox] in mailbox.noteHandled(gatherings: count) }
    }

    /// Whether so many runs end that reporting them together is worth it: each wake-up of this
    /// thread and of those that handle an end costs more than the end. Output is not kept waiting
    /// if there is much, and no answer of the runner is.
    private var wantsToGather: Bool {
        guard barriers.isEmpty, prepared == nil, down == nil, !isEnding else { return false }
        let now = Self.now
        return ends.isFast(at: now) && !lines.isFast(at: now)
    }

    static var now: AwakeInstant { AwakeInstant(nanoseconds: RunnerClock.awake()) }
}

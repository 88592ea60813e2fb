// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol
@testable import TimerRunnerClient

/// Whatever is posted wakes the thread, once until it takes all of it.
@Suite struct ClientMailboxTests {
    private let run = Run.ID(
        firing: Firing.ID(
            job: Job.Name("probe")!, scheduled: WallInstant(microsecondsSinceEpoch: 0)), attempt: 1)

    private func isRung(_ mailbox: ClientMailbox) -> Bool {
        var wanted = pollfd(fd: mailbox.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&wanted, 1, 0) == 1
    }

    @Test func eachMessageWakesTheThreadThatHasTakenTheOnesBefore() throws {
        let mailbox = try ClientMailbox()
        #expect(!isRung(mailbox))
        for round in UInt64(1)...3 {
            mailbox.post(.forget(run))
            #expect(isRung(mailbox))
            mailbox.seen(output: round, of: 1)
            mailbox.seen(events: 2 * round, of: 1)
            let taken = mailbox.drain()
            #expect(taken.commands.count == 1)
            #expect(taken.seen == [1: ClientMailbox.Seen(events: 2 * round, output: round)])
            #expect(!isRung(mailbox))
            mailbox.seen(output: round, of: 2)
            #expect(isRung(mailbox))
            #expect(mailbox.drain().seen.keys.sorted() == [2])
        }
    }
}

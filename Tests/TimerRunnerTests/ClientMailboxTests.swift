// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol
@testable import TimerRunnerClient

/// Commands that are not urgent are posted without waking the thread, and are never left in the
/// mailbox.
@Suite struct ClientMailboxTests {
    private let run = Run.ID(
        firing: Firing.ID(
            job: Job.Name("probe")!, scheduled: WallInstant(microsecondsSinceEpoch: 0)), attempt: 1)

    private func isRung(_ mailbox: ClientMailbox) -> Bool {
        var wanted = pollfd(fd: mailbox.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&wanted, 1, 0) == 1
    }

    @Test func aCommandThatIsNotUrgentDoesNotWakeAThreadThatWillCheckSoon() throws {
        let mailbox = try ClientMailbox()
        #expect(mailbox.expect(shortly: true) == .reading)
        mailbox.post(.forget(run), hasTime: true)
        mailbox.seen(output: 7, of: 1)
        #expect(!isRung(mailbox))
        let taken = mailbox.take()
        #expect(
            taken.commands.count == 1 && taken.seen == [1: ClientMailbox.Seen(events: 0, output: 7)]
        )
    }

    @Test func anUrgentCommandDeliversTheOthersToo() throws {
        let mailbox = try ClientMailbox()
        #expect(mailbox.expect(shortly: true) == .reading)
        mailbox.post(.forget(run), hasTime: true)
        mailbox.post(.refresh)
        #expect(isRung(mailbox))
        #expect(mailbox.take().commands.count == 2)
        #expect(!isRung(mailbox))
    }

    @Test func aThreadThatWaitsWithoutLimitIsWoken() throws {
        let mailbox = try ClientMailbox()
        mailbox.post(.forget(run), hasTime: true)
        #expect(isRung(mailbox))
        _ = mailbox.take()
        #expect(mailbox.expect(shortly: false) == .reading)
        mailbox.seen(output: 7, of: 1)
        #expect(isRung(mailbox))
    }

    @Test func aThreadGathersOnlyWithPermission_whichIsTakenBackAtOnce() throws {
        let mailbox = try ClientMailbox()
        #expect(mailbox.expect(shortly: false, gathering: true) == .reading)
        mailbox.gather(true)
        #expect(mailbox.expect(shortly: false) == .reading && !mailbox.gathersEnds)
        // A thread that reads anyway is not woken.
        mailbox.gather(false)
        mailbox.gather(true)
        #expect(!isRung(mailbox))
        #expect(mailbox.expect(shortly: false, gathering: true) == .gathering)
        // It will look soon.
        mailbox.post(.forget(run), hasTime: true)
        #expect(!isRung(mailbox))
        mailbox.gather(false)
        #expect(isRung(mailbox))
        // Until they are handled, it is not known which runs have ended.
        #expect(mailbox.take().commands.count == 1 && mailbox.gathersEnds)
        mailbox.noteHandled(gatherings: mailbox.gatheringCount)
        #expect(!mailbox.gathersEnds)
    }

    @Test func aThreadDoesNotWaitWithoutLimitWhileACommandIsPending() throws {
        let mailbox = try ClientMailbox()
        #expect(mailbox.expect(shortly: true) == .reading)
        mailbox.post(.forget(run), hasTime: true)
        #expect(mailbox.expect(shortly: false) == nil)
        #expect(mailbox.take().commands.count == 1)
        #expect(mailbox.expect(shortly: false) == .reading)
    }
}

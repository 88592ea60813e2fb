// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol
@testable import TimerRunnerClient

/// What has time is said without waking anybody for it, and is never left lying.
@Suite struct PostTests {
    private let run = Run.ID(
        firing: Firing.ID(
            job: Job.Name("probe")!, scheduled: WallInstant(microsecondsSinceEpoch: 0)), attempt: 1)

    private func isRung(_ post: ClientPost) -> Bool {
        var wanted = pollfd(fd: post.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&wanted, 1, 0) == 1
    }

    @Test func whatHasTimeRingsNobodyWhoLooksShortly() throws {
        let post = try ClientPost()
        #expect(post.expect(shortly: true))
        post.leave(.forget(run), hasTime: true)
        post.seen(output: 7, of: 1)
        #expect(!isRung(post))
        let (words, seen) = post.take()
        #expect(words.count == 1 && seen == [1: ClientPost.Seen(events: 0, output: 7)])
    }

    @Test func whatHasNoneTakesItAlong() throws {
        let post = try ClientPost()
        #expect(post.expect(shortly: true))
        post.leave(.forget(run), hasTime: true)
        post.leave(.refresh)
        #expect(isRung(post))
        #expect(post.take().words.count == 2)
        #expect(!isRung(post))
    }

    @Test func whoeverWouldWaitForEverIsRung() throws {
        let post = try ClientPost()
        post.leave(.forget(run), hasTime: true)
        #expect(isRung(post))
        _ = post.take()
        #expect(post.expect(shortly: false))
        post.seen(output: 7, of: 1)
        #expect(isRung(post))
    }

    @Test func nobodyWaitsForEverWhileSomethingIsThereUnrung() throws {
        let post = try ClientPost()
        #expect(post.expect(shortly: true))
        post.leave(.forget(run), hasTime: true)
        #expect(!post.expect(shortly: false))
        #expect(post.take().words.count == 1)
        #expect(post.expect(shortly: false))
    }
}

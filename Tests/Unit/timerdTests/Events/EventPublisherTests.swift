// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import Logging
import NIOCore
import Synchronization
import Testing
import TimerControl
import TimerCore

@testable import TimerLog

/// Counts, on any thread.
final class Counter: Sendable {
    private let number = Atomic(0)
    func add() { number.wrappingAdd(1, ordering: .relaxed) }
    var count: Int { number.load(ordering: .relaxed) }
}

/// What the readers of a publisher get, without connections.
@Suite struct EventPublisherTests {
    /// A reader that takes what is sent to it, or does not.
    private final class Reader: Sendable {
        private struct State {
            var reader = ServerSentEventReader()
            var messages: [ServerSentEvent] = []
            var frames: [EventsFrame] = []
            var numbers: [UInt64] = []
            var parts = 0
            var isEnded = false
        }
        private let state = Mutex(State())
        private let arrived = DispatchSemaphore(value: 0)

        func take(_ part: ByteBuffer, _ isLast: Bool) {
            state.withLock { state in
                for message in (try? state.reader.add(Array(part.readableBytesView)[...])) ?? [] {
                    state.messages.append(message)
                    guard message.event == "events",
                        let frame = try? ControlJSON.decode(EventsFrame.self, from: message.data)
                    else { continue }
                    state.frames.append(frame)
                    state.numbers += frame.events.map(\.number)
                }
                state.parts += 1
                state.isEnded = isLast
            }
            arrived.signal()
        }

        var isEnded: Bool { state.withLock { $0.isEnded } }
        var parts: Int { state.withLock { $0.parts } }
        var messages: [ServerSentEvent] { state.withLock { $0.messages } }
        var frames: [EventsFrame] { state.withLock { $0.frames } }
        var numbers: [UInt64] { state.withLock { $0.numbers } }

        /// Waits for further parts until this is so; false after two minutes. On a slow machine there
        /// may be comments among the parts.
        func wait(until isSo: () -> Bool) -> Bool {
            let end = DispatchTime.now() + .seconds(120)
            while !isSo() {
                guard arrived.wait(timeout: end) == .success else { return isSo() }
            }
            return true
        }
    }

    private let feed = EventFeed()
    private let publisher: EventPublisher
    private let asked = Counter()

    init() {
        let (feed, asked) = (feed, asked)
        publisher = EventPublisher(
            feed: feed, instance: "i", awake: { Self.awake },
            wall: { WallInstant(secondsSinceEpoch: 0) }
        ) { _, done in
            asked.add()
            // No job is known.
            done([])
        }
    }

    private static var awake: AwakeInstant {
        AwakeInstant(nanoseconds: Int64(DispatchTime.now().uptimeNanoseconds))
    }

    private func add(_ jobs: [String]) {
        for job in jobs {
            feed.append(
                RecordedEvent(
                    content: .notice(.finished(Job.Name(job)!, firesAtBoot: false, after: nil)),
                    time: WallInstant(secondsSinceEpoch: 0)))
        }
    }

    /// - Parameter isTaking: whether it takes what is sent to it.
    private func follow(
        _ query: EventQuery = EventQuery(), isTaking: Bool = true
    ) async -> (EventPublisher.ID, Reader) {
        let reader = Reader()
        let publisher = publisher
        let id = await withCheckedContinuation { continuation in
            publisher.later { publisher in
                let id = publisher.admit(query, guest: nil).id ?? 0
                publisher.begin(id) { part, isLast in
                    reader.take(part, isLast)
                    publisher.later { publisher in
                        if isLast {
                            publisher.leave(id)
                        } else if isTaking {
                            publisher.noteTaken(id)
                        }
                    }
                }
                continuation.resume(returning: id)
            }
        }
        return (id, reader)
    }

    @Test func aStreamBeginsWithHello_andHasEachEventOnce() async throws {
        add(["a", "a", "b"])
        let (_, reader) = await follow(EventQuery(start: .after(1)))
        #expect(reader.wait { reader.numbers.count == 2 })
        let hello = try #require(reader.messages.first)
        #expect(hello.event == "hello" && hello.id == "3")
        let said = try ControlJSON.decode(EventsHello.self, from: hello.data)
        #expect(said == EventsHello(instance: "i", number: 3))
        for _ in 0..<50 { add(["c"]) }
        #expect(reader.wait { reader.numbers.count == 52 })
        #expect(reader.numbers == Array(2...53))
        #expect(reader.messages.last?.id == "53")
        #expect(reader.frames.last?.removedJobs == ["c"])
    }

    @Test func aStreamThatDoesNotFollowEnds() async {
        add(["a", "b", "a"])
        for (start, job, numbers) in [
            (EventQuery.Start.last(2), nil, [2, 3]), (.last(9), "a", [1, 3]), (.after(3), nil, []),
            (.now, nil, []), (.last(0), nil, []), (.after(2), "b", []),
        ] as [(EventQuery.Start, String?, [UInt64])] {
            let query = EventQuery(start: start, job: job.map { Job.Name($0)! }, follows: false)
            let (_, reader) = await follow(query)
            #expect(reader.wait { reader.isEnded })
            #expect(reader.numbers == numbers, "\(query)")
        }
    }

    @Test func aReaderThatTakesNothingLosesEvents_andOthersDoNot() async throws {
        let (slow, deaf) = await follow(isTaking: false)
        let (_, reader) = await follow()
        #expect(deaf.wait { deaf.parts == 1 })
        for _ in 0..<10 {
            add(Array(repeating: "a", count: 500))
            #expect(reader.wait { reader.numbers.last == feed.newest })
        }
        #expect(reader.numbers == Array(1...5000))
        #expect(deaf.parts == 1)
        // It goes on with what there is.
        publisher.later { $0.noteTaken(slow) }
        #expect(deaf.wait { deaf.parts == 2 })
        let gap = try #require(deaf.messages.first { $0.event == "gap" })
        #expect(
            try ControlJSON.decode(EventsGap.self, from: gap.data)
                == EventsGap(after: 0, nextNumber: 905))
        #expect(gap.id == "904")
        #expect(deaf.numbers == Array(905..<905 + 512))
    }

    @Test func readersAtTheSamePlaceCostAsMuchAsOne() async {
        var readers: [Reader] = []
        for _ in 0..<8 { readers.append(await follow().1) }
        for reader in readers { #expect(reader.wait { reader.parts >= 1 }) }
        let before = asked.count
        add(["a"])
        for reader in readers { #expect(reader.wait { reader.numbers == [1] }) }
        // One look at the job for each time that some of them were ready.
        #expect(asked.count - before <= 8)
        let refusal = await withCheckedContinuation { continuation in
            publisher.later { publisher in
                continuation.resume(returning: publisher.admit(EventQuery(), guest: nil).refusal)
            }
        }
        #expect(refusal?.contains("8 readers") == true)
    }

    @Test func aStopEndsAllStreamsBehindTheLastEvent() async {
        let (_, first) = await follow()
        let (_, second) = await follow(EventQuery(job: Job.Name("other")!))
        add(["a", "b"])
        let publisher = publisher
        await withCheckedContinuation { continuation in
            publisher.later { $0.close { continuation.resume() } }
        }
        #expect(first.isEnded && second.isEnded)
        #expect(first.numbers == [1, 2] && second.numbers == [])
        let refusal = await withCheckedContinuation { continuation in
            publisher.later { publisher in
                continuation.resume(returning: publisher.admit(EventQuery(), guest: nil).refusal)
            }
        }
        #expect(refusal == "the daemon is stopping")
    }

    @Test func anEventAboutAllJobsHasThemListed() async {
        let (_, reader) = await follow()
        let time = WallInstant(secondsSinceEpoch: 0)
        let names = (0..<2000).map { Job.Name("job\($0)")! }
        for notice in [
            Notice.clockStepped(by: .seconds(7200), isCorrection: false), .zonesChanged(names),
            .reloaded(added: names, changed: [], removed: [], kept: 0),
        ] {
            feed.append(RecordedEvent(content: .notice(notice), time: time))
            let number = feed.newest
            #expect(reader.wait { reader.numbers.last == number })
            #expect(reader.frames.last?.relist == true)
        }
        add(["a"])
        #expect(reader.wait { reader.numbers.last == 4 })
        #expect(reader.frames.last?.relist == nil)
    }
}

/// Each kind of event as it is sent.
@Suite struct RecordedEventTests {
    private let run = Run.ID("a:20261118T060001.000000Z:1")!
    private let time = WallInstant(rfc3339: "2026-11-18T06:00:01.5Z")!

    @Test func whatItSays() {
        let ended = RecordedEvent(
            content: .notice(.runEnded(run, .exited(3), RunUsage(), failed: true)), time: time)
        let status = ended.status(7)
        #expect(status.event == "run-ended" && status.job == "a" && status.level == "error")
        #expect(status.run == run.description && status.number == 7)
        #expect(status.time == "2026-11-18T06:00:01.500000Z")
        #expect(status.message.hasPrefix("a: run \(run) failed"))
        let part = RecordedEvent(
            content: .notice(
                .resumed(
                    run.firing.job, from: Pause(since: time, by: .user("ann")), by: .user("eve"),
                    accrued: .zero, remaining: nil)),
            time: time, isPart: true)
        #expect(part.status(1).level == "info" && part.status(1).run == nil)
        let notice = RecordedEvent(
            content: .daemonNotice(.oneOffCancelled(run.firing.job, by: "eve")), time: time)
        #expect(notice.status(1).event == "one-off-cancelled" && notice.status(1).job == "a")
        let other = RecordedEvent(
            content: .ofRun(run, word: "output-slowed", level: .notice, message: "a: slow"),
            time: time)
        #expect(other.status(1).event == "output-slowed" && other.job == run.firing.job)
    }

    /// What people write is text, whatever is in it.
    @Test func aNoteBeginsNoLineAndNoMessage() throws {
        let pause = Pause(
            since: time, by: .user("eve"), note: "a\r\n\ndata: {}\n\n\u{1b}[31m\u{202e}</script>")
        let event = RecordedEvent(
            content: .notice(.paused(run.firing.job, pause, accrued: .zero, remaining: nil)),
            time: time)
        let frame = EventsFrame(events: [event.status(1)], jobs: [], now: "")
        let bytes = ServerSentEvent.bytes(
            event: "events", id: 1, data: try ControlJSON.encode(frame))
        var reader = ServerSentEventReader()
        let messages = try reader.add(bytes[...])
        #expect(messages.count == 1)
        #expect(try ControlJSON.decode(EventsFrame.self, from: messages[0].data) == frame)
        let text = try #require(frame.events.first?.message)
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202e })
    }
}

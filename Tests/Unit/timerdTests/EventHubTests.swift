// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing
import TimerControl

@testable import TimerHTTP
@testable import TimerWeb

/// A daemon with events, as the hub sees it.
private final class FakeDaemon: EventHub.Source {
    private struct State {
        var instance = "one"
        var events: [UInt64] = []
        var unknown: Set<Credentials> = []
        var isAway = false
        var common = 0
        /// Each stream that is open ends when this number changes.
        var generation = 0
    }

    private let state = Mutex(State())

    /// How many streams without an end were asked for.
    var commonStreams: Int { state.withLock { $0.common } }

    func happen(_ number: UInt64) { state.withLock { $0.events.append(number) } }
    func forget(_ credentials: Credentials) {
        _ = state.withLock { $0.unknown.insert(credentials) }
    }
    /// As the daemon ends each stream after a while.
    func endStreams() { state.withLock { $0.generation += 1 } }
    func setAway(_ isAway: Bool) {
        state.withLock { state in
            state.isAway = isAway
            state.generation += 1
        }
    }
    /// As when the daemon was restarted.
    func restart() {
        state.withLock { state in
            state.instance = "two"
            state.events = []
            state.generation += 1
        }
    }

    func isKnown(_ credentials: Credentials) -> Bool? {
        state.withLock { $0.isAway ? nil : !$0.unknown.contains(credentials) }
    }

    private static func message(_ number: UInt64) -> ServerSentEvent {
        ServerSentEvent(event: "events", id: "\(number)", data: Array("{\"n\":\(number)}".utf8))
    }

    func stream(
        _ query: EventQuery, _ credentials: Credentials, each: (ServerSentEvent) -> Bool
    ) -> Result<ControlClient.StreamEnd, ControlClient.Failure> {
        guard isKnown(credentials) == true else { return .failure(.noDaemon("away")) }
        let (instance, newest, generation) = state.withLock { state in
            if query.follows { state.common += 1 }
            return (state.instance, state.events.last ?? 0, state.generation)
        }
        let hello = EventsHello(instance: instance, number: newest)
        let data = (try? ControlJSON.encode(hello)) ?? []
        guard each(ServerSentEvent(event: "hello", id: "\(newest)", data: data)) else {
            return .success(.stopped)
        }
        var sent =
            switch query.start {
            case .now: newest
            case .after(let number): number
            case .last(let count): newest - min(newest, UInt64(count))
            }
        while true {
            let (next, isOver, isAway) = state.withLock { state in
                (
                    state.events.filter { $0 > sent && (query.follows || $0 <= newest) },
                    state.generation != generation, state.isAway
                )
            }
            for number in next {
                guard each(Self.message(number)) else { return .success(.stopped) }
                sent = number
            }
            if isAway { return .failure(.broken("away")) }
            if !query.follows || isOver { return .success(.complete) }
            usleep(1000)
        }
    }
}

/// A browser that follows the events.
private final class Browser: Sendable {
    private struct State {
        var text = ""
        var isEnded = false
    }

    private let state = Mutex(State())
    private let stream: AnswerStream?
    private let takes: Bool

    /// - Parameter takes: whether it takes what is sent.
    init(_ hub: EventHub, _ query: EventQuery = EventQuery(), key: String = "a", takes: Bool = true)
    {
        self.takes = takes
        stream = hub.follow(query, .session(key)).stream
        stream?.begin { [self] part, isLast in
            state.withLock { state in
                state.text += String(decoding: part.readableBytesView, as: UTF8.self)
                if isLast { state.isEnded = true }
            }
            if takes, !isLast { stream?.taken() }
        }
    }

    var isFollowing: Bool { stream != nil }
    var isEnded: Bool { state.withLock { $0.isEnded } }
    var isGreeted: Bool { state.withLock { $0.text.contains("event: hello") } }

    /// The numbers of the events that it got.
    var numbers: [UInt64] {
        state.withLock { state in
            state.text.components(separatedBy: "{\"n\":").dropFirst().compactMap { part in
                UInt64(part.prefix { $0.isNumber })
            }
        }
    }

    func leave() { stream?.end() }
}

/// One stream of the daemon for all browsers.
@Suite struct EventHubTests {
    private let daemon = FakeDaemon()
    private let hub: EventHub

    init() {
        hub = EventHub(source: daemon, loop: MultiThreadedEventLoopGroup.singleton.next())
    }

    private func wait(_ isSo: () -> Bool) -> Bool {
        let end = Date(timeIntervalSinceNow: 60)
        while Date() < end {
            if isSo() { return true }
            usleep(1000)
        }
        return isSo()
    }

    @Test func allBrowsersShareOneStream_andEachGetsEverythingOnce() {
        defer { daemon.endStreams() }
        for number in 1...5 { daemon.happen(UInt64(number)) }
        let new = Browser(hub)
        #expect(wait { new.isGreeted } && new.numbers.isEmpty)
        let others = [
            Browser(hub, EventQuery(start: .after(2)), key: "b"),
            Browser(hub, EventQuery(start: .last(4)), key: "c"), Browser(hub, key: "a"),
        ]
        #expect(wait { others.allSatisfy { $0.isGreeted } })
        for number in 6...300 {
            daemon.happen(UInt64(number))
            if number % 100 == 0 { daemon.endStreams() }
        }
        let expected: [[UInt64]] = [Array(6...300), Array(3...300), Array(2...300), Array(6...300)]
        for (browser, numbers) in zip([new] + others, expected) {
            #expect(wait { browser.numbers.count >= numbers.count })
            #expect(browser.numbers == numbers && !browser.isEnded)
        }
        // One, and one more each time the daemon ended it.
        #expect(daemon.commonStreams <= 4)
        for browser in [new] + others { browser.leave() }
        #expect(hub.count == 0)
    }

    @Test func aSessionThatHasEndedGetsNoMore_andTheOthersGoOn() {
        defer { daemon.endStreams() }
        let first = Browser(hub, key: "a")
        let second = Browser(hub, key: "b")
        #expect(wait { first.isGreeted && second.isGreeted })
        daemon.forget(.session("a"))
        daemon.endStreams()
        #expect(wait { first.isEnded })
        daemon.happen(1)
        #expect(wait { second.numbers == [1] } && first.numbers.isEmpty && !second.isEnded)
        second.leave()
    }

    @Test func whenTheDaemonIsAwayTheStreamsEnd_andTheNextOnesBegin() {
        defer { daemon.endStreams() }
        let first = Browser(hub)
        #expect(wait { first.isGreeted })
        daemon.setAway(true)
        #expect(wait { first.isEnded && hub.count == 0 })
        let early = Browser(hub)
        #expect(wait { early.isEnded })
        daemon.setAway(false)
        let second = Browser(hub)
        #expect(wait { second.isGreeted })
        daemon.restart()
        #expect(wait { second.isEnded })
        let third = Browser(hub)
        #expect(wait { third.isGreeted })
        daemon.happen(1)
        #expect(wait { third.numbers == [1] })
        third.leave()
    }

    @Test func aBrowserThatTakesNothingDelaysNoOther() {
        defer { daemon.endStreams() }
        let deaf = Browser(hub, takes: false)
        let other = Browser(hub)
        #expect(wait { deaf.isGreeted && other.isGreeted })
        for number in 1...200 { daemon.happen(UInt64(number)) }
        #expect(wait { other.numbers.count == 200 } && deaf.numbers.isEmpty)
        deaf.leave()
        other.leave()
    }

    @Test func thereIsALimitOfBrowsers_andOfWhatTheyMayAsk() {
        defer { daemon.endStreams() }
        let browsers = (0..<EventHub.readersMax).map { _ in Browser(hub) }
        #expect(browsers.allSatisfy { $0.isFollowing })
        #expect(!Browser(hub).isFollowing)
        #expect(hub.follow(EventQuery(follows: false), .session("a")).status == .badRequest)
        for browser in browsers { browser.leave() }
        let last = Browser(hub)
        #expect(last.isFollowing)
        last.leave()
    }
}

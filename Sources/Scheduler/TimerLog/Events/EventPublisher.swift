// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
package import HostQueues
package import NIOCore
package import TimerControl
package import TimerCore

/// Sends the events to those who follow them, on a queue of its own: it makes the messages, and waits for each reader
/// to take one before it makes the next. A slow reader gets fewer and longer messages, and a gap where it was too slow.
package actor EventPublisher: QueueActor {
    /// The most events of one message.
    static let eventsMax = 512
    /// The most jobs in a message; if more have changed, the message says that all must be listed again.
    static let jobsMax = 1024
    /// How long it waits after making messages, as a multiple of the time that took: most of the CPU time is left for
    /// runs.
    static let rest = 4

    package nonisolated let executor = QueueExecutor(label: "timerd.events", qos: .utility)
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Collects the states of some jobs; those that are not configured are left out.
    package typealias Gather =
        @Sendable (
            _ jobs: [Job.Name], _ done: @escaping @Sendable ([JobSnapshot]) -> Void
        ) -> Void
    package typealias ID = EventReaders.ID
    /// Sends a part of the stream; the last one ends it.
    package typealias Send = @Sendable (_ part: ByteBuffer, _ isLast: Bool) -> Void

    private let feed: EventFeed
    private let instance: String
    private let awake: @Sendable () -> AwakeInstant
    private let wall: @Sendable () -> WallInstant
    private let gather: Gather
    private var readers = EventReaders()
    private var sends: [ID: Send] = [:]
    private var isBuilding = false
    private var isWaiting = false
    private var restsUntil: AwakeInstant?
    private var timer: (any DispatchSourceTimer)?
    private var whenClosed: (@Sendable () -> Void)?
    private var isClosed = false

    /// - Parameters:
    ///   - instance: identifies this start of the daemon.
    ///   - gather: collects the states of some jobs.
    package init(
        feed: EventFeed, instance: String, awake: @escaping @Sendable () -> AwakeInstant,
        wall: @escaping @Sendable () -> WallInstant, gather: @escaping Gather
    ) {
        self.feed = feed
        self.instance = instance
        self.awake = awake
        self.wall = wall
        self.gather = gather
    }

    /// Adds a reader, to which nothing is sent before it begins.
    ///
    /// - Parameter guest: a user who may only read; nil: root or the daemon's user.
    /// - Returns: the reader, or why there must be no such reader.
    package func admit(_ query: EventQuery, guest: UInt32?) -> (id: ID?, refusal: String?) {
        guard !isClosed else { return (nil, "the daemon is stopping") }
        let newest = feed.newest
        let after =
            switch query.start {
            case .now: newest
            case .after(let number): number
            case .last(let count): feed.start(ofLast: count, of: query.job)
            }
        return readers.admit(
            EventReaders.Reader(
                guest: guest, after: after, job: query.job, last: query.follows ? nil : newest))
    }

    /// A reader begins: it gets the first message.
    package func begin(_ id: ID, _ send: @escaping Send) {
        guard readers[id] != nil else { return }
        sends[id] = send
        let newest = feed.newest
        let hello = EventsHello(instance: instance, number: newest)
        let bytes = ServerSentEvent.bytes(
            event: "hello", id: newest, data: (try? ControlJSON.encode(hello)) ?? [])
        self.send(bytes, to: id, isFrame: false)
    }

    /// A reader has taken what was sent to it.
    package func noteTaken(_ id: ID) {
        readers.noteTaken(id)
        work()
    }

    /// A reader is gone: its connection has ended.
    package func leave(_ id: ID) {
        readers.remove(id)
        sends[id] = nil
        if readers.isEmpty { stopTimer() }
        endIfDone()
    }

    /// Sends what there is to all readers and ends their streams; no others are admitted. `done` is called once when
    /// all streams have ended.
    package func close(_ done: @escaping @Sendable () -> Void) {
        isClosed = true
        whenClosed = done
        readers.end(at: feed.newest)
        endIfDone()
        work()
    }

    private func endIfDone() {
        guard isClosed, readers.isEmpty, let whenClosed else { return }
        self.whenClosed = nil
        stopTimer()
        whenClosed()
    }

    // MARK: - Sending

    /// Sends what can be sent, and finds out when to look again.
    private func work() {
        guard !isBuilding, !readers.isEmpty else { return }
        let now = awake()
        let newest = feed.newest
        for id in readers.quiet(newest: newest, at: now) {
            send(ServerSentEvent.comment, to: id, isFrame: false)
        }
        let due = isResting(at: now) ? [] : readers.due(newest: newest, at: now)
        guard due.isEmpty else { return build(due) }
        setTimer(newest: newest)
        waitForEvents(behind: newest)
    }

    private func isResting(at now: AwakeInstant) -> Bool { restsUntil.map { now < $0 } ?? false }

    private func waitForEvents(behind number: UInt64) {
        guard !isWaiting else { return }
        isWaiting = true
        let isSet = feed.wake(behind: number) {
            self.later { publisher in
                publisher.isWaiting = false
                publisher.work()
            }
        }
        guard !isSet else { return }
        isWaiting = false
        later { $0.work() }
    }

    private func setTimer(newest: UInt64) {
        guard let next = readers.nextInstant(newest: newest) else { return stopTimer() }
        let instant = max(next, restsUntil ?? next)
        let wait = max(.zero, instant - awake())
        let timer = self.timer ?? makeTimer { $0.work() }
        self.timer = timer
        timer.schedule(
            deadline: .now() + .nanoseconds(Int(clamping: wait.wholeNanoseconds)),
            leeway: .milliseconds(10))
    }

    private func stopTimer() {
        timer?.cancel()
        timer = nil
    }

    private func send(_ bytes: [UInt8], to id: ID, isFrame: Bool, isLast: Bool = false) {
        readers.noteSent(id, isFrame: isFrame, at: awake())
        sends[id]?(ByteBuffer(bytes: bytes), isLast)
    }

    // MARK: - Messages

    /// A part that is the same for several readers.
    private struct Part: Hashable {
        var after: UInt64
        var job: Job.Name?
        var last: UInt64?
    }

    /// A message for which the states of jobs are being collected.
    private struct Draft: Sendable {
        var ids: [ID]
        var excerpt: EventFeed.Ring.Excerpt
        var jobs: [Job.Name] = []
        var relist = false
    }

    private func build(_ due: [ID]) {
        isBuilding = true
        let began = awake()
        let parts = Dictionary(grouping: due) { id in
            Part(after: readers[id]?.after ?? 0, job: readers[id]?.job, last: readers[id]?.last)
        }
        let drafts = parts.map { part, ids in draft(part, ids) }
        let jobs = Set(drafts.flatMap(\.jobs)).sorted { $0.description < $1.description }
        guard !jobs.isEmpty else { return finish(drafts, [:], began: began) }
        gather(jobs) { snapshots in
            self.later { publisher in
                let known = Dictionary(snapshots.map { ($0.job.name, $0) }) { first, _ in first }
                publisher.finish(drafts, known, began: began)
            }
        }
    }

    private func draft(_ part: Part, _ ids: [ID]) -> Draft {
        var draft = Draft(
            ids: ids,
            excerpt: feed.excerpt(
                after: part.after, max: Self.eventsMax, through: part.last ?? .max))
        if let job = part.job { draft.excerpt.elements.removeAll { $0.element.job != job } }
        var jobs: Set<Job.Name> = []
        for (_, event) in draft.excerpt.elements {
            switch event.affected {
            case .all: draft.relist = true
            case .jobs(let names):
                if let job = part.job {
                    jobs.insert(job)
                } else if jobs.count + names.count <= Self.jobsMax {
                    jobs.formUnion(names)
                } else {
                    draft.relist = true
                }
            }
        }
        draft.jobs = jobs.sorted { $0.description < $1.description }
        return draft
    }

    private func finish(
        _ drafts: [Draft], _ known: [Job.Name: JobSnapshot], began: AwakeInstant
    ) {
        for draft in drafts {
            let bytes = message(of: draft, known)
            for id in draft.ids {
                readers.advance(id, through: draft.excerpt.through)
                guard let reader = readers[id] else { continue }
                if !bytes.isEmpty || reader.isComplete {
                    send(bytes, to: id, isFrame: true, isLast: reader.isComplete)
                }
            }
        }
        isBuilding = false
        let end = awake()
        restsUntil = end + (end - began) * Self.rest
        work()
    }

    /// - Returns: the bytes of the message; empty if there is nothing to send.
    private func message(of draft: Draft, _ known: [Job.Name: JobSnapshot]) -> [UInt8] {
        var bytes: [UInt8] = []
        if let gap = draft.excerpt.gap {
            bytes += ServerSentEvent.bytes(
                event: "gap", id: gap.next - 1,
                data: (try? ControlJSON.encode(
                    EventsGap(after: gap.after, nextNumber: gap.next))) ?? [])
        }
        guard let last = draft.excerpt.elements.last else { return bytes }
        let frame = EventsFrame(
            events: draft.excerpt.elements.map { $0.element.status($0.number) },
            jobs: draft.jobs.compactMap { known[$0] }.map { JobStatus($0) },
            now: wall().rfc3339Micros, relist: draft.relist ? true : nil,
            removedJobs: draft.jobs.filter { known[$0] == nil }.map(\.description))
        bytes += ServerSentEvent.bytes(
            event: "events", id: last.number, data: (try? ControlJSON.encode(frame)) ?? [])
        return bytes
    }
}

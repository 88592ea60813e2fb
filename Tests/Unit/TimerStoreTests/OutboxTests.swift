// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerStore

/// The outbox: notifications, messages and incidents.
@Suite struct OutboxTests {
    private let folder = "/tmp/timerd-outbox-\(UUID().uuidString)"
    private let store: Store
    private let ops = Notifier.Name("ops")!
    private let backup = Job.Name("backup")!

    init() throws {
        mkdir(folder, 0o700)
        store = try Store(path: "\(folder)/\(Store.fileName)")
    }

    private func clean() { try? FileManager.default.removeItem(atPath: folder) }

    private func at(_ second: Int64) -> WallInstant {
        WallInstant(secondsSinceEpoch: 1_795_000_000 + second)
    }

    private func one(_ second: Int64, _ kind: NotificationKind = .failure) -> JobNotification {
        JobNotification(notifier: ops, kind: kind, job: backup, at: at(second))
    }

    private func write(_ changes: Store.Change...) throws {
        try store.commit(changes, durable: false)
    }

    @Test func everythingOfANotificationIsKept() throws {
        defer { clean() }
        let run = Run.ID(firing: Firing.ID(job: backup, scheduled: at(0)), attempt: 2)
        let whole = JobNotification(
            notifier: ops, kind: .recovery, job: backup, run: run, at: at(5), outcome: .exited(0),
            failedInARow: 7, since: at(1), isRepeat: true, willRetry: true,
            usage: RunUsage(
                elapsed: .seconds(1), user: .milliseconds(2), system: .milliseconds(3),
                peakResidentBytes: 4),
            skipReason: "missed", recoveredFrom: [.failure, .pausedLong])
        let test = JobNotification(notifier: ops, kind: .test, job: nil, at: at(6))
        try write(.notify(whole), .notify(one(7)), .notify(test))
        let found = try store.notificationsWithoutMessage(limit: 10)
        #expect(found.map(\.notification) == [whole, one(7), test])
        #expect(try store.notificationsWithoutMessage(limit: 2).count == 2)
    }

    @Test func aMessageGroupsNotifications_onceEach() throws {
        defer { clean() }
        try write(.notify(one(1)), .notify(one(2)), .notify(one(3)))
        let rows = try store.notificationsWithoutMessage(limit: 10).map(\.id)
        #expect(try store.lastMessage() == 0)
        try write(
            .createMessage(
                1, notifier: ops, notifications: Array(rows.prefix(2)), at: at(4)))
        try write(.createMessage(2, notifier: ops, notifications: rows, at: at(5)))
        try write(.createMessage(3, notifier: ops, notifications: rows, at: at(6)))
        #expect(try store.notificationsWithoutMessage(limit: 10).isEmpty)
        #expect(try store.waitingMessages().map(\.id) == [1, 2])
        #expect(try store.waitingMessages().map(\.count) == [2, 1])
        #expect(try store.notifications(of: 1).map(\.notification) == [one(1), one(2)])
        #expect(try store.lastMessage() == 2)
    }

    @Test func aMessageWaits_isSentOrDies_andCanBeRetried() throws {
        defer { clean() }
        try write(.notify(one(1)), .notify(one(2)))
        let rows = try store.notificationsWithoutMessage(limit: 10).map(\.id)
        for (index, row) in rows.enumerated() {
            try write(
                .createMessage(
                    Int64(index + 1), notifier: ops, notifications: [row], at: at(3)))
        }
        try write(
            .messageResult(
                .init(
                    id: 1, state: .waiting, attempts: 1, next: at(13), error: "refused", at: at(4)))
        )
        var first = try #require(try store.message(1))
        #expect(first.state == .waiting && first.attempts == 1 && first.next == at(13))
        #expect(first.error == "refused" && first.sent == nil)
        try write(
            .messageResult(.init(id: 1, state: .sent, attempts: 2, at: at(14))),
            .messageResult(.init(id: 2, state: .dead, attempts: 9, error: "404", at: at(15))))
        first = try #require(try store.message(1))
        #expect(first.state == .sent && first.sent == at(14) && first.error == nil)
        #expect(try store.messageCounts() == [.sent: 1, .dead: 1])
        #expect(try store.messages(limit: 10).map(\.id) == [2, 1])
        #expect(try store.messages(limit: 10, before: 2).map(\.id) == [1])
        #expect(try store.messages(limit: 10, state: .dead).map(\.id) == [2])
        let job = try #require(try store.notifications(of: 1).first?.notification.job)
        #expect(try store.messages(limit: 10, job: job).map(\.id) == [2, 1])
        #expect(try store.messages(limit: 10, before: 2, job: job).map(\.id) == [1])
        #expect(try store.messages(limit: 10, job: Job.Name("other")).isEmpty)
        try write(.retryMessage(1, at: at(20)), .retryMessage(2, at: at(20)))
        #expect(try store.waitingMessages().map(\.id) == [2])
        let second = try #require(try store.message(2))
        // The next attempt is the tenth.
        #expect(second.attempts == 9 && second.next == at(20))
    }

    @Test func incidentsAreRecovered_andFollowTheNameOfTheJob() throws {
        defer { clean() }
        let other = Job.Name("copy")!
        func incident(_ job: Job.Name, _ kind: NotificationKind, _ told: Bool) -> IncidentRecord {
            IncidentRecord(
                id: .init(job: job, notifier: ops, kind: kind), since: at(1), count: 3,
                notified: told ? at(2) : nil)
        }
        let (failing, late) = (incident(backup, .failure, true), incident(backup, .late, false))
        try write(
            .incident(.set(incident(backup, .failure, false))), .incident(.set(failing)),
            .incident(.set(late)))
        #expect(Set(try store.recover().incidents) == [failing, late])
        try write(.incident(.remove(late.id)))
        try write(.rename(Renaming(from: backup, to: other)), .notify(one(3)))
        #expect(try store.recover().incidents == [incident(other, .failure, true)])
    }

    @Test func messagesOfARenamedJobAreListedUnderItsNewName_andSayWhatTheySaid() throws {
        defer { clean() }
        let (other, third) = (Job.Name("copy")!, Job.Name("archive")!)
        func listed(_ job: Job.Name) throws -> [Int64] {
            try store.messages(limit: 10, job: job).map(\.id)
        }
        for number in 1...2 as ClosedRange<Int64> {
            try write(.notify(one(number)))
            let rows = try store.notificationsWithoutMessage(limit: 10).map(\.id)
            try write(.createMessage(number, notifier: ops, notifications: rows, at: at(number)))
        }
        try write(.messageResult(.init(id: 1, state: .sent, attempts: 1, at: at(3))))
        try write(.notify(one(4)), .rename(Renaming(from: backup, to: other)))
        #expect(try listed(other) == [2, 1] && listed(backup).isEmpty)
        // Message 2 is sent later: it must be the same one as before.
        let waiting = try #require(try store.notifications(of: 2).first)
        #expect(waiting.notification == one(2) && waiting.owner == other)
        // What is in no message yet is told by the new name.
        let next = try #require(try store.notificationsWithoutMessage(limit: 10).first)
        #expect(next.notification.job == other && next.owner == other)
        // A new job of the old name has only its own messages, and a second renaming takes all along.
        try write(.notify(one(5)))
        let rows = try store.notificationsWithoutMessage(limit: 10).map(\.id)
        try write(.createMessage(3, notifier: ops, notifications: rows, at: at(6)))
        try write(.rename(Renaming(from: other, to: third)))
        #expect(try listed(backup) == [3] && listed(other).isEmpty && listed(third) == [3, 2, 1])
    }

    @Test func aDamagedIncidentIsIgnored() throws {
        defer { clean() }
        try store.connection.execute(
            "INSERT INTO incident VALUES ('backup', 'ops', 'nonsense', 1, 1, NULL)",
            doing: "damage it")
        #expect(try store.recover().incidents.isEmpty && store.damage.count == 1)
    }

    @Test func oldMessagesArePruned_butNotThoseThatWait() throws {
        defer { clean() }
        for second in 1...4 { try write(.notify(one(Int64(second)))) }
        let rows = try store.notificationsWithoutMessage(limit: 10).map(\.id)
        for id in 1...3 {
            try write(
                .createMessage(
                    Int64(id), notifier: ops, notifications: [rows[id - 1]], at: at(Int64(id))))
        }
        try write(
            .messageResult(.init(id: 1, state: .sent, attempts: 1, at: at(5))),
            .messageResult(.init(id: 3, state: .dead, attempts: 1, at: at(5))))
        var pruning = Pruning(endedBefore: at(3))
        while !pruning.isDone { try pruning.advance(in: store) }
        #expect(try store.messages(limit: 10).map(\.id) == [3, 2])
        pruning = Pruning(endedBefore: at(100))
        while !pruning.isDone { try pruning.advance(in: store) }
        #expect(try store.messages(limit: 10).map(\.id) == [2])
        #expect(try store.notifications(of: 2).count == 1)
        #expect(try store.notificationsWithoutMessage(limit: 10).isEmpty)
        #expect(try store.lastMessage() == 3, "no number is used twice")
    }

    /// What is asked for each message, or for each notifier, is found by the indexes alone.
    @Test func noQueryOfTheOutboxReadsAllRows() throws {
        defer { clean() }
        func plan(_ sql: String) throws -> String {
            var lines: [String] = []
            try store.connection.run("EXPLAIN QUERY PLAN \(sql)", doing: "explain") { row in
                lines.append(row.text(3) ?? "")
            }
            return lines.joined(separator: "\n")
        }
        for kinds in [1, 3] {
            let earlier = try plan(Store.earlierMessageQuery(kinds: kinds))
            #expect(
                earlier
                    == "SEARCH notification USING COVERING INDEX notification_of_job (owner=? AND notifier=? AND kind=? AND at_us>?)"
            )
        }
        #expect(
            try plan(Store.lastAttemptQuery)
                == "SEARCH message USING INDEX message_of_notifier (notifier=?)")
        #expect(
            try plan(Store.lastErrorQuery)
                == "SEARCH message USING INDEX message_failed (notifier=?)")
    }
}

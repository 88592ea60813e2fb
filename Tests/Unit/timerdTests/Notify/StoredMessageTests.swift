// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore
import TimerNotify
import TimerStore

@testable import TimerDaemon

/// What is read from the store about messages: the sums of a notifier, and the contents of a mail.
@Suite struct StoredMessageTests {
    private let folder = "/tmp/timerd-notifications-\(UUID().uuidString)"

    private func store() throws -> Store {
        mkdir(folder, 0o700)
        return try Store(path: "\(folder)/\(Store.fileName)")
    }

    private func clean() { try? FileManager.default.removeItem(atPath: folder) }

    private func at(_ second: Int64) -> WallInstant {
        WallInstant(secondsSinceEpoch: 1_795_000_000 + second)
    }

    private static func name(_ text: String) throws -> Notifier.Name {
        try #require(Notifier.Name(text))
    }

    private func notification(
        _ kind: NotificationKind, _ second: Int64, job: String = "backup", notifier: String = "ops"
    ) throws -> JobNotification {
        JobNotification(
            notifier: try Self.name(notifier), kind: kind, job: Job.Name(job), at: at(second),
            since: at(0), recoveredFrom: kind == .recovery ? [.failure] : [])
    }

    @Test func theSumsOfANotifierAreThoseOfItsMessages() throws {
        defer { clean() }
        let store = try store()
        #expect(try store.notifierSums().isEmpty)
        for (index, kind) in [NotificationKind.failure, .failure, .recovery].enumerated() {
            try store.commit([.notify(notification(kind, Int64(index)))], durable: false)
        }
        #expect(try store.notificationsWithoutMessageCount() == 3)
        let ops = try Self.name("ops")
        for (index, one) in try store.notificationsWithoutMessage(limit: 9).enumerated() {
            try store.commit(
                [
                    .createMessage(
                        Int64(index) + 1, notifier: ops, notifications: [one.id], at: at(9))
                ], durable: false)
        }
        try store.commit(
            [
                .messageResult(.init(id: 1, state: .sent, attempts: 1, at: at(10))),
                .messageResult(
                    .init(
                        id: 2, state: .dead, attempts: 1, error: "HTTP status 404", at: at(11))),
            ], durable: false)
        var sums = try #require(try store.notifierSums()[ops])
        #expect(sums.waiting == 1 && sums.dead == 1 && sums.sent == at(10))
        #expect(sums.error == "HTTP status 404" && sums.isFailing)
        // The recovery answers the message that told of the failure.
        func earlier(_ kind: NotificationKind, of job: String = "backup") throws -> Int64? {
            try store.earlierMessage(
                about: notification(kind, 2), of: Job.Name(job), before: 3)
        }
        #expect(try earlier(.recovery) == 1)
        #expect(try earlier(.failure) == nil)
        #expect(try earlier(.recovery, of: "x") == nil)
        // Also when the job was renamed since, and nothing else is found under its old name.
        try store.commit(
            [.rename(Renaming(from: #require(Job.Name("backup")), to: #require(Job.Name("copy"))))],
            durable: false)
        #expect(try earlier(.recovery, of: "copy") == 1)
        #expect(try earlier(.recovery) == nil)
        try store.commit(
            [.messageResult(.init(id: 3, state: .sent, attempts: 2, at: at(12)))], durable: false)
        sums = try #require(try store.notifierSums()[ops])
        #expect(sums.waiting == 0 && !sums.isFailing && sums.error == "HTTP status 404")
    }

    @Test func aMessageHasTheOutputOfItsRun_andAnswersTheOneBefore() throws {
        defer { clean() }
        let store = try store()
        let job = Job(
            name: try #require(Job.Name("backup")), command: .arguments(["rsync", "-a"]),
            schedule: .every(.seconds(60)), description: "Nightly")
        let run = Run(
            firing: Firing(
                id: .init(job: job.name, scheduled: at(0)), missed: 0, active: .zero),
            attempt: 1, job: job)
        var failure = try notification(.failure, 1)
        failure.run = run.id
        failure.outcome = .exited(3)
        try store.commit(
            [
                .begin(run, released: true, at: at(0)),
                .close(
                    run.id, .exited(3), RunUsage(), failed: true, began: at(0), at: at(1),
                    tail: Array("refused\n".utf8)),
                .notify(failure),
            ], durable: false)
        let notifier = Notifier(
            name: failure.notifier, transport: .mail(to: ["root"], from: nil, contentType: nil))
        func mail(_ number: Int64, created: WallInstant? = nil) throws -> String {
            let contents = try MessageContents(number, created: created ?? at(2), in: store)
            guard case .mail(let bytes) = contents.message(of: notifier, [job.name: job])
            else { return "" }
            return String(decoding: bytes, as: UTF8.self)
        }
        try group(1, notifier.name, in: store)
        try store.commit([.notify(notification(.recovery, 3))], durable: false)
        try group(2, notifier.name, in: store)
        let first = try mail(1)
        #expect(first.contains("    | refused\n") && first.contains("backup (Nightly)"))
        let created = String(at(2).microsecondsSinceEpoch, radix: 16)
        let name = "timerd.1.\(created).\(store.identity.id)"
        #expect(first.contains("\nMessage-ID: <\(name)@"))
        let again = try mail(1)
        #expect(!first.contains("In-Reply-To") && first == again)
        #expect(try mail(2).contains("\nIn-Reply-To: <\(name)@"))
        // A copy of the database that was restored has the same identity and the same numbers.
        #expect(try !mail(1, created: at(9)).contains("Message-ID: <\(name)@"))
    }

    /// Makes a message of everything that belongs to none.
    private func group(_ number: Int64, _ notifier: Notifier.Name, in store: Store) throws {
        let rows = try store.notificationsWithoutMessage(limit: 9).map(\.id)
        try store.commit(
            [.createMessage(number, notifier: notifier, notifications: rows, at: at(2))],
            durable: false)
    }
}

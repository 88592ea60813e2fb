// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import ProjectFiles
import Testing
import TimerCore

@testable import TimerLog

/// The texts that `journalctl -x` adds to the entries: compares systemd/timerd.catalog with the
/// entries.
@Suite struct CatalogTests {
    /// One entry of the catalog, parsed like systemd does it (src/libsystemd/sd-journal/catalog.c):
    /// a header of `Name: value` lines up to an empty line, and then text.
    private struct Explanation {
        var header: [String: String] = [:]
        var text = ""

        /// The fields of the journal entry that it inserts, written `@FIELD@`.
        var fields: Set<String> {
            let all = header.values.joined(separator: "\n") + "\n" + text
            let parts = all.split(separator: "@", omittingEmptySubsequences: false)
            return Set(stride(from: 1, to: parts.count, by: 2).map { String(parts[$0]) })
        }
    }

    private static func catalog() throws -> [(id: String, explanation: Explanation)] {
        let file = Project.url(of: "systemd/timerd.catalog")
        var found: [(id: String, explanation: Explanation)] = []
        var isHeader = false
        for line in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n") {
            // systemd ignores such lines everywhere.
            if line.hasPrefix("#") || line.hasPrefix(";") { continue }
            if line.hasPrefix("-- ") {
                found.append((String(line.dropFirst(3)), Explanation()))
                isHeader = true
            } else if isHeader, line.isEmpty {
                isHeader = false
            } else if isHeader {
                let parts = line.split(separator: ":", maxSplits: 1)
                try #require(parts.count == 2, "no header: \(line)")
                found[found.count - 1].explanation.header[String(parts[0])] =
                    parts[1].trimmingCharacters(in: .whitespaces)
            } else if !found.isEmpty {
                found[found.count - 1].explanation.text += line + "\n"
            }
        }
        return found
    }

    @Test func eachKindOfEntryIsExplainedOnce_andNothingElseIs() throws {
        let ids = try Self.catalog().map(\.id)
        #expect(ids.count == Set(ids).count)
        #expect(Set(ids) == Set(EventKind.allCases.map(\.messageID)))
        for id in ids {
            #expect(id.count == 32 && id.allSatisfy { "0123456789abcdef".contains($0) }, "\(id)")
        }
    }

    @Test func eachExplanationHasItsHeaderAndSaysWhereMoreIs() throws {
        for (id, explanation) in try Self.catalog() {
            let header = explanation.header
            #expect(header["Subject"]?.isEmpty == false, "\(id)")
            #expect(header["Defined-By"] == "timerd", "\(id)")
            #expect(header["Support"]?.hasPrefix("https://") == true, "\(id)")
            #expect(header["Documentation"]?.contains("man:timer") == true, "\(id)")
            #expect(explanation.text.count > 80, "\(id)")
            let longest = explanation.text.split(separator: "\n").map(\.count).max() ?? 0
            #expect(longest <= 116, "\(id) has a line of \(longest)")
        }
    }

    /// If the entry has no such field, systemd inserts the name of the field.
    @Test(arguments: Samples.all)
    func eachFieldItNamesIsInTheEntry(_ notice: Notice) throws {
        try Self.expectEachField(in: LogEntry(notice).metadata)
    }

    @Test func eachFieldItNamesIsInARemark() throws {
        for notice in Samples.daemonNotices { try Self.expectEachField(in: notice.metadata) }
    }

    private static func expectEachField(in metadata: Logger.Metadata) throws {
        let explanation = try #require(
            try catalog().first { .string($0.id) == metadata["MESSAGE_ID"] }?.explanation)
        for field in explanation.fields {
            #expect(metadata[field] != nil, "\(field) of \(explanation.header)")
        }
    }

    @Test func thereIsASampleOfEachKind() {
        let fields =
            Samples.all.map { LogEntry($0).metadata } + Samples.daemonNotices.map(\.metadata)
        let kinds = Set(fields.compactMap { $0["TIMERD_EVENT"]?.description })
        #expect(kinds == Set(EventKind.allCases.map(\.rawValue)))
    }
}

/// A notice of each kind, with as few values as possible.
private enum Samples {
    private static let job = Job.Name("backup")!
    private static let firing = Firing(
        id: Firing.ID(job: job, scheduled: WallInstant(secondsSinceEpoch: 0)), missed: 0,
        active: .zero)
    private static let run = Run(
        firing: firing,
        job: Job(name: job, command: .shell("true"), schedule: .every(.seconds(60))))
    private static let initiator = Initiator.user("root")
    private static let hold = MachineHold(
        since: Now(
            wall: WallInstant(secondsSinceEpoch: 0), awake: AwakeInstant(nanoseconds: 0),
            boot: BootInstant(nanoseconds: 0), bootID: .unknown),
        instance: 1, by: initiator, note: "new disks", until: WallInstant(secondsSinceEpoch: 60))

    static let daemonNotices: [DaemonNotice] = [
        .commanded(.pause, [], by: "root", note: nil), .stateLost(Failure()),
        .oneOffCreated(oneOff, by: "root"), .oneOffCancelled(oneOff.name, by: "root"),
        .oneOffRemoved(oneOff.name), .loginLinkMade(by: "root"), .loggedIn("root"),
        .sessionsEnded(2, of: "root", because: "root revoked them"),
        .lossAccepted(Failure()), .stateDamaged("x", in: "/var/lib/timerd/timerd.db"),
        .configRefused("1 error", in: "/etc/timerd/timerd.toml"),
    ]

    private struct Failure: Error {}

    private static let oneOff = Job(
        name: job, command: .shell("true"),
        schedule: .wall(WallSchedule([.at(WallInstant(secondsSinceEpoch: 0))])))

    private static func notification(_ kind: NotificationKind) -> JobNotification {
        JobNotification(
            notifier: Notifier.Name("ops")!, kind: kind, job: job,
            at: WallInstant(secondsSinceEpoch: 0), since: WallInstant(secondsSinceEpoch: 0),
            recoveredFrom: kind == .recovery ? [.failure, .stale] : [])
    }

    static let all: [Notice] = [
        .daemonStarted(.firstStart, away: nil, jobs: 0, wereCounting: 0),
        .recovered(job, accrued: .zero, credited: .zero, maxLoss: .zero, .active),
        .fired(run, late: .zero, remaining: nil),
        .runOrdered(run, by: initiator, remaining: nil),
        .killed(run.id, by: initiator, signal: nil),
        .killed(run.id, by: initiator, signal: "SIGHUP"),
        .cancelled(run.id, by: initiator), .skipped(firing, .concurrencyMax(2)),
        .pauseChanged(
            job, from: Pause(since: WallInstant(secondsSinceEpoch: 0), by: initiator),
            to: Pause(since: WallInstant(secondsSinceEpoch: 0), by: initiator, note: "longer")),
        .skipped(firing, .stillRunning(run.id)), .skipped(firing, .queueFull(run.id)),
        .skipped(firing, .missed), .skipped(firing, .catchUpMax), .skipped(firing, .deadline),
        .skipped(firing, .byOrder(left: 0)),
        .held(run, behind: run.id), .catchUpDelayed(run.id, by: .seconds(60)),
        .awaitsCondition(run.id, "ac-power", atMost: .zero),
        .machineHeld(hold, isChange: false), .machineReleased(hold, by: .pauseEnd, jobs: 3),
        .windowEnded(run.id), .skipped(firing, .outsideWindow),
        .replacing(run.id, by: run.id),
        .retrying(run.id, after: .zero, retries: 1),
        .runBegan(run.id),
        .runEnded(run.id, .exited(0), RunUsage(), failed: false),
        .runEnded(run.id, .lost(.daemon), RunUsage(), failed: true),
        .runRecovered(run.id), .runReattached(run.id),
        .paused(
            job, Pause(since: WallInstant(secondsSinceEpoch: 0), by: initiator), accrued: .zero,
            remaining: nil),
        .resumed(
            job, from: Pause(since: WallInstant(secondsSinceEpoch: 0), by: initiator),
            by: initiator, accrued: .zero, remaining: nil),
        .started(job, by: initiator, remaining: nil),
        .stopped(job, from: nil, by: initiator, dropped: .zero),
        .skipNextSet(job, 1, by: initiator),
        .renamed(job, from: Job.Name("rapport")!),
        .finished(job, firesAtBoot: false, after: nil),
        .reloaded(added: [], changed: [], removed: [], kept: 0),
        .zonesChanged([job]),
        .clockStepped(by: .seconds(1), isCorrection: false),
        .incidentBegan(notification(.failure)), .incidentBegan(notification(.pausedLong)),
        .incidentEnded(notification(.recovery)),
        .shutDown(counting: 0, live: 0),
    ]
}

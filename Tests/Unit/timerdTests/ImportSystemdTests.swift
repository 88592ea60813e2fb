// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerCore
import TimerImport

@testable import timerctl

/// Where units are found: in a directory that stands for the root of a machine.
@Suite struct UnitSearchTests {
    private final class Root {
        let path = FileManager.default.temporaryDirectory.path + "/units-\(UUID().uuidString)"

        init(_ files: [String: String], links: [String: String] = [:]) throws {
            for (name, text) in files {
                try prepare(name)
                try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
            }
            for (name, target) in links {
                try prepare(name)
                try FileManager.default.createSymbolicLink(
                    atPath: "\(path)/\(name)", withDestinationPath: target)
            }
        }

        private func prepare(_ name: String) throws {
            let file = URL(fileURLWithPath: "\(path)/\(name)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    private func paths(_ name: String, in root: Root) throws -> [String] {
        let loaded = UnitSearch(root: root.path).load(try #require(UnitName(name)))
        guard case .files(let files, _) = loaded else { return ["\(loaded)"] }
        return files.map { String($0.path.dropFirst(root.path.utf8.count + 1)) }
    }

    private static let lib = "usr/lib/systemd/system"
    private static let etc = "etc/systemd/system"

    @Test func theFirstDirectoryCounts_andDropInsByTheirNames() throws {
        let root = try Root([
            "\(Self.lib)/a-b.timer": "[Timer]", "\(Self.etc)/a-b.timer": "[Timer]",
            "\(Self.lib)/a-b.timer.d/20.conf": "", "\(Self.etc)/a-b.timer.d/10.conf": "[Timer]",
            "\(Self.lib)/a-b.timer.d/10.conf": "[Timer]",
            "\(Self.etc)/a-.timer.d/10.conf": "[Timer]",
            "\(Self.etc)/a-.timer.d/15.conf": "[Timer]", "\(Self.lib)/timer.d/30.conf": "[Timer]",
            "\(Self.lib)/timer.d/notes": "",
        ])
        #expect(
            try paths("a-b.timer", in: root) == [
                "\(Self.etc)/a-b.timer", "\(Self.etc)/a-b.timer.d/10.conf",
                "\(Self.etc)/a-.timer.d/15.conf", "\(Self.lib)/timer.d/30.conf",
            ])
    }

    @Test func linksLeadIntoTheRoot() throws {
        let root = try Root(
            ["\(Self.lib)/a.timer": "[Timer]", "\(Self.lib)/t@.timer": "[Timer]"],
            links: [
                "\(Self.etc)/b.timer": "/\(Self.lib)/a.timer", "\(Self.etc)/m.timer": "/dev/null",
                "\(Self.etc)/l.timer": "l.timer", "\(Self.etc)/c.timer": "/\(Self.lib)/none.timer",
                "\(Self.etc)/timers.target.wants/t@x.timer": "/\(Self.lib)/t@.timer",
                "\(Self.etc)/timers.target.wants/a.timer": "/\(Self.lib)/a.timer",
            ])
        let search = UnitSearch(root: root.path)
        guard case .files(let files, let isEnabled) = search.load(UnitName("b.timer")!) else {
            Issue.record("the link is not followed")
            return
        }
        #expect(files.first?.lines.count == 1)
        #expect(isEnabled == false)
        guard case .masked = search.load(UnitName("m.timer")!) else {
            Issue.record("the link to /dev/null is not a mask")
            return
        }
        guard case .unreadable(_, let reason) = search.load(UnitName("l.timer")!) else {
            Issue.record("a link to itself is read")
            return
        }
        #expect(reason == "too many links")
        // b and c are other names, and a template is its instances.
        #expect(
            search.timers().map(\.description) == ["a.timer", "l.timer", "m.timer", "t@x.timer"])
        guard case .files(_, isEnabled: true) = search.load(UnitName("t@x.timer")!) else {
            Issue.record("the instance is not enabled")
            return
        }
    }

    @Test func whatIsNoUnitIsNotRead() throws {
        let root = try Root(["\(Self.lib)/e.timer": "", "\(Self.lib)/d.timer/x": ""])
        #expect(mkfifo("\(root.path)/\(Self.lib)/f.timer", 0o600) == 0)
        let search = UnitSearch(root: root.path)
        guard case .masked = search.load(UnitName("e.timer")!) else {
            Issue.record("an empty file is not a mask")
            return
        }
        guard case .missing = search.load(UnitName("d.timer")!) else {
            Issue.record("a directory is a unit")
            return
        }
        guard case .unreadable = search.load(UnitName("f.timer")!) else {
            Issue.record("a pipe is read")
            return
        }
    }
}

@Suite struct CalendarComparisonTests {
    @Test func readsTheTimesOfSystemd() {
        let local = """
              Original form: 02:30
            Normalized form: *-*-* 02:30:00
                Next elapse: Sat 2026-10-24 02:30:00 CEST
                   (in UTC): Sat 2026-10-24 00:30:00 UTC
                   From now: 4 weeks 1 day ago
                   Iter. #2: Sun 2026-10-25 02:30:00 CEST
                   (in UTC): Sun 2026-10-25 00:30:00 UTC
                   From now: 4 weeks 0 days ago
            """
        #expect(
            CalendarComparison.parse(local).map(\.rfc3339)
                == ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z"])
        let utc = """
            Normalized form: *-*-* *:*:00.500000
                Next elapse: Mon 2026-11-23 00:00:00.500000 UTC
                   From now: 4h left
                   Iter. #2: Mon 2026-11-23 00:01:00.500000 UTC
            """
        #expect(
            CalendarComparison.parse(utc).map(\.rfc3339)
                == ["2026-11-23T00:00:00.5Z", "2026-11-23T00:01:00.5Z"])
        #expect(CalendarComparison.parse("    Next elapse: never\n").isEmpty)
    }

    /// Each event in the months in which the clocks of Berlin and Lord Howe Island change.
    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze")),
        arguments: [
            "02:30", "*:00/30", "00/3:30", "Sun *-*-* 02:15", "*-*-* 02,03:00", "hourly", "daily",
            "*:*:30", "Mon..Fri 01..04:10/20",
        ])
    func jobsFireWhenSystemdFires(event: String) throws {
        for zone in ["Europe/Berlin", "Australia/Lord_Howe", "America/New_York"] {
            let text = "[Timer]\nOnCalendar=\(event) \(zone)\n[Service]\nExecStart=/bin/true\n"
            let units = [try #require(UnitName("a.timer"))]
            let imported = SystemdImport(units, options: .init()) { name in
                .files([UnitFile(path: "\(name)", bytes: Array(text.utf8))], isEnabled: nil)
            }
            for day in [
                "2026-03-07", "2026-03-28", "2026-04-04", "2026-10-03", "2026-10-24", "2026-10-31",
            ] {
                let start = try #require(WallInstant(rfc3339: "\(day)T11:00:00Z"))
                let (compared, left) = try CalendarComparison.compare(imported.result, after: start)
                #expect(left.isEmpty)
                #expect(compared.count == 1)
                let differences = compared.flatMap { $0.differences(\.rfc3339) }
                #expect(differences.isEmpty, "\(day): \(differences)")
            }
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerImport
import TimerZones

/// Compares the calendar events of jobs with what `systemd-analyze calendar` computes for them.
enum CalendarComparison {
    /// - Throws: the exit status, if a time zone cannot be read.
    static func compare(
        _ result: ImportResult, after start: WallInstant
    ) throws -> (compared: [FiringComparison], left: [String]) {
        var compared: [FiringComparison] = []
        var left: [String] = []
        let zones = ZoneFiles()
        let local = (try? zones.local()) ?? .utc
        for job in result.jobs {
            let events = events(of: job)
            guard !events.isEmpty else {
                left.append("\(job.place): job \(job.name) has no calendar events to compare")
                continue
            }
            guard let source = firings(of: events, after: start) else {
                left.append(
                    "\(job.place): job \(job.name) is not compared: `systemd-analyze calendar` cannot be run or refuses the event"
                )
                continue
            }
            let result = try job.firings(after: start, local: local) { name in
                do throws(ZoneFiles.Failure) { return try zones.rules(named: name) } catch {
                    throw Connection.fail(1, "\(job.place): job \(job.name): \(error)")
                }
            }
            compared.append(
                FiringComparison(
                    job: job.name, place: job.place, source: source, result: result ?? []))
        }
        return (compared, left)
    }

    private static func events(of job: ImportedJob) -> [String] {
        switch job.value(of: "calendar") {
        case .string(let text): [text]
        case .array(let values):
            values.compactMap { if case .string(let text) = $0 { text } else { nil } }
        default: []
        }
    }

    /// The next firings of all events together; nil if systemd does not say them.
    private static func firings(of events: [String], after start: WallInstant) -> [WallInstant]? {
        var instants: Set<WallInstant> = []
        for event in events {
            let output = Program.output(of: [
                "systemd-analyze", "calendar", "--iterations=\(FiringComparison.count)",
                "--base-time=@\(start.microsecondsSinceEpoch / 1_000_000)", "--", event,
            ])
            guard let output else { return nil }
            instants.formUnion(parse(output))
        }
        // An event in the second in which the comparison begins may be over.
        return Array(instants.filter { $0 > start }.sorted().prefix(FiringComparison.count))
    }

    /// The instants in the output of `systemd-analyze calendar`: those in UTC, which follow each one in
    /// another zone.
    static func parse(_ output: String) -> [WallInstant] {
        var instants: [WallInstant] = []
        var last: WallInstant?
        for line in output.split(whereSeparator: \.isNewline) {
            let line = line.drop { $0 == " " }
            if line.hasPrefix("(in UTC):") {
                last = instant(line)
            } else if line.hasPrefix("Next elapse:") || line.hasPrefix("Iter. #") {
                if let last { instants.append(last) }
                last = instant(line)
            }
        }
        if let last { instants.append(last) }
        return instants
    }

    /// `… Mon 2026-11-23 00:00:00 UTC` as an instant; nil if it is in another zone.
    private static func instant(_ line: Substring) -> WallInstant? {
        let words = line.split(separator: " ")
        guard words.count >= 3, words.last == "UTC" else { return nil }
        return WallInstant(rfc3339: "\(words[words.count - 3])T\(words[words.count - 2])Z")
    }
}

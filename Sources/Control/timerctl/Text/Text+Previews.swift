// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore
import TimerZones

/// What a reload changes or would change, and when a schedule is due.
extension Text {
    /// The lines of `timerctl reload --dry-run`.
    static func preview(_ preview: ReloadReply) -> String {
        let parts = [
            ("added", preview.added), ("changed", preview.redefined), ("removed", preview.removed),
        ]
        let changes = parts.flatMap { word, lines in
            lines.map { "\(word): \($0.job), \(span($0.elapsedUsec)) elapsed" }
        }
        return (changes + ["unchanged: \(preview.kept)"] + preview.warnings.map(Printable.lines))
            .joined(separator: "\n")
    }

    /// The lines of `timerctl next`.
    ///
    /// - Parameter from: the parsed value of --from.
    static func preview(
        _ preview: SchedulePreview, zone: ZoneRules, from: String? = nil
    ) -> String {
        var lines: [String] = []
        if let normalized = preview.normalized { lines.append("Normal form: \(normalized)") }
        if let timezone = preview.timezone { lines.append("   Timezone: \(timezone)") }
        if let from { lines.append("      After: \(from)") }
        let afterRun = preview.from == nil ? nil : preview.everyUsec.map { exact($0) }
        let later =
            preview.afterBootUsec.map { "       Next: \(boot($0, "the next"))" }
            ?? afterRun.map {
                "       Next: \($0) after the end of \(preview.instants.isEmpty ? "its" : "that") run"
            }
        guard !preview.instants.isEmpty else {
            let paused = preview.pause.map { "       Next: \($0)" }
            let found = [paused, later].compactMap(\.self)
            return (lines + (found.isEmpty ? ["       Next: never"] : found)).joined(
                separator: "\n")
        }
        var last: WallInstant?
        for (index, text) in preview.instants.enumerated() {
            guard let instant = WallInstant(rfc3339: text) else { continue }
            let gap = last.map { ", \(exact((instant - $0).wholeMicroseconds)) later" } ?? ""
            lines.append(
                "       Next: \(local(instant, in: zone))  \(instant.rfc3339)\(gap)"
                    + (index < preview.skips ?? 0 ? " (skipped, as requested)" : ""))
            last = instant
        }
        return (lines + [later].compactMap(\.self)).joined(separator: "\n")
    }

    /// Such as `2 min after each boot of the machine`.
    static func boot(_ microseconds: Int64, _ which: String) -> String {
        (microseconds == 0 ? "at" : "\(exact(microseconds)) after")
            + " \(which) boot of the machine"
    }

    /// The lines with the changes of a reload.
    static func reload(_ reply: ReloadReply) -> String {
        let changes = [
            ("added", reply.added), ("changed", reply.redefined), ("removed", reply.removed),
        ]
        let lines = changes.filter { !$0.1.isEmpty }.map { word, jobs in
            "\(word): \(jobs.map(\.job).joined(separator: ", "))"
        }
        return (lines + ["unchanged: \(reply.kept)"] + reply.warnings.map(Printable.lines))
            .joined(separator: "\n")
    }
}

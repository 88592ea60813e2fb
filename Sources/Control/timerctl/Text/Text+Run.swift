// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// The text of `timerctl show RUN`.
extension Text {
    /// The lines of `timerctl show RUN`.
    ///
    /// - Parameter output: the output that the daemon has of it, if it was requested.
    static func run(
        _ reply: RunReply, output: LogReply?, lines: Int, on screen: Screen = Screen()
    ) -> String {
        let run = reply.runStatus
        var rows: [(String, String?)] = [
            ("Run", run.id), ("Job", run.job), ("Machine", run.machine),
            (
                "Attempt",
                reply.retries.map { $0 > 0 ? "\(reply.attempt) of \($0 + 1)" : nil }
                    ?? (reply.attempt > 1 ? "\(reply.attempt)" : nil)
            ),
            ("Cause", run.cause.map { _ in RunWords.cause(of: run) }),
            ("Planned", date(run.scheduled)), ("Began", began(run)),
        ]
        if let ended = run.ended {
            rows.append(("Ended", date(ended) + took(run, ", after ")))
        }
        rows += [
            ("State", reply.state == "ended" ? nil : state(reply)),
            ("Result", RunWords.end(of: run)),
            ("CPU", cpu(run)),
            ("Peak memory", run.peakBytes.map { size($0) }),
            ("Next attempt", reply.followingAttempt.map { nextAttempt($0) }),
            ("Next run", reply.next.map { instant($0) }),
        ]
        for (index, run) in (reply.caused ?? []).enumerated() {
            rows.append((index == 0 ? "Caused" : "", nextAttempt(run)))
        }
        var text = TextPairs(rows).lines(columns: screen.columns)
        text += last(lines, of: reply, output, on: screen)
        let log = "`timerctl log \(run.id)`"
        let hint =
            run.machine.map { "\(log) on \(Printable.text($0)) shows its output" }
            ?? "\(log) shows its output"
        return (text + [""] + screen.lines(hint)).joined(separator: "\n")
    }

    private static func began(_ run: RunStatus) -> String? {
        guard let began = run.began else { return nil }
        guard let late = late(run), late >= .milliseconds(1) else { return date(began) }
        return "\(date(began)), \(span(late.wholeMicroseconds)) late"
    }

    /// How late it started. For a retry this has no meaning.
    private static func late(_ run: RunStatus) -> Duration? {
        guard RunWords.attempt(of: run.id) == 1, let planned = WallInstant(rfc3339: run.scheduled),
            let began = run.began.flatMap({ WallInstant(rfc3339: $0) })
        else { return nil }
        return began - planned
    }

    /// Such as `, after 4.1 s`; empty for a run without a process.
    static func took(_ run: RunStatus, _ word: String) -> String {
        guard let elapsed = run.elapsedUsec, elapsed > 0 else { return "" }
        return word + span(elapsed)
    }

    private static func state(_ reply: RunReply) -> String {
        if let wait = waits(reply.runStatus, live: reply.live, of: reply.maxConcurrent) {
            return wait
        }
        return switch reply.state {
        case "starting": "is being started"
        case "stopping": "is being stopped"
        default: "is running"
        }
    }

    /// The reason why a run waits; nil if it does not wait.
    static func waits(_ run: RunStatus, live: Int, of most: Int) -> String? {
        RunWords.wait(run, instant: instant).map {
            run.waits == "capacity" ? "\($0): \(live) of \(most) runs are active" : $0
        }
    }

    private static func cpu(_ run: RunStatus) -> String? {
        guard let user = run.userUsec, let system = run.systemUsec, user + system > 0 else {
            return nil
        }
        return "\(span(user)) user, \(span(system)) system"
    }

    private static func nextAttempt(_ run: RunStatus) -> String {
        let how =
            RunWords.wait(run, instant: instant) ?? RunWords.end(of: run)
            ?? run.began.map { "started \(instant($0))" } ?? "is being started"
        return "\(run.id), \(how)"
    }

    private static func last(
        _ count: Int, of reply: RunReply, _ output: LogReply?, on screen: Screen
    ) -> [String] {
        let recent = output?.lines.filter { $0.run == reply.runStatus.id } ?? []
        let shown =
            recent.isEmpty
            ? lastLines(of: reply.runStatus.output ?? "", count)
            : recent.map(\.text).filter { !$0.isEmpty }.suffix(count).map { Printable.text($0) }
        guard !shown.isEmpty else { return [] }
        return ["", "The end of its output:"] + shown.flatMap { screen.lines($0, after: "    | ") }
    }
}

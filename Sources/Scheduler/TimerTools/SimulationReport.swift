// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostQueues
import TimerControl
import TimerCore

/// The report of a simulation, as lines of text or JSON, with sums at the end.
final class SimulationReport {
    private let zone: ZoneRules
    private let isJSON: Bool
    private var output = Output()
    private var fired: [Job.Name: Int] = [:]
    private var skipped: [Job.Name: Int] = [:]

    init(zone: ZoneRules, isJSON: Bool) {
        self.zone = zone
        self.isJSON = isJSON
    }

    private struct Row: Encodable {
        var at: String
        var event: String
        var job: String?
        var scheduled: String?
        var missed: Int?
        var attempt: Int?
        var reason: String?
    }

    func append(_ line: Simulation.Line) {
        switch line {
        case .fault(let fault, let at): write(at, job: nil, Self.words(for: fault), event: "fault")
        case .logged(.fired(let run, _, _), let at):
            fired[run.id.firing.job, default: 0] += 1
            let missed = run.firing.missed
            write(
                at, job: run.id.firing.job,
                "fires" + (missed > 0 ? ", for \(missed + 1) due runs" : ""),
                event: "fired",
                scheduled: run.id.firing.scheduled, missed: missed)
        case .logged(.skipped(let firing, let reason), let at):
            skipped[firing.id.job, default: 0] += firing.missed + 1
            let count = firing.missed + 1
            write(
                at, job: firing.id.job,
                "\(count == 1 ? "is" : "\(count) runs are") skipped (\(reason.word))",
                event: "skipped", scheduled: firing.id.scheduled, missed: firing.missed,
                reason: reason.word)
        case .logged(.retrying(let run, let delay, _), let at):
            write(
                at, job: run.firing.job,
                "failed; attempt \(run.attempt) starts in \(TimeSpan.text(delay))",
                event: "retrying", scheduled: run.firing.scheduled, attempt: run.attempt)
        case .logged(.catchUpDelayed(let run, let delay), let at):
            write(
                at, job: run.firing.job, "was missed and is caught up in \(TimeSpan.text(delay))",
                event: "catch-up-delayed", scheduled: run.firing.scheduled)
        case .logged(.windowEnded(let run), let at):
            write(
                at, job: run.firing.job, "is stopped: its window has closed", event: "window-ended",
                scheduled: run.firing.scheduled)
        case .logged(.held(let run, _), let at):
            write(at, job: run.id.firing.job, "waits for the previous run", event: "held")
        case .logged(.clockStepped(_, let isCorrection), let at):
            if isCorrection {
                write(at, job: nil, "the new time counts from here on", event: "correction")
            }
        case .logged: break
        }
    }

    private static func words(for fault: Simulation.SimulatedEvent) -> String {
        switch fault {
        case .pause(let job): "\(job) is paused"
        case .resume(let job): "\(job) is resumed"
        case .sleep(let span): "the machine sleeps for \(TimeSpan.text(span))"
        case .step(let span):
            span < .zero
                ? "the clock is set back by \(TimeSpan.text(.zero - span))"
                : "the clock is set forward by \(TimeSpan.text(span))"
        case .reboot(let span): "the machine goes down for \(TimeSpan.text(span))"
        }
    }

    private func write(
        _ at: WallInstant, job: Job.Name?, _ words: String, event: String,
        scheduled: WallInstant? = nil, missed: Int? = nil, attempt: Int? = nil,
        reason: String? = nil
    ) {
        guard !isJSON else {
            let row = Row(
                at: at.rfc3339Micros, event: event, job: job?.description,
                scheduled: scheduled?.rfc3339Micros, missed: missed, attempt: attempt,
                reason: reason)
            if let line = try? ControlJSON.encode(row) { output.write(line) }
            return
        }
        output.write(local(at))
        output.write(job.map { "  \($0)  \(words)\n" } ?? "  -- \(words)\n")
    }

    /// Such as `2027-03-28 03:00:00 +02:00`, with a fraction if there is one.
    private func local(_ instant: WallInstant) -> String {
        let offset = zone.offset(at: instant)
        let text = (instant + .seconds(offset)).rfc3339
        let minutes = abs(offset) / 60
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        var line = String(text.dropLast())
        if let place = line.firstIndex(of: "T") { line.replaceSubrange(place...place, with: " ") }
        return line + (offset < 0 ? " -" : " +") + two(minutes / 60) + ":" + two(minutes % 60)
    }

    func finish(_ jobSet: JobSet, from start: WallInstant, to end: WallInstant) {
        if !isJSON {
            output.write("\n\(local(start)) to \(local(end)):\n")
            for job in jobSet.jobs {
                let dropped = skipped[job.name].map { ", \($0) skipped" } ?? ""
                output.write("  \(job.name): \(plural(fired[job.name] ?? 0, "run"))\(dropped)\n")
            }
        }
        output.flush()
    }
}

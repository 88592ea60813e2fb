// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerDaemon

extension MetricsPage {
    /// The metrics of single jobs: at most 31 series for each, and those of its histogram if it asks for one.
    struct Jobs {
        private typealias Labels = MetricsText.Labels
        private typealias Number = MetricsText.Number

        private let at: WallInstant
        /// Each job with its label `name`, which all samples of the job share.
        private let jobs: [(name: MetricsText.Labels, job: JobMeasures)]

        init(_ measures: Loop.Measures) {
            at = measures.at.wall
            jobs = measures.jobs.map { (Labels("name", $0.job.name.description), $0) }
        }

        func write(_ text: inout MetricsText) {
            guard !jobs.isEmpty else { return }
            writeInfo(&text)
            writeState(&text)
            writeCounts(&text)
            writeLastRun(&text)
        }

        /// Writes a family with one sample for each job of which there is something to say.
        private func family(
            _ text: inout MetricsText, _ name: String, _ help: String,
            kind: MetricsText.Kind = .gauge, _ value: (JobMeasures) -> MetricsText.Number?
        ) {
            text.begin(name, kind, help)
            for (name, job) in jobs {
                if let value = value(job) { text.write(name, value) }
            }
        }

        private func writeInfo(_ text: inout MetricsText) {
            text.begin("job", .info, "How a job is configured.")
            for (name, measures) in jobs {
                let job = measures.job
                let labels = Labels([
                    ("schedule", job.scheduleText), ("timezone", job.schedule.zoneName),
                    ("count", job.schedule.isCounted ? job.count.rawValue : "wall"),
                    ("concurrency", job.policy.concurrency.rawValue),
                ])
                text.write(name, labels, Number(true))
            }
            family(
                &text, "job_interval_seconds",
                "The time between two firings: the interval, or the longest of the latest gaps of a calendar."
            ) { $0.job.schedule.interval(at: at).map { Number($0) } }
        }

        private func writeState(_ text: inout MetricsText) {
            family(&text, "job_paused", "Whether the job is paused: 1 or 0.") { job in
                if case .paused = job.phase { Number(true) } else { Number(false) }
            }
            family(
                &text, "job_pause_start_timestamp_seconds",
                "Since when the job is paused, since 1970."
            ) { job in
                if case .paused(let pause) = job.phase { Number(pause.since) } else { nil }
            }
            family(
                &text, "job_runs_live", "The number of its runs that have started and not ended."
            ) { Number($0.live) }
            family(
                &text, "job_next_fire_timestamp_seconds",
                "When the job fires next, at the latest, since 1970; in the past if it is overdue."
            ) { $0.next.map { Number($0) } }
            family(
                &text, "job_remaining_seconds",
                "The time that is left until the job fires; it stays the same while the job is paused."
            ) { $0.remaining.map { Number($0) } }
            family(
                &text, "job_active_seconds",
                "The elapsed time of the job in all, also before this daemon started.",
                kind: .counter
            ) { Number($0.active) }
        }

        private func writeCounts(_ text: inout MetricsText) {
            text.begin("job_runs", .counter, "The runs of the job that ended, by result.")
            let results = RunResult.allCases.map { ($0, Labels("result", $0.word)) }
            for (name, job) in jobs {
                for (result, label) in results { text.write(name, label, Number(job.runs[result])) }
            }
            family(&text, "job_retries", "The retries that were decided.", kind: .counter) { job in
                Number(job.runs.retries)
            }
            text.begin("job_skips", .counter, "The firings that were skipped, by reason.")
            let kinds = SkipKind.counted.map { ($0, Labels("reason", $0.word)) }
            for (name, job) in jobs {
                for (kind, label) in kinds { text.write(name, label, Number(job.skips[kind])) }
            }
            let timed = jobs.filter { $0.job.job.hasDurationHistogram }
            guard !timed.isEmpty else { return }
            text.begin(
                "job_run_duration_seconds", .histogram,
                "How long the runs of the job took, from the start of the process to its end.")
            for (name, job) in timed {
                text.write(name, job.durations ?? Histogram(bounds: Histogram.runBounds))
            }
        }

        private func writeLastRun(_ text: inout MetricsText) {
            family(
                &text, "job_last_success_timestamp_seconds",
                "When a run last succeeded, since 1970, also before this daemon started."
            ) { $0.lastSuccess.map { Number($0) } }
            func last(_ name: String, _ help: String, _ value: (RunSummary) -> Number?) {
                family(&text, "job_last_run_\(name)", help) { $0.lastRun.flatMap(value) }
            }
            last("timestamp_seconds", "When the latest run ended, since 1970.") { run in
                run.ended.map { Number($0) }
            }
            last("success", "1, or 0 if the latest run failed.") { Number(!$0.failed) }
            last("duration_seconds", "How long the latest run took.") { Number($0.usage.elapsed) }
            last("cpu_seconds", "The CPU time that the latest run used.") { run in
                Number(run.usage.user + run.usage.system)
            }
            last("peak_memory_bytes", "The peak resident memory of the latest run.") { run in
                Number(run.usage.peakResidentBytes)
            }
        }
    }
}

extension Job {
    /// The schedule in the words of the configuration.
    fileprivate var scheduleText: String {
        schedule.text + (from == .end ? ", from the end of each run" : "")
    }
}

extension Schedule {
    /// Whether it is due after some counted time, and not at times of the wall clock.
    fileprivate var isCounted: Bool {
        switch self {
        case .every, .after, .onBoot: true
        case .wall, .onDemand: false
        }
    }

    /// The schedule in the words of the configuration.
    fileprivate var text: String {
        switch self {
        case .every(let span): return "every \(TimeSpan.compactText(span))"
        case .after(let span): return "after \(TimeSpan.compactText(span))"
        case .onBoot(let span): return "on-boot \(TimeSpan.compactText(span))"
        case .onDemand: return "on-demand"
        case .wall(let schedule):
            return schedule.sources.map { source in
                switch source {
                case .calendar(let spec, _): "calendar \(spec)"
                case .cron(let spec, _): "cron \(spec)"
                case .at(let instant): "at \(instant.rfc3339)"
                }
            }.joined(separator: "; ")
        }
    }

    /// The time zone that a schedule by the wall clock names or takes; empty if there is none.
    fileprivate var zoneName: String {
        guard case .wall(let schedule) = self else { return "" }
        for source in schedule.sources {
            switch source {
            case .calendar(let spec, let zone): return spec.zoneName ?? zone.name
            case .cron(_, let zone): return zone.name
            case .at: continue
            }
        }
        return ""
    }
}

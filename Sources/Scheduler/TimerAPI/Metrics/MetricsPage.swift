// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore
import TimerDaemon
import TimerRecording

/// The metrics of one moment. The families are in docs/METRICS.md, which a test compares with this text.
struct MetricsPage {
    private let measures: Loop.Measures
    private let process: ProcessMeasures
    private let meters: Meters
    private let store: StoreMeter.Reading
    private let notifiers: [Notifier.Name: NotifierState]
    let fleet: FleetMeasures?
    private let version: String

    init(
        _ measures: Loop.Measures, _ process: ProcessMeasures, _ meters: Meters,
        _ store: StoreMeter.Reading, notifiers: [Notifier.Name: NotifierState] = [:],
        fleet: FleetMeasures? = nil, version: String
    ) {
        self.measures = measures
        self.process = process
        self.meters = meters
        self.store = store
        self.notifiers = notifiers
        self.fleet = fleet
        self.version = version
    }

    /// All of it as text.
    /// - Complexity: O(*n*) in the number of jobs that have metrics of their own.
    func text(_ format: MetricsFormat) -> [UInt8] {
        var text = MetricsText(format)
        writeDaemon(&text)
        writeSums(&text)
        writeStore(&text)
        writeMessages(&text)
        writeFleet(&text)
        writeProcess(&text)
        MetricsPage.Jobs(measures).write(&text)
        text.finish()
        return text.bytes
    }

    private func writeDaemon(_ text: inout MetricsText) {
        text.begin("build", .info, "The version of timerd.")
        text.write(.init("version", version), .init(true))
        text.begin("start_time_seconds", .gauge, "When this daemon started, since 1970.")
        text.write(.none, .init(measures.since))
        text.begin("jobs", .gauge, "The number of jobs in each state.")
        let states = measures.states
        for (state, count) in [
            ("armed", states.armed), ("paused", states.paused), ("stopped", states.stopped),
            ("finished", states.finished),
        ] {
            text.write(.init("state", state), .init(count))
        }
        text.begin(
            "held", .gauge, "Whether this machine is held, so that no run starts: 1 or 0.")
        text.write(.none, .init(measures.isHeld))
        text.begin(
            "jobs_rejected", .gauge,
            "The number of jobs that are not loaded, or not changed, because of an error in the configuration."
        )
        text.write(.none, .init(measures.rejected))
        text.begin(
            "metrics_jobs_omitted", .gauge,
            "The number of jobs that have no metrics of their own, because there are more than jobs-max."
        )
        text.write(.none, .init(measures.omitted))
        text.begin("runs_live", .gauge, "The number of runs that have started and not ended.")
        text.write(.none, .init(measures.live))
        text.begin(
            "runs_max", .gauge, "How many runs can be active at the same time (max-concurrent).")
        text.write(.none, .init(measures.liveMax))
        text.begin("runs_waiting", .gauge, "The number of runs that wait, by what they wait for.")
        for (cause, count) in [
            ("capacity", measures.waitingForCapacity),
            ("slot", measures.waitingForSlots),
            ("condition", measures.waitingForCondition),
            ("previous-run", states.waitingForPreviousRun),
            ("retry-delay", states.waitingForRetry),
            ("catch-up-delay", states.waitingForCatchUp),
        ] {
            text.write(.init("for", cause), .init(count))
        }
        text.begin("runner_connected", .gauge, "Whether the runner is connected: 1 or 0.")
        text.write(.none, .init(meters.isRunnerConnected))
        text.begin(
            "config_last_reload_successful", .gauge,
            "Whether the configuration was used when it was last read: 1, or 0 if any part was refused."
        )
        text.write(.none, .init(measures.isConfigAccepted))
        text.begin(
            "config_last_reload_success_timestamp_seconds", .gauge,
            "When the configuration was last read and used without a refusal, since 1970.")
        text.write(.none, .init(measures.configAccepted))
    }

    private func writeSums(_ text: inout MetricsText) {
        let counts = measures.counts
        text.begin("runs", .counter, "The runs that ended, of all jobs, by result.")
        for result in RunResult.allCases {
            text.write(.init("result", result.word), .init(counts.runs[result]))
        }
        text.begin("retries", .counter, "The retries that were decided, of all jobs.")
        text.write(.none, .init(counts.runs.retries))
        text.begin("skips", .counter, "The firings that were skipped, of all jobs, by reason.")
        for kind in SkipKind.counted {
            text.write(.init("reason", kind.word), .init(counts.skips[kind]))
        }
        text.begin(
            "firing_lateness_seconds", .histogram,
            "How long after their due time firings were decided; missed firings are not counted.")
        text.write(.none, counts.lateness)
        text.begin(
            "clock_steps", .counter,
            "How often the wall clock was set: by less than 3 hours (step), or by more (correction)."
        )
        text.write(.init("kind", "step"), .init(counts.clockSteps))
        text.write(.init("kind", "correction"), .init(counts.clockCorrections))
        text.begin(
            "lost_seconds", .counter,
            "The most elapsed time that one job may have lost, because timerd or the machine was not stopped cleanly."
        )
        text.write(.none, .init(counts.lost))
    }

    private func writeStore(_ text: inout MetricsText) {
        text.begin(
            "store_write_duration_seconds", .histogram,
            "How long writes to the saved state took, without the sync to the disk.")
        text.write(.none, store.writes)
        text.begin(
            "store_errors", .counter, "The attempts to write to the saved state that failed.")
        text.write(.none, .init(store.errors))
        text.begin(
            "journal_dropped_entries", .counter,
            "The log entries that the journal, or the reader of standard error, did not accept.")
        text.write(.none, .init(meters.droppedEntries))
        text.begin(
            "output_dropped_lines", .counter,
            "The lines of output that were dropped because jobs wrote too many.")
        text.write(.none, .init(meters.droppedOutput))
    }

    private func writeMessages(_ text: inout MetricsText) {
        let notifiers = notifiers.sorted { $0.key < $1.key }
        text.begin(
            "notifications", .counter,
            "The attempts to send a message, by notifier and result; a failed one is repeated, a dead one not."
        )
        for (name, state) in notifiers {
            for (result, count) in [
                ("sent", state.sentCount), ("failed", state.failedCount), ("dead", state.deadCount),
            ] {
                text.write(
                    .init("notifier", name.description), .init("result", result), .init(count))
            }
        }
        text.begin(
            "notifications_waiting", .gauge,
            "The notifications and messages that wait to be sent, by notifier.")
        for (name, state) in notifiers {
            text.write(.init("notifier", name.description), .init(state.waiting))
        }
        text.begin(
            "notifications_held", .gauge,
            "The notifications that the limit per-hour of a notifier holds back.")
        for (name, state) in notifiers {
            text.write(.init("notifier", name.description), .init(state.held?.count ?? 0))
        }
        let held = notifiers.compactMap { name, state in
            state.held.map { (name, $0.until) }
        }
        text.begin(
            "notifications_held_until_timestamp_seconds", .gauge,
            "When the next message with notifications that are held back is sent, since 1970.")
        for (name, until) in held {
            text.write(.init("notifier", name.description), .init(until))
        }
    }

    private func writeProcess(_ text: inout MetricsText) {
        if let cpu = process.cpu {
            text.begin("process_cpu_seconds", .counter, "The CPU time that the daemon used.")
            text.write(.none, .init(cpu))
        }
        func gauge(_ name: String, _ value: (some BinaryInteger)?, _ help: String) {
            guard let value else { return }
            text.begin(name, .gauge, help)
            text.write(.none, .init(value))
        }
        gauge(
            "process_resident_memory_bytes", process.residentBytes,
            "The resident memory of the daemon.")
        gauge(
            "process_virtual_memory_bytes", process.virtualBytes,
            "The virtual memory of the daemon.")
        gauge("process_open_fds", process.openFiles, "The open file descriptors of the daemon.")
        gauge(
            "process_max_fds", process.openFilesMax,
            "How many file descriptors the daemon can open.")
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import Logging
package import TimerControl
package import TimerCore

/// Something that happened, as a value. It becomes text only when the text is sent to a reader.
package struct RecordedEvent: Sendable {
    /// What happened, by who reports it.
    package enum Content: Sendable {
        case notice(Notice)
        case daemonNotice(DaemonNotice)
        /// Something about a run that is no notice of the agenda, with its word for TIMERD_EVENT.
        case ofRun(Run.ID, word: String, level: Logger.Level, message: String)
    }

    var content: Content
    var time: WallInstant
    /// Whether it is part of a command for many jobs, which has a separate event.
    var isPart = false

    package init(content: Content, time: WallInstant, isPart: Bool = false) {
        self.content = content
        self.time = time
        self.isPart = isPart
    }

    /// The job that it is about; nil for one of the daemon itself.
    package var job: Job.Name? {
        switch content {
        case .notice(let notice): notice.subject.job
        case .daemonNotice(let notice): notice.job
        case .ofRun(let run, _, _, _): run.firing.job
        }
    }

    /// The event as the API shows it, with the number that the ring gave it.
    package func status(_ number: UInt64) -> EventStatus {
        switch content {
        case .notice(let notice):
            let entry = LogEntry(notice)
            let level = isPart ? min(entry.level, .info) : entry.level
            let metadata = entry.metadata
            return EventStatus(
                event: metadata["TIMERD_EVENT"].map { "\($0)" } ?? "", job: job?.description,
                level: level.rawValue, message: entry.message, number: number,
                run: metadata["TIMERD_RUN_ID"].map { "\($0)" }, time: time.rfc3339Micros)
        case .daemonNotice(let notice):
            return EventStatus(
                event: notice.kind.rawValue, job: job?.description, level: notice.level.rawValue,
                message: Printable.text(notice.message), number: number, time: time.rfc3339Micros)
        case .ofRun(let run, let word, let level, let message):
            return EventStatus(
                event: word, job: run.firing.job.description, level: level.rawValue,
                message: Printable.text(message), number: number, run: run.description,
                time: time.rfc3339Micros)
        }
    }

    /// The jobs whose state may be different after an event.
    package enum AffectedJobs: Hashable {
        case jobs([Job.Name])
        /// Any of them, so that a client must list all again.
        case all
    }

    /// The jobs that may look different after it.
    var affected: AffectedJobs {
        guard case .notice(let notice) = content else { return .jobs(job.map { [$0] } ?? []) }
        switch notice {
        case .renamed(let job, let old): return .jobs([job, old])
        case .reloaded(let added, let changed, let removed, _):
            return .jobs(added + changed + removed)
        case .zonesChanged(let jobs): return .jobs(jobs)
        case .clockStepped, .machineHeld, .machineReleased: return .all
        default: return .jobs(job.map { [$0] } ?? [])
        }
    }
}

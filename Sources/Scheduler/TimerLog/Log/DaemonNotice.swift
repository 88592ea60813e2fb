// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import TimerControl
package import TimerCore

/// A log event of the daemon itself, not of the agenda. It has its own message id and fields, so that it can
/// be found and explained like the others.
package struct DaemonNotice {
    let kind: EventKind
    let level: Logger.Level
    package let message: String
    /// The job that it is about; nil for one about several, or the daemon.
    var job: Job.Name?
    private var fields: Logger.Metadata = [:]

    /// Its own fields, and those of its kind.
    var metadata: Logger.Metadata { fields.merging(kind.fields) { own, _ in own } }

    /// A command for many jobs was executed. Each job that changed has an entry of its own, too.
    package static func commanded(
        _ verb: JobCommand.Verb, _ answers: [Answer], by initiator: String, note: String?
    ) -> DaemonNotice {
        var (changed, unchanged, refused) = (0, 0, 0)
        for answer in answers {
            switch answer {
            case .done, .pauseChanged, .killed, .requested: changed += 1
            case .unchanged: unchanged += 1
            case .refused, .noSuchJob: refused += 1
            }
        }
        let why = note.map { " (\(Printable.text($0)))" } ?? ""
        return DaemonNotice(
            kind: .commanded, level: .notice,
            message:
                "\(initiator) requested \(verb.rawValue) for \(plural(answers.count, "job"))\(why): "
                + "\(changed) changed, \(unchanged) unchanged, \(refused) refused",
            fields: [
                "TIMERD_BY": "\(initiator)", "TIMERD_VERB": "\(verb.rawValue)",
                "TIMERD_CHANGED": "\(changed)", "TIMERD_UNCHANGED": "\(unchanged)",
                "TIMERD_REFUSED": "\(refused)",
            ])
    }

    /// The fleet executed a command for one of its jobs.
    package static func fleetCommanded(
        _ verb: JobCommand.Verb, _ job: Job.Name, by initiator: Initiator
    ) -> DaemonNotice {
        DaemonNotice(
            kind: .commanded, level: .notice,
            message: "\(initiator) requested \(verb.rawValue) for job \(job), in its fleet",
            job: job,
            fields: [
                "TIMERD_JOB": "\(job)", "TIMERD_BY": "\(initiator)",
                "TIMERD_VERB": "\(verb.rawValue)",
            ])
    }

    package static func oneOffCreated(_ job: Job, by initiator: String) -> DaemonNotice {
        let at = job.schedule.at
        return DaemonNotice(
            kind: .oneOffCreated, level: .notice,
            message: "\(initiator) created the one-off job \(job.name), which runs at "
                + (at?.rfc3339 ?? ""),
            job: job.name,
            fields: [
                "TIMERD_JOB": "\(job.name)", "TIMERD_BY": "\(initiator)",
                "TIMERD_AT": "\(at?.rfc3339Micros ?? "")",
            ])
    }

    package static func oneOffCancelled(_ job: Job.Name, by initiator: String) -> DaemonNotice {
        DaemonNotice(
            kind: .oneOffCancelled, level: .notice,
            message: "\(initiator) cancelled the one-off job \(job)", job: job,
            fields: ["TIMERD_JOB": "\(job)", "TIMERD_BY": "\(initiator)"])
    }

    /// A one-off job finished a day ago, and is not shown any more. Only those who follow the events
    /// need to know.
    package static func oneOffRemoved(_ job: Job.Name) -> DaemonNotice {
        DaemonNotice(
            kind: .oneOffRemoved, level: .debug,
            message: "The one-off job \(job) finished a day ago and was removed", job: job,
            fields: ["TIMERD_JOB": "\(job)"])
    }

    /// A configuration was refused, or a part of it. Its errors have entries of their own.
    package static func configRefused(_ refusal: String, in path: String) -> DaemonNotice {
        DaemonNotice(
            kind: .configRefused, level: .error, message: "\(path): \(refusal)",
            fields: ["TIMERD_CONFIG": "\(path)"])
    }

    /// A user got a link to the status page, which another person could use as well.
    package static func loginLinkMade(by user: String) -> DaemonNotice {
        DaemonNotice(
            kind: .loginLinkMade, level: .notice,
            message: "\(user) requested a login link for the status page",
            fields: ["TIMERD_BY": "\(user)"])
    }

    package static func loggedIn(_ user: String) -> DaemonNotice {
        DaemonNotice(
            kind: .loggedIn, level: .notice,
            message: "\(user) logged in to the status page, with a login link",
            fields: ["TIMERD_BY": "\(user)"])
    }

    /// Sessions of the status page were ended: by a user, or because their user lost the right to use it.
    ///
    /// - Parameters:
    ///   - users: whose sessions these were.
    ///   - reason: a sentence without its full stop.
    package static func sessionsEnded(
        _ count: Int, of users: String, because reason: String
    ) -> DaemonNotice {
        let sessions = count == 1 ? "1 session" : "\(count) sessions"
        return DaemonNotice(
            kind: .sessionsEnded, level: .notice,
            message: "\(sessions) of \(users) on the status page ended: \(reason)",
            fields: ["TIMERD_COUNT": "\(count)", "TIMERD_REASON": "\(reason)"])
    }

    /// The saved state has disappeared, and the daemon does not start.
    package static func stateLost(_ error: any Error) -> DaemonNotice {
        DaemonNotice(kind: .stateLost, level: .critical, message: "Cannot start: \(error)")
    }

    /// The saved state has disappeared, and the daemon starts because it was told to.
    package static func lossAccepted(_ error: any Error) -> DaemonNotice {
        DaemonNotice(
            kind: .lossAccepted, level: .warning,
            message: "\(error). Started nevertheless, because of --accept-data-loss")
    }

    /// A part of the saved state cannot have been written by timerd.
    package static func stateDamaged(_ fault: String, in path: String) -> DaemonNotice {
        DaemonNotice(
            kind: .stateDamaged, level: .error, message: "\(path): \(fault)",
            fields: ["TIMERD_DATABASE": "\(path)"])
    }
}

extension Logger {
    /// Logs the entry at once, without the queue of `EventLogger`.
    package func log(_ notice: DaemonNotice) {
        log(level: notice.level, "\(notice.message)", metadata: notice.metadata)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import TimerControl
import TimerCore

/// A notice as a log entry: a fixed sentence for each kind, and fields by which programs find it.
struct LogEntry {
    var level: Logger.Level = .info
    var message: String
    private let notice: Notice

    init(_ notice: Notice) {
        self.notice = notice
        (level, message) = Self.sentence(for: notice)
        // A note or a path may contain line ends, which must not start a new line of the log.
        message = Printable.text(message)
        if let job = notice.subject.job { message = "\(job): \(message)" }
    }

    /// All fields of the notice, with those of its kind.
    var metadata: Logger.Metadata {
        let facts = notice.facts
        var fields = facts.fields
        fields.merge(facts.kind.fields) { $1 }
        if let job = facts.job { fields["TIMERD_JOB"] = "\(job)" }
        return fields
    }
}

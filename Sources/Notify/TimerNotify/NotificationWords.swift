// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

extension NotificationKind {
    /// The word for one such notification, and for several, in a count.
    var nouns: (one: String, many: String) {
        switch self {
        case .start: ("start", "starts")
        case .success: ("success", "successes")
        case .failure: ("failure", "failures")
        case .recovery: ("recovery", "recoveries")
        case .late: ("late run", "late runs")
        case .long: ("long run", "long runs")
        case .stale: ("job without a success", "jobs without a success")
        case .lost: ("lost run", "lost runs")
        case .skipped: ("skipped run", "skipped runs")
        case .pausedLong: ("long pause", "long pauses")
        case .output: ("output", "outputs")
        case .test: ("test", "tests")
        }
    }

    /// The word for the state of a job during such an incident; nil for a failure, for which the number of failed
    /// firings is given.
    var state: String? {
        switch self {
        case .late: "late"
        case .long: "running for too long"
        case .stale: "without a success for too long"
        case .pausedLong: "paused for too long"
        case .lost: "lost"
        case .skipped: "skipped"
        case .start, .success, .failure, .recovery, .output, .test: nil
        }
    }

    /// Whether a person should look at it soon.
    var isTrouble: Bool {
        switch self {
        case .failure, .late, .long, .stale, .lost: true
        case .start, .success, .recovery, .skipped, .pausedLong, .output, .test: false
        }
    }
}

extension JobNotification {
    /// The name of the job; `-` for a test, which has none.
    var jobText: String { job.map { "\($0)" } ?? "-" }
}

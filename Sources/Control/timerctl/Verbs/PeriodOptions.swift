// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerCore
import TimerZones

/// --since and --until: when the runs that are meant have ended.
struct PeriodOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Only runs that ended since then: a time such as 2h (ago), yesterday or \"fri 18:00\".",
            valueName: "time"))
    var since: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Only runs that ended before then: a time such as 2h (ago), yesterday or \"fri 18:00\".",
            valueName: "time"))
    var until: String?

    /// Whether neither option is given.
    var isEmpty: Bool { since == nil && until == nil }

    /// What the options mean as of now. Throws if the period is empty.
    func period() throws -> Period {
        let period = Period(
            since: try since.map { try TimeOption.instant("--since", $0, .past) },
            until: try until.map { try TimeOption.instant("--until", $0, .past) })
        if let since = period.since, let until = period.until, since > until {
            throw Connection.fail(
                2,
                "--until must not be before --since: that is \(Text.moment(until)), and --since is "
                    + Text.moment(since))
        }
        return period
    }
}

/// The time in which a run must have ended to be shown.
struct Period: Hashable {
    var since: WallInstant?
    var until: WallInstant?

    /// Whether it has no limits.
    var isAll: Bool { since == nil && until == nil }

    /// `since … and until …`; nil if it is all time.
    var text: String? {
        let ends = [
            since.map { "since \(Text.moment($0))" }, until.map { "until \(Text.moment($0))" },
        ].compactMap(\.self)
        return ends.isEmpty ? nil : ends.joined(separator: " and ")
    }

    /// Whether a run that ended then ended in it.
    ///
    /// - Parameter ended: RFC 3339; nil if the run has not ended.
    func contains(_ ended: String?) -> Bool {
        guard !isAll else { return true }
        guard let instant = ended.flatMap({ WallInstant(rfc3339: $0) }) else { return false }
        return since.map { $0 <= instant } ?? true && until.map { instant < $0 } ?? true
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import Systemd
package import TimerCore

/// The time records of jobs at the moment when a notice was created, for the fields of its log
/// entry. With them the journal alone is enough to compute the time of each job. A notice may be
/// logged later than it was created, after a write, and the records have changed by then.
package struct AccountSnapshot: Sendable {
    private let at: Now
    private let accounts: Accounts

    /// Which time records the entry of a notice contains.
    private enum Accounts {
        case none
        case one(JobAccount)
        case all([JobAccount])
    }

    /// Reads the time records that belong to a notice from the agenda that created it.
    /// - Parameter agenda: borrowed, because it would otherwise be copied for each notice.
    /// - Complexity: O(1), or O(*n*) in the number of jobs if the notice concerns all of them.
    package init(for notice: Notice, in agenda: borrowing Agenda, at now: Now) {
        at = now
        accounts =
            switch notice.subject.scope {
            case .job(let job): agenda.account(of: job, at: now).map { .one($0) } ?? .none
            case .allJobs: .all(agenda.accounts(at: now))
            case .none: .none
            }
    }

    /// The fields with the time records; none if no record belongs to the notice.
    var fields: Logger.Metadata {
        switch accounts {
        case .none: [:]
        case .one(let account): fields(of: account)
        case .all(let accounts):
            reading.merging([boottime]) { $1 }.merging(listing(accounts)) { $1 }
        }
    }

    private var reading: Logger.Metadata {
        ["TIMERD_MONOTONIC_USEC": "\(at.awake.nanoseconds / 1000)"]
    }

    private var boottime: (String, Logger.MetadataValue) {
        ("TIMERD_BOOTTIME_USEC", "\(at.boot.nanoseconds / 1000)")
    }

    private func fields(of account: JobAccount) -> Logger.Metadata {
        let own: Logger.Metadata = [
            "TIMERD_STATE": "\(account.state)", "TIMERD_COUNT": "\(account.basis.rawValue)",
            "TIMERD_ACTIVE_USEC": "\(account.active.wholeMicroseconds)",
            "TIMERD_ELAPSED_USEC": "\(account.accrued.wholeMicroseconds)",
        ]
        switch account.basis {
        case .active, .uptime: return own.merging(reading) { $1 }
        case .boottime, .wall: return own.merging(reading) { $1 }.merging([boottime]) { $1 }
        }
    }

    /// All time records, each as `JOB STATE COUNT ACTIVE-USEC ELAPSED-USEC;`, in as many fields as
    /// needed, because the journal would cut off a longer field. If there are too many jobs,
    /// another field has the number of those left out.
    private func listing(_ accounts: [JobAccount]) -> Logger.Metadata {
        var texts = [""]
        var writtenCount = 0
        for account in accounts {
            let line =
                "\(account.job) \(account.state) \(account.basis.rawValue) "
                + "\(account.active.wholeMicroseconds) \(account.accrued.wholeMicroseconds);"
            if texts[texts.count - 1].utf8.count + line.utf8.count > Self.listingBytesMax {
                guard texts.count < Self.listingsMax else { break }
                texts.append("")
            }
            texts[texts.count - 1] += line
            writtenCount += 1
        }
        var fields: Logger.Metadata = [:]
        for (index, text) in texts.enumerated() {
            fields[index == 0 ? Self.name : "\(Self.name)_\(index + 1)"] = "\(text)"
        }
        if writtenCount < accounts.count {
            fields["\(Self.name)_LEFT"] = "\(accounts.count - writtenCount)"
        }
        return fields
    }

    private static let name = "TIMERD_ACCOUNTS"
    /// The most bytes of one field: the limit of the journal.
    static let listingBytesMax = Journal.valueBytesMax
    /// The most fields of this kind: enough for 100 000 jobs, and below the limit of an entry.
    static let listingsMax = Journal.fieldsMax - 28
}

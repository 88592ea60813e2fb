// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import Systemd
import TimerCore

/// How the accounts stood when a notice was made, for the fields of its entry: with them the journal alone is
/// enough to work out every job's time. A notice may be told later than it was made, behind a write, and the
/// accounts have moved on by then.
struct AccountSnapshot: Sendable {
    private let at: Now
    private let accounts: Accounts

    /// Whose accounts belong to a notice.
    private enum Accounts {
        case none
        case one(JobAccount)
        case all([JobAccount])
    }

    /// Takes what belongs to a notice from the agenda, as it stands since it made the notice.
    /// - Parameter agenda: borrowed, since what an initializer takes would be copied for each notice.
    /// - Complexity: O(1), or O(*n*) in the number of jobs if the notice is about all of them.
    init(for notice: Notice, in agenda: borrowing Agenda, at now: Now) {
        at = now
        accounts =
            switch notice.subject.scope {
            case .job(let job): agenda.account(of: job, at: now).map { .one($0) } ?? .none
            case .allJobs: .all(agenda.accounts(at: now))
            case .none: .none
            }
    }

    /// The fields of the entry.
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

    /// All accounts, `JOB STATE COUNT ACTIVE-USEC ELAPSED-USEC;` each, in as many fields as it takes: of a
    /// longer one the journal would not get the end. How many are left out, of very many, has a field too.
    private func listing(_ accounts: [JobAccount]) -> Logger.Metadata {
        var texts = [""]
        var told = 0
        for account in accounts {
            let line =
                "\(account.job) \(account.state) \(account.basis.rawValue) "
                + "\(account.active.wholeMicroseconds) \(account.accrued.wholeMicroseconds);"
            if texts[texts.count - 1].utf8.count + line.utf8.count > Self.listingBytesMax {
                guard texts.count < Self.listingsMax else { break }
                texts.append("")
            }
            texts[texts.count - 1] += line
            told += 1
        }
        var fields: Logger.Metadata = [:]
        for (index, text) in texts.enumerated() {
            fields[index == 0 ? Self.name : "\(Self.name)_\(index + 1)"] = "\(text)"
        }
        if told < accounts.count { fields["\(Self.name)_LEFT"] = "\(accounts.count - told)" }
        return fields
    }

    private static let name = "TIMERD_ACCOUNTS"
    /// The most bytes of one field: what the journal takes.
    static let listingBytesMax = Journal.valueBytesMax
    /// The most of these fields: enough for the accounts of 100 000 jobs, and less than an entry may have.
    static let listingsMax = Journal.fieldsMax - 28
}

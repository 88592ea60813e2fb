// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import Systemd

/// What standard error is, and so the form of the log.
package enum LogTarget: String, CaseIterable {
    case auto
    case journal
    case stderr
    case json

    /// Whether the log goes to the journal, which has fields, or to a terminal or a file.
    package var isJournal: Bool {
        switch self {
        case .auto: Journal.isStderr
        case .journal: true
        case .stderr, .json: false
        }
    }

    /// Whether its entries have fields. A text on standard error has none.
    package var hasFields: Bool { self == .json || isJournal }
}

/// The lowest level that is logged.
package enum LogLevel: String, CaseIterable {
    case debug
    case info
    case notice
    case warning
    case error

    var level: Logger.Level {
        switch self {
        case .debug: .debug
        case .info: .info
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        }
    }
}

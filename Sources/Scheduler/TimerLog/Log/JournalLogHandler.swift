// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import Systemd
import TimerControl

/// Sends log entries to the journal with their fields.
struct JournalLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    private let journal: Journal
    private let timeout: Duration

    /// - Parameter timeout: how long the calling thread may wait for a slow journal.
    init(journal: Journal, timeout: Duration = .zero) {
        self.journal = journal
        self.timeout = timeout
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields = metadata.merging(event.metadata ?? [:]) { $1 }
        if fields[LogField.identifier] == nil { fields[LogField.identifier] = "timerd" }
        // The fields are cleaned like the message, because `journalctl -x` inserts them into its
        // text.
        journal.send(
            message: Printable.lines("\(event.message)"), priority: event.level.syslogPriority,
            fields: fields.map { Journal.Field($0.key, Printable.text("\($0.value)")) },
            timeout: timeout)
    }
}

extension Logger.Level {
    /// The level of syslog(3), which the journal uses too.
    var syslogPriority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}

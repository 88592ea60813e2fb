// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization

/// The messages of a log.
final class LogMessages: Sendable {
    private let messages = Mutex<[String]>([])

    var all: [String] { messages.withLock { $0 } }

    func logger() -> Logger { Logger(label: "test") { _ in Handler(log: self) } }

    private struct Handler: LogHandler {
        let log: LogMessages
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            log.messages.withLock { $0.append("\(event.level): \(event.message)") }
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Logging
import TimerControl
import TimerCore

/// Writes log entries to standard error as lines for people.
struct TerminalLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    private let wall: @Sendable () -> WallInstant

    init(wall: @escaping @Sendable () -> WallInstant) { self.wall = wall }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Such as `2026-11-21 04:38:52.123 warning: backup: …`; a line of a job's output is `backup|
    /// …`.
    func log(event: LogEvent) {
        let time = LocalTime.text(wall(), milliseconds: true)
        let level = event.level <= .notice ? "" : "\(event.level): "
        let text = Printable.lines("\(event.message)")
        var line =
            if let speaker = event.metadata?[LogField.identifier] {
                "\(time) \(speaker)| \(text)\n"
            } else {
                "\(time) \(level)\(text)\n"
            }
        // One write for the whole line, so that lines of two threads do not mix. If it fails, there
        // is no other place to report that.
        line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

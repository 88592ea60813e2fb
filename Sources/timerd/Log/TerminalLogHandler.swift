// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Logging
import TimerControl
import TimerCore

/// Writes log entries as lines people read, to standard error.
struct TerminalLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    private let wall: @Sendable () -> WallInstant

    init(wall: @escaping @Sendable () -> WallInstant) { self.wall = wall }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// `2026-11-21 04:38:52.123 warning: backup: …`; a line a job wrote is `backup| …`.
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
        // In one write, so that lines of two threads do not mix. Nobody can be told if it fails.
        line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

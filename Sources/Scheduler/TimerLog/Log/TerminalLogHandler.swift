// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import HostThreads
import Logging
import TimerControl
import TimerCore

/// Writes log entries to standard error as lines for people.
struct TerminalLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    private let lines: LineWriter
    private let timeout: Duration
    private let wall: @Sendable () -> WallInstant

    /// - Parameter timeout: how long the calling thread may wait for a reader that does not read.
    init(lines: LineWriter, timeout: Duration, wall: @escaping @Sendable () -> WallInstant) {
        self.lines = lines
        self.timeout = timeout
        self.wall = wall
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let line = Self.line(
            at: wall(), event.level, "\(event.message)",
            speaker: event.metadata?[LogField.identifier].map { "\($0)" })
        lines.write(line, timeout: timeout)
    }

    /// Such as `2026-11-21 04:38:52.123 warning: backup: …`; a line of a job's output is `backup|
    /// …`.
    ///
    /// - Parameter speaker: the job whose output it is.
    static func line(
        at instant: WallInstant, _ level: Logger.Level, _ message: String, speaker: String? = nil
    ) -> String {
        let time = LocalTime.text(instant, milliseconds: true)
        let text = Printable.lines(message)
        guard let speaker else {
            return "\(time) \(level <= .notice ? "" : "\(level): ")\(text)\n"
        }
        return "\(time) \(speaker)| \(text)\n"
    }
}

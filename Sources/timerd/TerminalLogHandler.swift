// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Logging
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
        let text = Printable.text("\(event.message)")
        let line =
            if let speaker = event.metadata?[LogField.identifier] {
                "\(time) \(speaker)| \(text)\n"
            } else {
                "\(time) \(level)\(text)\n"
            }
        // In one write, so that lines of two threads do not mix. Nobody can be told if it fails.
        let bytes = Array(line.utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}

/// Text that shows what it is and does nothing else.
enum Printable {
    /// The text with control characters, which could move a terminal's cursor or feign another line,
    /// written as `\x1b`. Tabs stay.
    static func text(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isControl(scalar) {
                let digits = String(scalar.value, radix: 16)
                shown += "\\x\(digits.utf8.count == 1 ? "0" : "")\(digits)".unicodeScalars
            } else {
                shown.append(scalar)
            }
        }
        return String(shown)
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        (scalar.value < 0x20 && scalar.value != 9) || (0x7f...0x9f).contains(scalar.value)
            // Those that turn the direction of what follows, or break the line.
            || (0x202a...0x202e).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
            || (0x2028...0x2029).contains(scalar.value)
    }
}

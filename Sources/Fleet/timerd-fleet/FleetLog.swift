// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostThreads
import Systemd
import TimerCore
import TimerJSON
import TimerRunnerProtocol

/// The log of this program. Under systemd, standard error is a stream to the journal, which blocks
/// while the journal hangs and stays broken after the journal was restarted. Native entries have
/// neither problem.
struct FleetLog {
    private let journal: Journal?
    private let isJSON: Bool
    /// Standard error, which no thread waits for.
    private let lines: LineWriter

    init(isJSON: Bool) {
        self.isJSON = isJSON
        journal = !isJSON && Journal.isStderr ? Journal() : nil
        lines = LineWriter(STDERR_FILENO) { sentence, _ in
            Self.line(sentence, 4, isJSON: isJSON)
        }
    }

    /// - Parameter priority: of syslog(3): 3 is an error, 4 a warning, 6 information.
    func write(_ text: String, _ priority: Int) {
        guard let journal else { return lines.write(Self.line(text, priority, isJSON: isJSON)) }
        journal.send(
            message: text, priority: priority,
            fields: [("SYSLOG_IDENTIFIER", "timerd-fleet")])
    }

    /// Waits until everything was read, for at most this long.
    func flush() {
        if let journal { return journal.flush(timeout: Self.timeout) }
        lines.flush(timeout: Self.timeout)
    }

    private static let timeout: Duration = .seconds(2)

    private static func line(_ text: String, _ priority: Int, isJSON: Bool) -> String {
        guard isJSON else { return "timerd-fleet: \(text)\n" }
        var line = JSONLine()
        line.add("time", RunnerClock.wall().rfc3339Micros)
        line.add("level", priority <= 3 ? "error" : priority == 4 ? "warning" : "info")
        line.add("message", text)
        line.add("program", "timerd-fleet")
        return line.line
    }

    /// Writes a text of a command that ends then. An error cannot be reported anywhere.
    static func put(_ text: String, to descriptor: Int32 = STDERR_FILENO) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(descriptor, bytes, bytes.count)
    }
}

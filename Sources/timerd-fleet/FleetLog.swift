// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Systemd
import TimerCore
import TimerRunnerProtocol

/// The log of this program. Under systemd, standard error is a stream to the journal, which blocks
/// while the journal hangs and stays broken after the journal was restarted. Native entries have
/// neither problem.
struct FleetLog {
    private let journal: Journal?
    private let isJSON: Bool

    init(isJSON: Bool) {
        self.isJSON = isJSON
        journal = !isJSON && Journal.isStderr ? Journal() : nil
    }

    /// - Parameter priority: of syslog(3): 3 is an error, 4 a warning, 6 information.
    func write(_ text: String, _ priority: Int) {
        if let journal {
            journal.send(
                message: text, priority: priority,
                fields: [("SYSLOG_IDENTIFIER", "timerd-fleet")])
        } else if isJSON {
            var line = JSONLine()
            line.add("time", RunnerClock.wall().rfc3339Micros)
            line.add("level", priority <= 3 ? "error" : priority == 4 ? "warning" : "info")
            line.add("message", text)
            line.add("program", "timerd-fleet")
            Self.put(line.line)
        } else {
            Self.put("timerd-fleet: \(text)\n")
        }
    }

    /// Writes the text with one system call, so that it does not mix with the lines of others. An
    /// error cannot be reported anywhere.
    static func put(_ text: String, to descriptor: Int32 = STDERR_FILENO) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(descriptor, bytes, bytes.count)
    }
}

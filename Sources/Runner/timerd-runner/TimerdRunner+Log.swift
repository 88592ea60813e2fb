// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostThreads
import Synchronization
import Systemd
import TimerCore
import TimerJSON

/// The log of the runner itself, not of its runs.
extension TimerdRunner {
    /// Writes to the log. Under systemd, standard error is a stream to the journal, which blocks
    /// while the journal hangs and stays broken after the journal was restarted. Native entries
    /// have neither problem. In the foreground, standard error is the scheduler's.
    static func log(_ text: String, priority: Int = warning) {
        if isJSON.load(ordering: .relaxed) { return put(line(text, priority)) }
        guard let journal else { return put("timerd-runner: \(text)\n") }
        journal.send(
            message: text, priority: priority,
            fields: [("SYSLOG_IDENTIFIER", "timerd-runner")])
    }

    /// Waits until everything was read, for at most this long.
    static func flushLog() {
        if let journal { return journal.flush(timeout: logTime) }
        lines.flush(timeout: logTime)
    }

    private static let logTime: Duration = .seconds(2)

    private static func line(_ text: String, _ priority: Int) -> String {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        var line = JSONLine()
        line.add(
            "time",
            WallInstant(
                clockSeconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec)
            ).rfc3339Micros)
        line.add("level", priority == error ? "error" : "warning")
        line.add("message", text)
        line.add("program", "timerd-runner")
        return line.line
    }

    /// Writes the text to standard error without waiting for its reader.
    static func put(_ text: String) { lines.write(text) }

    private static let lines = LineWriter(STDERR_FILENO) { sentence, _ in
        isJSON.load(ordering: .relaxed)
            ? line(sentence, warning) : "timerd-runner: \(sentence)\n"
    }

    static let isJSON = Atomic(false)
    /// The journal, if standard error is connected to it.
    private static let journal = Journal.isStderr ? Journal() : nil
    /// Priorities of syslog(3).
    static let error = 3
    private static let warning = 4
}

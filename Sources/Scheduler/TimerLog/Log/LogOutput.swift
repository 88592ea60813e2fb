// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostQueues
import HostThreads
package import Logging
import Systemd
import TimerControl
package import TimerCore

/// Where the log goes: to the journal, or in the foreground to standard error. Neither keeps a
/// queue waiting: a terminal may be stopped, and a program that reads the log may hang.
package struct LogOutput: Sendable {
    private enum Target {
        case journal(Journal)
        case text(LineWriter)
        case json(LineWriter)
    }

    private let target: Target
    private let wall: @Sendable () -> WallInstant

    /// - Parameter wall: the time for the lines of standard error.
    package init(_ target: LogTarget, wall: @escaping @Sendable () -> WallInstant) {
        self.wall = wall
        if target.isJournal {
            self.target = .journal(Journal())
        } else if target == .json {
            self.target = .json(
                LineWriter(STDERR_FILENO) { sentence, lost in
                    JSONLogHandler.line(
                        at: wall(), .warning, sentence,
                        ["TIMERD_EVENT": "log-dropped", "TIMERD_DROPPED": "\(lost)"])
                })
        } else {
            self.target = .text(
                LineWriter(STDERR_FILENO) { sentence, _ in
                    TerminalLogHandler.line(at: wall(), .warning, sentence)
                })
        }
    }

    /// How many entries were lost because nothing read them.
    package var droppedTotal: Int {
        switch target {
        case .journal(let journal): journal.droppedTotal
        case .text(let lines), .json(let lines): lines.lostTotal
        }
    }

    /// Makes this the output of all loggers of the process. It can be called once.
    package func makeLogger(level: LogLevel) -> Logger {
        LoggingSystem.bootstrap { label in
            var handler = handler(
                timeout: label == EventLogger.label ? EventLogger.timeout : .zero)
            handler.logLevel = level.level
            return handler
        }
        return Logger(label: "timerd")
    }

    private func handler(timeout: Duration) -> any LogHandler {
        switch target {
        case .journal(let journal): JournalLogHandler(journal: journal, timeout: timeout)
        case .text(let lines): TerminalLogHandler(lines: lines, timeout: timeout, wall: wall)
        case .json(let lines): JSONLogHandler(lines: lines, timeout: timeout, wall: wall)
        }
    }

    /// Writes the entries that `body` logs together, if the log goes to standard error.
    package func together(_ body: () -> Void) {
        switch target {
        case .journal: body()
        case .text(let lines), .json(let lines): lines.together(body)
        }
    }

    /// Waits until everything was read, for at most this long.
    package func flush(timeout: Duration) {
        switch target {
        case .journal(let journal): journal.flush(timeout: timeout)
        case .text(let lines), .json(let lines): lines.flush(timeout: timeout)
        }
    }
}

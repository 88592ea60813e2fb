// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostThreads
import Logging
import Systemd
import TimerControl
import TimerCore

/// Where the log goes: to the journal, or in the foreground to standard error. Neither keeps a
/// queue waiting: a terminal may be stopped, and a program that reads the log may hang.
extension Daemon {
    /// What the lines of the log are written with, if they go to standard error.
    static func standardError(_ options: Options, clocks: Clocks) -> LineWriter {
        let isJSON = options.log == .json
        return LineWriter(STDERR_FILENO) { lost in
            let message =
                "\(plural(lost, "line")) of the log \(lost == 1 ? "was" : "were") dropped here: "
                + "nothing read standard error"
            let now = clocks.now().wall
            return isJSON
                ? JSONLogHandler.line(
                    at: now, .warning, message,
                    ["TIMERD_EVENT": "log-dropped", "TIMERD_DROPPED": "\(lost)"])
                : TerminalLogHandler.line(at: now, .warning, message)
        }
    }

    static func makeLog(
        _ options: Options, _ journal: Journal?, _ lines: LineWriter?, clocks: Clocks
    ) -> Logger {
        let level = options.logLevel.level
        let wall: @Sendable () -> WallInstant = { clocks.now().wall }
        LoggingSystem.bootstrap { label in
            let patience = label == EventLogger.label ? EventLogger.timeout : .zero
            var handler: any LogHandler =
                if let journal {
                    JournalLogHandler(journal: journal, timeout: patience)
                } else if let lines {
                    options.log == .json
                        ? JSONLogHandler(lines: lines, patience: patience, wall: wall)
                        : TerminalLogHandler(lines: lines, patience: patience, wall: wall)
                } else {
                    SwiftLogNoOpLogHandler()
                }
            handler.logLevel = level
            return handler
        }
        return Logger(label: "timerd")
    }
}

extension RunCommand.LogLevel {
    fileprivate var level: Logger.Level {
        switch self {
        case .debug: .debug
        case .info: .info
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import HostThreads
import Logging
import TimerCore
import TimerJSON

/// Writes log entries to standard error as JSON, one object per line: `time` in UTC, `level`,
/// `message`, and the fields of the journal, without `TIMERD_` and in lower case. The output of a
/// job has the event `output`.
struct JSONLogHandler: LogHandler {
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
        let fields = metadata.merging(event.metadata ?? [:]) { $1 }
        let line = Self.line(
            at: wall(), event.level, "\(event.message)", fields.mapValues { "\($0)" })
        lines.write(line, timeout: timeout)
    }

    /// The entry as a JSON object with a newline.
    static func line(
        at instant: WallInstant, _ level: Logger.Level, _ message: String,
        _ fields: [String: String]
    ) -> String {
        var line = JSONLine()
        line.add("time", instant.rfc3339Micros)
        line.add("level", "\(level)")
        line.add("message", message)
        let named = fields.filter { $0.key != LogField.identifier }
            .map { (name: name(of: $0.key), value: $0.value) }
        for (name, value) in named.sorted(by: { $0.name < $1.name }) {
            if isNumber(name), let number = Int64(value) {
                line.add(name, number)
            } else {
                line.add(name, value)
            }
        }
        return line.line
    }

    /// The same names as in the answers of the control socket: `TIMERD_RUN_ID` is `run`.
    private static func name(of key: String) -> String {
        let prefix = "TIMERD_"
        guard key != "TIMERD_RUN_ID" else { return "run" }
        return (key.hasPrefix(prefix) ? String(key.dropFirst(prefix.count)) : key).lowercased()
    }

    private static func isNumber(_ name: String) -> Bool {
        name.hasSuffix("_usec") || name.hasSuffix("_nsec") || name.hasSuffix("_usec_max")
            || numbers.contains(name)
    }

    /// Other fields that are numbers. The name of a job may look like a number, but is always a
    /// string.
    private static let numbers: Set = [
        "jobs", "counting", "missed", "skips", "dropped", "leftovers", "changed", "unchanged",
        "refused",
    ]
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// One key of a job's table: its name, whether `[defaults]` may have it, and what reads it.
///
/// A new key is one entry in `all`, and its field in `Draft`.
struct JobKey: Sendable {
    let name: String
    let isDefault: Bool
    let read: @Sendable (TomlNode, inout Draft) throws(Fault) -> Void

    init(
        _ name: String, default isDefault: Bool = true,
        _ read: @escaping @Sendable (TomlNode, inout Draft) throws(Fault) -> Void
    ) {
        self.name = name
        self.isDefault = isDefault
        self.read = read
    }

    static let all: [JobKey] = [
        JobKey("description", default: false) { node, draft throws(Fault) in
            draft.description = try node.string()
        },
        JobKey("command", default: false) { node, draft throws(Fault) in
            draft.command = .arguments(try node.arguments())
        },
        JobKey("shell", default: false) { node, draft throws(Fault) in
            let line = try node.string()
            guard !line.isEmpty else { throw Fault(node.mark, "the command line is empty") }
            draft.shell = .shell(line)
        },
        JobKey("every", default: false) { node, draft throws(Fault) in
            draft.every = try node.interval()
        },
        JobKey("after", default: false) { node, draft throws(Fault) in
            draft.after = try node.interval()
        },
        JobKey("first") { node, draft throws(Fault) in draft.first = try node.span() },
        JobKey("count") { node, draft throws(Fault) in
            draft.count = try node.choice(of: TimeBasis.allCases.map { ($0.rawValue, $0) })
        },
        JobKey("paused") { node, draft throws(Fault) in draft.paused = try node.boolean() },
        JobKey("environment") { node, draft throws(Fault) in
            draft.environment.merge(try node.environment()) { $1 }
        },
        JobKey("working-directory") { node, draft throws(Fault) in
            let path = try node.string()
            guard path.hasPrefix("/") else {
                throw Fault(node.mark, "\"\(path)\" must be an absolute path, beginning with /")
            }
            draft.workingDirectory = path
        },
    ]
}

/// One key of the table `[daemon]`.
struct DaemonKey: Sendable {
    let name: String
    let read: @Sendable (TomlNode, inout DaemonSettings) throws(Fault) -> Void

    static let all: [DaemonKey] = [
        DaemonKey(name: "max-concurrent") { node, settings throws(Fault) in
            settings.maxConcurrent = try node.integer(in: 1...10_000)
        },
        DaemonKey(name: "history") { node, settings throws(Fault) in
            settings.history = try node.span()
        },
        DaemonKey(name: "jobs-max") { node, settings throws(Fault) in
            settings.jobsMax = try node.integer(in: 1...1_000_000)
        },
    ]
}

/// What a job's table says, on top of what `[defaults]` says.
struct Draft: Sendable {
    var description: String?
    var command: Job.Command?
    var shell: Job.Command?
    var every: Duration?
    var after: Duration?
    var first: Duration?
    var count = TimeBasis.active
    var paused = false
    var environment: [String: String] = [:]
    var workingDirectory: String?

    /// The job, if the table says what one needs.
    func job(named name: Job.Name, at mark: SourceMark) throws(Fault) -> Job {
        let commands = [("command", command), ("shell", shell)].filter { $0.1 != nil }
        let schedules = [("every", every), ("after", after)].filter { $0.1 != nil }
        try Self.checkOne(of: commands.map(\.0), among: "command or shell", at: mark)
        try Self.checkOne(of: schedules.map(\.0), among: "every or after", at: mark)
        guard let command = command ?? shell,
            let schedule = every.map(Schedule.every) ?? after.map(Schedule.after)
        else { throw Fault(mark, "a command and a schedule are missing") }
        return Job(
            name: name, command: command, schedule: schedule, description: description,
            first: every == nil ? nil : first, count: count, paused: paused,
            environment: environment, workingDirectory: workingDirectory)
    }

    private static func checkOne(
        of found: [String], among names: String, at mark: SourceMark
    ) throws(Fault) {
        guard !found.isEmpty else { throw Fault(mark, "one of \(names) is missing") }
        guard found.count == 1 else {
            throw Fault(mark, "\(found.joined(separator: " and ")) exclude each other; keep one")
        }
    }
}

/// What is wrong at a place of the file being read.
struct Fault: Error {
    var mark: SourceMark
    var message: String

    init(_ mark: SourceMark, _ message: String) {
        self.mark = mark
        self.message = message
    }
}

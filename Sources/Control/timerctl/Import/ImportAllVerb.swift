// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerImport

/// A command that makes jobs of one source.
protocol ImportSourceVerb: ParsableCommand {
    var output: ImportOutput { get }
    /// The jobs, and what is to be said of their source. Nothing is printed.
    func imported() throws -> (ImportResult, ImportOutput.Source)
}

extension ImportSourceVerb {
    func run() throws {
        let (result, source) = try imported()
        try output.finish(result, of: source)
    }
}

struct ImportAllVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "all",
        abstract:
            "Look at all schedules of this machine, and say what an import would make of each.",
        discussion: """
            It looks at the crontabs of the system and of all users, at anacron and at the timers of systemd. Nothing is \
            imported: for each source the command is printed that does it. timerctl import --all is the same.

            --switch moves the jobs over: timerd runs them, and cron and systemd do not any more. No run is lost or \
            doubled, wherever it is interrupted; the same command again goes on. --back undoes it.
            """)

    @Flag(help: "Switch crontabs and timers to timerd.")
    var `switch` = false

    @Flag(help: "Switch them back: what --switch did is undone.")
    var back = false

    @Option(
        help: ArgumentHelp(
            "Only this source: a user, a file such as /etc/cron.d/backup, or a timer.",
            valueName: "source"))
    var only: [String] = []

    @Flag(name: .shortAndLong, help: "Do not ask.")
    var yes = false

    @Option(help: ArgumentHelp("When to use colors.", valueName: "when"))
    var color = Screen.ColorChoice.auto

    /// A source, and the arguments of `import` for it.
    private struct Found {
        var name: String
        var arguments: [String]
        var verb: any ImportSourceVerb.Type
    }

    func validate() throws {
        guard !self.switch || !back else {
            throw ValidationError("--switch and --back exclude each other")
        }
        guard self.switch || back || only.isEmpty && !yes else {
            throw ValidationError("--only and --yes go with --switch or --back")
        }
    }

    func run() throws {
        guard !self.switch, !back else {
            var command = try SwitchCommand(back ? .back : .toTimerd, only: only, isYes: yes)
            return try command.run()
        }
        let screen = Screen.standardOutput(color: color)
        let found = Self.sources()
        guard !found.isEmpty else {
            throw Connection.fail(
                2, "there is no crontab, no table of anacron and no timer that you may read")
        }
        var rows: [[TextTable.Cell]] = []
        var details: [String] = []
        var status = ImportResult.Exactness.exact
        for one in found {
            guard let (result, _) = try? one.verb.parse(Array(one.arguments.dropFirst())).imported()
            else {
                // Why is on standard error.
                rows.append([.init(one.name), .init("-"), .init("-"), .init("-", .bad)])
                status = .withNotes
                continue
            }
            let notes = result.jobs.reduce(0) { $0 + $1.notes.count } + result.report.noted.count
            let refused = result.report.refused.count
            rows.append([
                .init(one.name), .init("\(result.jobs.count)"),
                .init("\(notes)", notes > 0 ? .waiting : .plain),
                .init("\(refused)", refused > 0 ? .bad : .plain),
            ])
            if result.exactness != .exact { status = .withNotes }
            details += [""] + Self.details(of: result, one, on: screen)
        }
        let columns: [TextTable.Column] = [
            .init("SOURCE", .wrap, least: 20), .init("JOBS", isNumber: true),
            .init("NOTES", isNumber: true), .init("NOT IMPORTED", isNumber: true),
        ]
        let table = TextTable(columns, rows).fitted(to: screen.columns)
        Pager.print(
            (table.lines(color: screen.hasColor) + details).joined(separator: "\n"),
            isAllowed: true)
        guard status != .exact else { return }
        throw ExitCode(status.rawValue)
    }

    /// How many deviations of a source are printed.
    private static let detailsMax = 10

    private static func details(
        of result: ImportResult, _ one: Found, on screen: Screen
    ) -> [String] {
        let all =
            result.report.shown.entries.compactMap(\.message)
            + result.jobs.flatMap { job in
                job.notes.map { "\(job.place): job \(job.name): note: \($0)" }
            }
        var lines = ["\(one.name): timerctl import \(one.arguments.joined(separator: " "))"]
        lines += all.prefix(detailsMax).flatMap { screen.lines($0, after: "    ") }
        if all.count > detailsMax {
            lines.append("    and \(all.count - detailsMax) more, which this command prints")
        }
        return lines
    }

    private static func sources() -> [Found] {
        var found: [Found] = []
        let folder = ImportCrontabVerb.systemFolder
        if access(ImportCrontabVerb.systemTable, R_OK) == 0
            || !ImportCrontabVerb.names(in: folder).isEmpty
        {
            found.append(
                Found(
                    name: "\(ImportCrontabVerb.systemTable) and \(folder)",
                    arguments: ["crontab", "--system"], verb: ImportCrontabVerb.self))
        }
        found += ImportCrontabVerb.usersWithTable.map { user in
            Found(
                name: "the crontab of \(user)",
                arguments: ["crontab", "--user", CrontabSwitch.quoted(user)],
                verb: ImportCrontabVerb.self)
        }
        if access("/etc/anacrontab", R_OK) == 0 {
            found.append(
                Found(
                    name: "/etc/anacrontab", arguments: ["anacrontab"],
                    verb: ImportAnacrontabVerb.self))
        }
        if !UnitSearch(root: nil).timers().isEmpty {
            found.append(
                Found(
                    name: "the timers of systemd", arguments: ["systemd", "--all"],
                    verb: ImportSystemdVerb.self))
        }
        return found
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl
import TimerCore

struct ListVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "All jobs in a table.",
        discussion: """
            On a terminal the table fits its width, and the columns that matter least are left out; --full shows all.
            """)
    static let reading = Reading.all

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case table, json, jsonl, csv, names
    }

    @OptionGroup var connection: Connection

    @Argument(
        help: ArgumentHelp(
            "Only these jobs, or jobs with such names, as \"db-*\".", valueName: "job|pattern"),
        completion: .jobNames)
    var jobs: [String] = []

    @OptionGroup var filter: ListFilter

    @Option(
        help: ArgumentHelp(
            "Show these columns, separated by commas: "
                + JobColumn.allCases.map(\.rawValue).joined(separator: ", ") + ".",
            valueName: "list"), transform: Self.columns)
    var columns: [JobColumn]?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "What to print: a table, JSON, a line of JSON for each job, CSV, or names alone.",
            valueName: "format"))
    var output: Format?

    @Flag(help: "Print the names alone, one a line; the same as -o names.")
    var names = false

    @Flag(name: .shortAndLong, help: "Show the table again every 2 seconds, until interrupted.")
    var watch = false

    private static func columns(_ text: String) throws -> [JobColumn] {
        try text.split(separator: ",", omittingEmptySubsequences: false).map { word in
            guard let column = JobColumn(rawValue: String(word)) else {
                let known = JobColumn.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("there is no column \"\(word)\"; there are \(known)")
            }
            return column
        }
    }

    func validate() throws {
        let formats = [names, connection.json, output != nil].count { $0 }
        guard formats <= 1 else {
            throw ValidationError("--names, --json and --output exclude each other")
        }
        let format = format
        if columns != nil, format != .table, format != .csv {
            throw ValidationError("--columns is for tables and CSV")
        }
        if watch, format != .table { throw ValidationError("--watch is for tables") }
    }

    private var format: Format { names ? .names : connection.json ? .json : output ?? .table }

    func run() throws {
        switch format {
        case .table:
            if watch { return try runWatch() }
            Pager.print(try table(on: connection.screen), isAllowed: !connection.noPager)
        case .json:
            // Prints the line of the daemon unchanged: it may contain members that this version
            // does not know.
            guard !isOfAll else {
                return print(try connection.line(.list))
            }
            var (status, jobs) = try whole()
            status.jobs = jobs
            try printJSON(status)
        case .jsonl: for job in try whole().jobs { try printJSON(job) }
        case .csv:
            let columns = columns ?? JobColumn.standardFields
            let jobs = try selected(connection.ask(.list, for: JobTable.self))
            print(CSV.line(columns.map(\.field)))
            for job in jobs { print(CSV.line(columns.map { $0.value(job) })) }
        case .names:
            guard !isOfAll else {
                let found = try connection.ask(.list, for: JobNames.self)
                return print(found.jobs.map { $0.job + "\n" }.joined(), terminator: "")
            }
            for job in try selected(connection.ask(.list, for: JobTable.self)) { print(job.job) }
        }
    }

    private var isOfAll: Bool { filter.isAll && filter.sort == nil && jobs.isEmpty }

    private func selected(_ table: JobTable) throws -> [JobTable.Row] {
        for job in jobs where !table.jobs.contains(where: { NamePatterns.admit($0.job, as: job) }) {
            let near = nearestName(job, among: table.jobs.map(\.job))
                .map { " (did you mean \"\($0)\"?)" }
            throw Connection.fail(
                4,
                "no job is named \"\(Printable.text(job))\"\(near ?? ""); `timerctl list` shows the jobs"
            )
        }
        return admitted(table)
    }

    /// The same without an error if there is none of a name.
    private func admitted(_ table: JobTable) -> [JobTable.Row] {
        let found = filter.apply(to: table.jobs)
        guard !jobs.isEmpty else { return found }
        return found.filter { row in jobs.contains { NamePatterns.admit(row.job, as: $0) } }
    }

    /// The whole answer of the daemon, with the selected jobs.
    private func whole() throws -> (DaemonStatus, jobs: [JobStatus]) {
        let body = try connection.body(.list)
        let status = try connection.decode(DaemonStatus.self, from: body)
        let names = try selected(connection.decode(JobTable.self, from: body)).map(\.job)
        let jobs = Dictionary(status.jobs.map { ($0.job, $0) }) { first, _ in first }
        return (status, names.compactMap { jobs[$0] })
    }

    private func printJSON(_ value: some Encodable) throws {
        print(
            Printable.json(String(decoding: try ControlJSON.encode(value), as: UTF8.self)))
    }

    private func table(on screen: Screen) throws -> String {
        let status = try connection.ask(.list, for: JobTable.self)
        return Text.table(status, try selected(status), columns: columns, on: screen)
    }

    /// Draws over the old lines, one by one, to avoid flicker. If the daemon does not answer, tries
    /// again.
    private func runWatch() throws {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        if isTerminal { Terminal.put("\u{1b}[2J") }
        while true {
            let screen = connection.screen
            var lines: [String]
            do throws(Connection.Failure) {
                let status = try connection.table()
                let text = Text.table(status, admitted(status), columns: columns, on: screen)
                lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(
                    String.init)
            } catch {
                guard error.isAway else { throw error.exit }
                lines = [Printable.text("timerctl: \(error.message)")]
            }
            if isTerminal {
                if let rows = screen.rows, lines.count > rows - 1 {
                    // The last line has the number of jobs.
                    lines = lines.prefix(rows - 2) + lines.suffix(1)
                }
                Terminal.put("\u{1b}[H" + lines.map { "\($0)\u{1b}[K\n" }.joined() + "\u{1b}[J")
            } else {
                Terminal.put(lines.joined(separator: "\n") + "\n\n")
            }
            sleep(2)
        }
    }
}

/// Comma-separated values (RFC 4180), with line feeds as line ends.
enum CSV {
    /// Control characters are written as `\\x1b`, as in all output for people, because the output
    /// may go to a terminal.
    static func line(_ values: [String]) -> String {
        values.map { quoted(Printable.text($0)) }.joined(separator: ",")
    }

    private static func quoted(_ value: String) -> String {
        guard value.utf8.contains(where: { "\",\r\n".utf8.contains($0) }) else { return value }
        return "\""
            + value.split(separator: "\"", omittingEmptySubsequences: false).joined(
                separator: "\"\"") + "\""
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl
import TimerCore
import TimerImport

/// `timerctl import --all --switch` and `--back`: which sources there are, what is asked, and what is printed.
struct SwitchCommand {
    let direction: SwitchState.Direction
    /// The names of the sources to switch; none: all.
    let only: [String]
    /// Whether nothing is asked.
    let isYes: Bool

    private let connection: Connection
    private let folder: SwitchFolder
    /// What is said of sources that stay where they are.
    private var left: [String] = []
    private var hasNotes = false

    /// - Throws: the exit status, after it is said why.
    init(_ direction: SwitchState.Direction, only: [String], isYes: Bool) throws {
        (self.direction, self.only, self.isYes) = (direction, only, isYes)
        connection = try Connection.parse([])
        folder = try SwitchFolder(connection)
    }

    mutating func run() throws {
        let items = direction == .toTimerd ? try itemsToTimerd() : itemsBack()
        let unknown = only.filter { name in !isNamed.contains(name) }
        guard unknown.isEmpty else {
            throw Connection.fail(
                2,
                "--only: there is no crontab, no file of /etc/cron.d and no timer \"\(unknown[0])\" to switch"
            )
        }
        guard !items.isEmpty else {
            Terminal.put(left.map { $0 + "\n" }.joined())
            if left.isEmpty { Terminal.complain("timerctl: there is nothing to switch") }
            if hasNotes { throw ExitCode(1) }
            return
        }
        try confirm(items)
        var switching = Switching(connection, folder, items)
        switching.run()
        try report(switching)
    }

    /// The sources that `--only` has named so far.
    private var isNamed: Set<String> = []

    private mutating func isChosen(_ source: SwitchedSource) -> Bool {
        isNamed.insert(source.name)
        return only.isEmpty || only.contains(source.name)
    }

    // MARK: - Sources

    private mutating func itemsToTimerd() throws -> [Switching.Item] {
        var discovery = try SwitchDiscovery(connection)
        var items: [Switching.Item] = []
        for source in sources() where isChosen(source) {
            do throws(SwitchFault) {
                if let item = try item(source, &discovery) { items.append(item) }
            } catch { leave(source, error.message) }
        }
        if only.isEmpty, geteuid() == 0, access("/etc/anacrontab", R_OK) == 0 {
            left.append(
                "/etc/anacrontab: not switched: `timerctl import anacrontab --disable-source` prints how to do it"
            )
            hasNotes = true
        }
        return items
    }

    /// The crontabs and the active timers, and what has a file already.
    private mutating func sources() -> [SwitchedSource] {
        var sources = SwitchDiscovery.tables
        for unit in SwitchDiscovery.timers {
            do throws(SwitchFault) {
                guard let start = try SwitchTimer.start(of: unit) else { continue }
                sources.append(.timer(unit, start))
            } catch { leave(.timer(unit, .enabled), error.message) }
        }
        let switched = folder.files.sorted { $0.key < $1.key }.map(\.value.source)
        return sources + switched.filter { one in !sources.contains { $0.isSame(as: one) } }
    }

    private mutating func item(
        _ source: SwitchedSource, _ discovery: inout SwitchDiscovery
    ) throws(SwitchFault) -> Switching.Item? {
        var item = Switching.Item(source: source, direction: .toTimerd)
        guard folder.name(of: source) == nil else { return item }
        if let table = SwitchTable(source), MarkedTable(try table.read().bytes).isSwitched {
            throw SwitchFault(
                "its lines are switched off, and there is no file of their jobs in jobs.d; --back switches them on"
            )
        }
        let imported = try discovery.imported(source)
        if case .timer = source {
            if let why = imported.result.switchRefusal { throw SwitchFault(why) }
        } else if imported.result.jobs.isEmpty, imported.result.report.refused.isEmpty {
            return nil
        }
        if let why = imported.result.switchRefusal { throw SwitchFault(why) }
        item.imported = imported
        return item
    }

    private mutating func itemsBack() -> [Switching.Item] {
        var sources = folder.files.sorted { $0.key < $1.key }.map(\.value.source)
        for table in SwitchDiscovery.tables where !sources.contains(table) {
            let bytes = (try? SwitchTable(table)?.read().bytes) ?? []
            if MarkedTable(bytes).isSwitched { sources.append(table) }
        }
        let chosen = sources.filter { isChosen($0) }
        // Who names one again, such as after an interruption, has what was asked for.
        let others = SwitchDiscovery.tables + SwitchDiscovery.timers.map { .timer($0, .enabled) }
        for other in others where !only.isEmpty && isChosen(other) {
            guard !chosen.contains(where: { $0.isSame(as: other) }) else { continue }
            left.append("\(other): \(other.scheduler) runs it")
        }
        return chosen.map { .init(source: $0, direction: .back) }
    }

    private mutating func leave(_ source: SwitchedSource, _ why: String) {
        guard isChosen(source) else { return }
        hasNotes = true
        left.append("\(source): not switched, and stays with \(source.scheduler): \(why)")
    }

    // MARK: - Output

    private func confirm(_ items: [Switching.Item]) throws {
        guard !isYes, Terminal.canAsk else { return }
        let lines = items.map { item in
            let count = item.imported.map { ": \(plural($0.result.jobs.count, "job"))" } ?? ""
            return "  \(item.source)\(count)"
        }
        try Terminal.confirm(
            direction == .toTimerd ? "Switch them to timerd?" : "Switch them back?",
            about: (left + lines).joined(separator: "\n"))
    }

    private func report(_ switching: Switching) throws {
        var lines = left
        var isClean = !hasNotes
        for index in switching.items.indices {
            let item = switching.items[index]
            if let fault = item.fault {
                isClean = false
                lines.append("\(item.source): not switched: \(fault)")
                continue
            }
            lines.append(
                "\(item.source): "
                    + (direction == .toTimerd
                        ? done(item, switching.file(of: index))
                        : "\(item.source.scheduler) runs it again"))
            guard let result = item.imported?.result else { continue }
            let refused = result.report.refused.compactMap(\.message)
            if result.exactness != .exact { isClean = false }
            lines += refused.map { "    stays with \(item.source.scheduler): \($0)" }
        }
        if direction == .toTimerd, switching.items.contains(where: { $0.fault == nil }) {
            lines.append(
                "`timerctl import --all --back` switches the crontabs and timers on again, and removes their jobs from timerd."
            )
        }
        Terminal.put(lines.map { Printable.lines($0) + "\n" }.joined())
        guard isClean else { throw ExitCode(1) }
    }

    private func done(_ item: Switching.Item, _ found: (name: String, file: SwitchFile)?) -> String
    {
        guard let found else { return "has no jobs any more" }
        let jobs = plural(found.file.jobs.count, "job")
        guard item.changes > 0 else { return "\(jobs), switched before" }
        let notes = item.imported?.result.jobs.reduce(0) { $0 + $1.notes.count } ?? 0
        return "\(jobs) switched to timerd, in \(folder.path(of: found.name))"
            + (notes > 0 ? ", with \(plural(notes, "note"))" : "")
    }
}

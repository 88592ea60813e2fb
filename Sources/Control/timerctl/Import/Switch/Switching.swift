// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerControl
import TimerCore
import TimerImport

/// Switches sources to timerd or back, one change after the other (`SwitchState`).
///
/// What is to be done next is read from the files and from systemd after each change. So it does not matter where an
/// earlier command was interrupted.
struct Switching {
    /// A source, and what becomes of it.
    struct Item {
        let source: SwitchedSource
        /// Where it goes; the other way once something has failed.
        var direction: SwitchState.Direction
        /// The jobs of a source that has no file yet.
        var imported: SwitchDiscovery.Imported?
        /// Whether the next boot starts its timer, which goes back to systemd.
        var isPrepared = false
        /// Whether its guards were tried as the users of its jobs.
        var isTried = false
        var changes = 0
        /// Why it is not switched.
        var fault: String?
        var isDone = false
    }

    let connection: Connection
    let folder: SwitchFolder
    let timing: SwitchTiming
    var items: [Item]

    init(_ connection: Connection, _ folder: SwitchFolder, _ items: [Item]) {
        (self.connection, self.folder, self.items) = (connection, folder, items)
        timing = SwitchTiming(connection: connection)
    }

    /// Makes all changes. What fails is in the items.
    mutating func run() {
        loadAll()
        while true {
            var commits: [Int] = []
            var written: [Int] = []
            // A change of a source must be on the disk before a file says so.
            if items.contains(where: { !$0.isDone }) { sync() }
            for index in items.indices where !items[index].isDone {
                attempt(index) { (switching) throws(SwitchFault) in
                    guard let step = try switching.next(index) else { return }
                    if step.isCommit {
                        commits.append(index)
                    } else {
                        try switching.write(step, index)
                        written.append(index)
                    }
                }
            }
            if !written.isEmpty {
                load(written)
            } else if !commits.isEmpty {
                commit(commits)
            } else if items.allSatisfy(\.isDone) {
                return
            }
        }
    }

    /// The next change of a source; nil if it is done.
    private mutating func next(_ index: Int) throws(SwitchFault) -> SwitchState.Step? {
        let state = try state(of: index)
        if let step = state.next(items[index].direction) { return step }
        // Such as an upgrade can enable a timer again.
        if state.file == .plain { try timer(index)?.keepOff() }
        items[index].isDone = true
        return nil
    }

    /// Does something with a source. If it fails, and a part of the way is done, the source goes back to where it came
    /// from.
    mutating func attempt(
        _ index: Int, _ body: (inout Switching) throws(SwitchFault) -> Void
    ) {
        do throws(SwitchFault) { try body(&self) } catch { fail(index, error.message) }
    }

    mutating func fail(_ index: Int, _ why: String) {
        guard items[index].fault == nil else {
            // It cannot go back either: the next command tries again.
            items[index].fault?.append("; and then: \(why)")
            items[index].isDone = true
            return
        }
        items[index].fault = why
        // What an earlier command has finished stays as it is.
        guard items[index].changes > 0 || file(of: index)?.file.isGuarded == true else {
            items[index].isDone = true
            return
        }
        items[index].direction = items[index].direction == .toTimerd ? .back : .toTimerd
    }

    // MARK: - What is there

    func file(of index: Int) -> (name: String, file: SwitchFile)? {
        guard let name = folder.name(of: items[index].source), let file = folder.files[name] else {
            return nil
        }
        return (name, file)
    }

    func timer(_ index: Int) -> SwitchTimer? {
        // The file says how the timer was started before it was switched off.
        let source = file(of: index)?.file.source ?? items[index].source
        guard case .timer(let unit, let start) = source else { return nil }
        return SwitchTimer(unit: unit, start: start)
    }

    func state(of index: Int) throws(SwitchFault) -> SwitchState {
        let file = file(of: index)?.file
        let kind: SwitchState.File =
            file.map { $0.isGuarded ? .guarded : .plain } ?? .missing
        guard let table = SwitchTable(items[index].source) else {
            let tool = try Tool.run(SwitchGuard.command(of: items[index].source))
            guard tool.code == 0 || tool.code == SwitchGuard.stillOn else {
                throw SwitchFault(tool.complaint)
            }
            return SwitchState(kind, isSourceOn: tool.code != 0)
        }
        let marked = MarkedTable(try table.read().bytes)
        let hasLines = !marked.on(of: file?.tableLines ?? []).isEmpty
        guard marked.isSwitched else {
            // A crontab that no longer has the lines runs none of them.
            return SwitchState(kind, isSourceOn: kind != .plain || hasLines)
        }
        // If someone has switched some of the lines on by hand, all of them have to go one way.
        return SwitchState(
            kind, isSourceOn: hasLines && items[index].direction == .toTimerd)
    }

    // MARK: - Files

    private mutating func write(_ step: SwitchState.Step, _ index: Int) throws(SwitchFault) {
        items[index].changes += 1
        let source = items[index].source
        switch (step, file(of: index)) {
        case (.load, _):
            guard let imported = items[index].imported else {
                throw SwitchFault("it has changed meanwhile; run the command again")
            }
            try folder.write(
                SwitchFile(source, imported.result, tableLines: imported.tableLines),
                as: folder.freeName(for: source), isSecret: imported.isSecret)
        case (.addGuards, let found?), (.removeGuards, let found?):
            if step == .removeGuards {
                try timer(index)?.keepOff()
                sync()
            }
            try folder.write(
                found.file.withGuards(step == .addGuards), as: found.name, isSecret: true)
        case (.removeFile, let found?): try folder.remove(found.name)
        default: throw SwitchFault("its file in jobs.d was removed meanwhile")
        }
    }

    /// Makes the daemon load what an earlier command has written. It may have been killed before it did that, and the
    /// next change relies on it.
    private mutating func loadAll() {
        let written = items.indices.filter { file(of: $0) != nil }
        guard !written.isEmpty else { return }
        load(written)
        // Nothing was changed, and nothing has to go back.
        for index in written where items[index].fault != nil { items[index].isDone = true }
    }

    /// How long a daemon is waited for that is being restarted.
    private static let daemonSeconds = 30

    /// Makes the daemon load the files, and checks that it has.
    private mutating func load(_ written: [Int]) {
        guard let reply = reload(written) else { return }
        for index in written {
            attempt(index) { (switching) throws(SwitchFault) in
                guard let found = switching.file(of: index) else { return }
                guard !reply.refusedFiles.contains(where: { $0.hasSuffix(found.name) }) else {
                    let errors = reply.errors.filter { $0.contains(found.name) }
                    throw SwitchFault(
                        "timerd refuses \(found.name): \(errors.joined(separator: "; "))")
                }
                let text = SwitchGuard.command(of: found.file.source).joined(separator: " ")
                for job in found.file.jobs {
                    let checks = try switching.answered(job).condition?.checks ?? []
                    let isGuarded = checks.contains { $0.hasPrefix("command \(text)") }
                    guard isGuarded == found.file.isGuarded else {
                        throw SwitchFault(
                            "timerd has not loaded job \(job) of \(found.name); see `timerctl reload`"
                        )
                    }
                }
            }
        }
    }

    private mutating func reload(_ written: [Int]) -> ReloadReply? {
        var message = ""
        for _ in 0..<Self.daemonSeconds {
            do throws(Connection.Failure) {
                let query = ReloadQuery(isStrict: false)
                return try connection.value(ReloadReply.self, of: .reload(query))
            } catch {
                message = error.message
                guard !error.isRefusal else { break }
            }
            sleep(1)
        }
        for index in written { fail(index, "timerd does not load its jobs: \(message)") }
        return nil
    }

    private func answered(_ job: String) throws(SwitchFault) -> JobStatus {
        for _ in 0..<Self.daemonSeconds {
            if let status = try timing.status(of: job) { return status }
            sleep(1)
        }
        throw SwitchFault("timerd does not answer")
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import HostFiles
import TimerControl
import TimerCore

struct ResumeVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resume paused jobs, as each job's on-resume says.",
        discussion: """
            --all and --match ask before they end a pause of another user, or one with a note; without a terminal \
            they refuse to end a pause of another user. --by and --note choose pauses, and --yes does not ask. A \
            pause that has changed meanwhile is not ended.
            """)
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection
    @OptionGroup var argument: MatchedJobs
    @OptionGroup var pauses: PauseFilter

    @Flag(name: .shortAndLong, help: "Do not ask.")
    var yes = false

    func validate() throws {
        if argument.jobs.isEmpty {
            guard argument.all || !argument.names.isEmpty || !pauses.isEmpty else {
                throw ValidationError(
                    "name a job, or choose jobs with --all, --match, --by or --note")
            }
        } else if !pauses.isEmpty {
            throw ValidationError("name jobs, or choose them with --by or --note, not both")
        }
    }

    func run() throws {
        guard argument.jobs.isEmpty else {
            return try connection.command(.resume, .jobs(argument.jobs), done: "resumed")
        }
        if yes, argument.names.isEmpty, pauses.isEmpty {
            return try connection.commandMany(.resume, .all, done: "resumed")
        }
        let table = try connection.ask(.list, for: JobTable.self, forChange: true)
        let found = table.jobs.filter {
            $0.state == "paused" && $0.paused?.isOfHold != true && argument.names.admit($0.job)
                && pauses.admits($0)
        }
        guard !found.isEmpty else {
            return try connection.show(CommandsReply(results: [])) { nothingFound }
        }
        // An option that selects pauses by their user or note is consent enough.
        if !yes, pauses.isEmpty { try ResumeConfirmation(found).ask() }
        // The pauses for which the user consented. A pause that changes meanwhile is not ended.
        let seen = found.compactMap { job in job.paused.map { NamedPause(job: job.job, $0) } }
        try connection.commandMany(.resume, .pauses(seen), done: "resumed")
    }

    private var nothingFound: String {
        argument.names.isEmpty && pauses.isEmpty
            ? "nothing to do: no job is paused" : "nothing to do: no paused job matches"
    }
}

/// Options that select pauses by what they say.
struct PauseFilter: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only jobs that this user paused.", valueName: "user"))
    var by: String?

    @Option(
        help: ArgumentHelp(
            "Only paused jobs whose note contains this text.", valueName: "text"))
    var note: String?

    /// Whether there is no option, so that every job is selected, paused or not.
    var isEmpty: Bool { by == nil && note == nil }

    func admits(_ job: JobTable.Row) -> Bool {
        (by == nil || job.paused?.by == by)
            && note.map { job.paused?.note?.contains($0) == true } ?? true
    }
}

/// Decides whether pauses of several users may be ended at once.
struct ResumeConfirmation {
    /// How many pauses are listed; the others are counted.
    private static let shownMax = 20

    let jobs: [JobTable.Row]

    init(_ jobs: [JobTable.Row]) { self.jobs = jobs }

    enum Decision: Hashable {
        case granted, asks
        /// Why the pauses are not ended, as an error message.
        case refused(String)
    }

    /// - Parameters:
    ///   - caller: the names under which the calling user may have paused jobs.
    ///   - isTerminal: whether there is a terminal for a question.
    func decision(for caller: Set<String>, isTerminal: Bool) -> Decision {
        let others = jobs.filter { !caller.contains($0.paused?.by ?? "") }
        if isTerminal {
            let hasNotes = jobs.contains { $0.paused?.note != nil }
            return others.isEmpty && !hasNotes ? .granted : .asks
        }
        guard !others.isEmpty else { return .granted }
        return .refused(
            "\(plural(others.count, "pause")) of other users would end (\(Self.people(others))); nothing was "
                + "changed; choose pauses with --by USER or --note TEXT, or end all of them with --yes"
        )
    }

    /// Such as `2 by ada, 1 by root`.
    private static func people(_ jobs: [JobTable.Row]) -> String {
        let counts = Dictionary(jobs.map { ($0.paused?.by ?? "-", 1) }, uniquingKeysWith: +)
        return counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { "\($0.value) by \($0.key)" }.joined(separator: ", ")
    }

    /// The list of the pauses: who paused which job, since when and why.
    func text(on screen: Screen, now: WallInstant = Terminal.now) -> String {
        let some = Array(jobs.prefix(Self.shownMax))
        var lines = ["This ends \(plural(jobs.count, "pause")): \(Self.people(jobs))"]
        lines += Text.fitting(some, [.job, .by, .since, .note], screen, now).lines(
            color: screen.hasColor)
        if jobs.count > some.count {
            lines.append(
                "and \(jobs.count - some.count) more; "
                    + "`timerctl list --paused --columns job,by,since,note` shows all of them")
        }
        return lines.joined(separator: "\n")
    }

    /// Returns if the pauses may be ended; otherwise prints why not and throws the exit status 1.
    func ask() throws {
        switch decision(for: Self.caller, isTerminal: Terminal.canAsk) {
        case .granted: return
        case .refused(let why): throw Connection.fail(1, why)
        case .asks: break
        }
        try Terminal.confirm(
            "End \(jobs.count == 1 ? "it" : "them")?", about: text(on: .standardError))
    }

    /// The names that the daemon may have for the calling user.
    private static var caller: Set<String> {
        let number = "uid \(geteuid())"
        guard let user = UserDatabase.user(geteuid()).entry else { return [number] }
        return [user.name, number]
    }
}

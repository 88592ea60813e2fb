// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore
import TimerZones

@main
struct Timerctl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timerctl",
        abstract: "See and control the jobs of a running timerd.",
        discussion: """
            Exit status: 0 done, 1 failed, 2 wrong usage, 3 no daemon, 4 no such job.
            """,
        version: "0.1.0",
        subcommands: verbs)

    /// The commands, in the order of the help and of timerctl(1).
    static let verbs: [any Verb.Type] = [
        ListVerb.self, StatusVerb.self, TopVerb.self, UpcomingVerb.self, FailuresVerb.self,
        ShowVerb.self, CatVerb.self,
        PauseVerb.self, ResumeVerb.self, HoldVerb.self, ReleaseVerb.self,
        StartVerb.self, StopVerb.self, RunVerb.self,
        RetryVerb.self, SkipNextVerb.self, WhyVerb.self, NextVerb.self, HistoryVerb.self,
        LogVerb.self, EventsVerb.self, KillVerb.self, AtVerb.self, InVerb.self, CancelVerb.self,
        ReloadVerb.self, EditVerb.self, AddVerb.self, RemoveVerb.self, ImportVerb.self,
        NotifyVerb.self, WebVerb.self,
        SlotsVerb.self, FleetVerb.self, APIVerb.self, MetricsVerb.self,
    ]

    /// Only for the help and the shells' completions: options before the command are moved behind
    /// it.
    @OptionGroup var connection: Connection

    /// Wrong usage has the same exit status in all of timerd's programs. The parser would use 64.
    static func main() {
        Terminal.completeDescriptors()
        if let fault = ZoneEnvironment.dropUnusable() { Terminal.complain("Warning: \(fault)") }
        do {
            try expectText()
            var command = try command(for: CommandLine.arguments.dropFirst())
            try command.run()
            try Terminal.finish()
        } catch let error where exitCode(for: error) == .validationFailure {
            let unknown = unknownCommand(CommandLine.arguments.dropFirst())
            if ErrorOutput.isJSON {
                ErrorOutput.write(ErrorReply(unknown ?? message(for: error), code: .usage))
            } else {
                Terminal.complain(unknown ?? WrongUsage.text(fullMessage(for: error)))
            }
            exit(withError: ExitCode(WrongUsage.status))
        } catch let code as ExitCode where code == .success {
            // The run for which `--wait` waited succeeded.
            do { try Terminal.finish() } catch { exit(withError: error) }
            exit(withError: code)
        } catch {
            exit(withError: error)
        }
    }

    /// The command that these arguments mean, with its options.
    static func command(for arguments: ArraySlice<String>) throws -> any ParsableCommand {
        let words = RunVerb.withOptions(WebVerb.withOwner(shielded(verbFirst(arguments))))
        return words.first == ImportVerb._commandName
            ? try ImportVerb.parse(after: words.dropFirst()) : try parseAsRoot(words)
    }

    /// Swift replaces what is not UTF-8, and something else would be done than was meant.
    private static func expectText() throws {
        for index in 0..<Int(CommandLine.argc) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            guard String(validatingCString: argument) != nil else {
                throw ValidationError("argument \(index) is not UTF-8")
            }
        }
    }

    /// The error if the first word is not a command; nil if it is one. Without this, the parser
    /// would take the word for an argument of timerctl itself, which has none.
    static func unknownCommand(_ arguments: ArraySlice<String>) -> String? {
        let names =
            configuration.subcommands.flatMap {
                [$0._commandName] + $0.configuration.aliases
            } + ["help"]
        guard let word = verbFirst(arguments).first, !word.hasPrefix("-"), !names.contains(word)
        else { return nil }
        if let other = otherWords[word] {
            return "timerctl: there is no command \"\(word)\": \(other)"
        }
        let near = nearestName(word, among: names).map { " (did you mean \"\($0)\"?)" } ?? ""
        return "timerctl: unknown command \"\(Printable.text(word))\"\(near); see `timerctl --help`"
    }

    /// What to type in place of commands that other programs have.
    private static let otherWords = [
        "enable":
            "a job is enabled by its definition; `timerctl start JOB` starts a job that was stopped",
        "disable":
            "`timerctl stop JOB` stops the timer of a job, and `timerctl pause JOB` keeps its elapsed time",
        "restart": "`timerctl run JOB` runs a job now, and `timerctl kill JOB` stops its runs",
        "daemon-reload": "`timerctl reload` reads the configuration again",
        "trigger": "`timerctl run JOB` runs a job now", "exec": "`timerctl run JOB` runs a job now",
        "delete":
            "`timerctl remove JOB` removes a job with a file of its own, `timerctl edit JOB` any other",
        "create": "`timerctl add NAME --every 6h -- COMMAND` adds a job",
        "logs": "`timerctl log JOB` shows the output of a job",
        "journal": "`timerctl log JOB` shows the output of a job",
        "ps": "`timerctl list --state running` lists the jobs that are running",
    ]

    /// The arguments with a space before a time such as `-2h` of `at` and `in`: the parser would take
    /// it for options, and the `h` in it for --help, and would exit with 0.
    static func shielded(_ arguments: [String]) -> [String] {
        guard let verb = arguments.first, ["at", "in"].contains(verb) else { return arguments }
        let own = arguments.prefix { $0 != "--" }
        return own.map { word in
            let bytes = word.utf8.prefix(2)
            let isNegative =
                bytes.first == UInt8(ascii: "-")
                && bytes.last.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } == true
            return isNegative ? " " + word : word
        } + arguments.dropFirst(own.count)
    }

    /// A time as it was written, without what `shielded` put before it.
    static func unshielded(_ time: String) -> String {
        time.hasPrefix(" -") ? String(time.dropFirst()) : time
    }

    /// The arguments with the command first: `timerctl --user list` is `timerctl list --user`, as
    /// with systemctl.
    static func verbFirst(_ arguments: ArraySlice<String>) -> [String] {
        var options: [String] = []
        var rest = arguments
        while let first = rest.first {
            switch first {
            case "--socket", "--color":
                guard rest.count > 2 else { return Array(arguments) }
                options += rest.prefix(2)
                rest = rest.dropFirst(2)
            case "--user", "--system", "--json", "--full", "--no-pager",
                _ where first.hasPrefix("--socket=") || first.hasPrefix("--color="):
                options.append(first)
                rest = rest.dropFirst()
            default:
                guard !first.hasPrefix("-") else { return Array(arguments) }
                // The options belong to the command of the command.
                let isNested =
                    first == NotifyVerb.configuration.commandName
                    && rest.dropFirst().first?.hasPrefix("-") == false
                let words = rest.prefix(isNested ? 2 : 1)
                return words + options + rest.dropFirst(words.count)
            }
        }
        return Array(arguments)
    }
}

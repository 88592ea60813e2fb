// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore
import TimerZones

/// The program timerctl.
@main
struct Timerctl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timerctl",
        abstract: "See and control the jobs of a running timerd.",
        discussion: """
            Exit status: 0 done, 1 failed, 2 wrong usage, 3 no daemon, 4 no such job.
            """,
        version: "0.1.0",
        subcommands: [
            ListVerb.self, TopVerb.self, UpcomingVerb.self, FailuresVerb.self, ShowVerb.self,
            PauseVerb.self,
            ResumeVerb.self,
            StartVerb.self,
            StopVerb.self, RunVerb.self, RetryVerb.self, SkipNextVerb.self, WhyVerb.self,
            NextVerb.self,
            HistoryVerb.self, LogVerb.self, EventsVerb.self, KillVerb.self, AtVerb.self,
            InVerb.self,
            CancelVerb.self,
            ReloadVerb.self, EditVerb.self, WebVerb.self, APIVerb.self, MetricsVerb.self,
        ])

    /// Only for the help and the shells' completions: options before the command are moved behind
    /// it.
    @OptionGroup var connection: Connection

    /// Wrong usage has the same exit status in all of timerd's programs. The parser would use 64.
    static func main() {
        if let fault = ZoneEnvironment.dropUnusable() { Terminal.complain("Warning: \(fault)") }
        do {
            var command = try parseAsRoot(verbFirst(CommandLine.arguments.dropFirst()))
            try command.run()
        } catch let error where exitCode(for: error) == .validationFailure {
            let unknown = unknownCommand(CommandLine.arguments.dropFirst())
            if ErrorOutput.isJSON {
                ErrorOutput.write(ErrorReply(unknown ?? message(for: error), code: .usage))
            } else {
                Terminal.complain(unknown ?? WrongUsage.text(fullMessage(for: error)))
            }
            exit(withError: ExitCode(WrongUsage.status))
        } catch {
            exit(withError: error)
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
        let near = nearestName(word, among: names).map { " (did you mean \"\($0)\"?)" } ?? ""
        return "timerctl: unknown command \"\(Printable.text(word))\"\(near); see `timerctl --help`"
    }

    /// The arguments with the command first: `timerctl --user list` is `timerctl list --user`, as
    /// with systemctl.
    static func verbFirst(_ arguments: ArraySlice<String>) -> [String] {
        var options: [String] = []
        var rest = arguments
        while let first = rest.first {
            switch first {
            case "--socket":
                guard rest.count > 2 else { return Array(arguments) }
                options += rest.prefix(2)
                rest = rest.dropFirst(2)
            case "--user", "--system", "--json",
                _ where first.hasPrefix("--socket="):
                options.append(first)
                rest = rest.dropFirst()
            default:
                return first.hasPrefix("-")
                    ? Array(arguments) : [first] + options + rest.dropFirst()
            }
        }
        return Array(arguments)
    }
}

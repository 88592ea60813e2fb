// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

struct ReloadVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Reload the configuration, and wait for the result.",
        discussion: """
            A file of jobs.d with an error is refused, and its jobs stay as they are; everything else is \
            reloaded, and the exit status is 1. With any other error nothing changes.
            """)
    static let reading = Reading.part("--dry-run")

    @OptionGroup var connection: Connection

    @Flag(help: "Only show what would change, with each job's elapsed time.")
    var dryRun = false

    @Flag(help: "Change nothing if a file of jobs.d has an error either.")
    var strict = false

    func run() throws {
        guard !dryRun else {
            let preview = try connection.ask(.previewReload, for: ReloadReply.self)
            try connection.show(preview) { Text.preview(preview) }
            return try Self.complain(
                of: preview.refusedFiles, preview.errors,
                strict
                    ? "a reload would be refused"
                    : "would be refused; its jobs would stay as they are")
        }
        try Self.reload(over: connection, isStrict: strict)
    }

    /// Reloads the configuration, and prints what changed and what was refused.
    static func reload(over connection: Connection, isStrict: Bool) throws {
        let reply = try connection.ask(
            .reload(ReloadQuery(isStrict: isStrict)), for: ReloadReply.self)
        try connection.show(reply) { Text.reload(reply) }
        try complain(
            of: reply.refusedFiles, reply.errors, "was refused; its jobs stay as they are")
    }

    /// The changes are printed already. If a part was refused, the command fails.
    private static func complain(
        of files: [String], _ errors: [String], _ consequence: String
    ) throws {
        guard !files.isEmpty else { return }
        let sentences = files.map { "\(Printable.text($0)): \(consequence)" }.joined(
            separator: "\n")
        let reply = ErrorReply(sentences, code: .invalidConfiguration, details: errors)
        throw Connection.Failure(1, reply).exit
    }
}

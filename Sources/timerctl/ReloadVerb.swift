// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

struct ReloadVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Reload the configuration; if it has any error, nothing changes.")

    @OptionGroup var connection: Connection

    @Flag(help: "Only show what would change, with each job's elapsed time.")
    var dryRun = false

    func run() throws {
        guard !dryRun else {
            let preview = try connection.ask(.previewReload, for: ReloadPreviewReply.self)
            return try connection.show(preview) { Text.preview(preview) }
        }
        let reply = try connection.ask(.reload, for: ReloadReply.self)
        try connection.show(reply) { Text.reload(reply) }
    }
}

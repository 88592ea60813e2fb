// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerImport

struct ImportFcrontabVerb: ImportSourceVerb {
    static let configuration = CommandConfiguration(
        commandName: "fcrontab", abstract: "Make jobs of a table of fcron.",
        discussion: "The table is what `fcrontab -l` prints.")

    @Argument(
        help: "The table (default: standard input); - is standard input.", completion: .file())
    var file = "-"

    @OptionGroup var cron: CronOptions
    @OptionGroup var output: ImportOutput

    func imported() throws -> (ImportResult, ImportOutput.Source) {
        let (bytes, isPublic) = try ImportInput.read(file)
        let source = CrontabSource(
            file: file, bytes: bytes, stem: "fcron", hasUserField: false, owner: Account.own,
            namesOwner: geteuid() == 0)
        let importer = FcrontabImporter(source, cron.importOptions)
        let switching = CrontabSwitch(lines: [file: importer.importedLines], reader: "fcron")
        return (
            importer.result,
            ImportOutput.Source(
                title:
                    "Imported from \(file == "-" ? "standard input" : file) by timerctl import fcrontab",
                disabling: switching.commands, isPublic: isPublic,
                compare: { try CronComparison.compare($0, importer.times) })
        )
    }
}

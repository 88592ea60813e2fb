// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerCore
import TimerImport
import TimerZones

struct ImportAnacrontabVerb: ImportSourceVerb {
    static let configuration = CommandConfiguration(
        commandName: "anacrontab", abstract: "Make jobs of the table of anacron.")

    @Argument(
        help: "The table (default: /etc/anacrontab); - is standard input.", completion: .file())
    var file = "/etc/anacrontab"

    @Flag(
        help: "Continue after the last runs of anacron, which are in /var/spool/anacron.")
    var seed = false

    @OptionGroup var cron: CronOptions
    @OptionGroup var output: ImportOutput

    static let spool = "/var/spool/anacron"

    func imported() throws -> (ImportResult, ImportOutput.Source) {
        let (bytes, isPublic) = try ImportInput.read(file)
        let source = CrontabSource(
            file: file, bytes: bytes, stem: "anacron", hasUserField: false,
            owner: geteuid() == 0 ? "root" : Account.own, namesOwner: geteuid() == 0)
        let zone = try ZoneFiles().local()
        let now = Terminal.now
        let seconds = now.microsecondsSinceEpoch / 1_000_000 + Int64(zone.offset(at: now))
        let importer = AnacrontabImporter(
            source, cron.importOptions, today: CivilDate(daysSinceEpoch: Int(seconds / 86_400)),
            lastRun: seed ? { Self.lastRun(of: $0) } : nil)
        let switching = CrontabSwitch(lines: [file: importer.importedLines], reader: "anacron")
        return (
            importer.result,
            ImportOutput.Source(
                title:
                    "Imported from \(file == "-" ? "standard input" : file) by timerctl import anacrontab",
                disabling: switching.commands, isPublic: isPublic,
                compare: { try CronComparison.compare($0, []) })
        )
    }

    /// The day in a file of anacron, which has eight digits.
    private static func lastRun(of id: String) -> CivilDate? {
        guard !id.contains("/"), id != ".", id != "..",
            let (bytes, _) = try? ImportInput.bytes(of: "\(spool)/\(id)"), bytes.count >= 8
        else { return nil }
        let digits = bytes.prefix(8).map { Int($0) - 48 }
        guard digits.allSatisfy({ (0...9).contains($0) }) else { return nil }
        let number = digits.reduce(0) { $0 * 10 + $1 }
        let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100)
        guard (1970...2199).contains(year), (1...12).contains(month), (1...31).contains(day) else {
            return nil
        }
        return CivilDate(year: year, month: month, day: day)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension CrontabImporter {
    /// Whether the lines of a file name a user: the sixth word of a line is one, and a seventh follows.
    /// A word that cannot be a user proves the opposite, because cron refuses a file of the system with
    /// such a line. A word such as `mail` that is a program as well proves nothing.
    func guessUserField(
        _ lines: [SourceLine], _ source: CrontabSource
    ) throws(ImportFault) -> Bool {
        var (with, without, unclear): (SourceLine?, SourceLine?, SourceLine?) = (nil, nil, nil)
        for line in lines where line.fault == nil && !line.isComment {
            guard CrontabSetting(line.text, options.flavour) == nil,
                let entry = try? CrontabEntry(line.text, options.flavour, hasUser: false)
            else { continue }
            let words = entry.command.split { $0 == " " || $0 == "\t" }.map(String.init)
            guard words.count > 1, options.isAccount(words[0]) else {
                without = without ?? line
                if Self.fault(inAccount: words.first ?? "") != nil { return false }
                continue
            }
            if options.isProgram(words[0]) {
                unclear = unclear ?? line
            } else {
                with = with ?? line
            }
        }
        if with == nil, unclear == nil || without != nil { return false }
        guard let with, let without else {
            if let unclear, with == nil {
                throw ImportFault(
                    "\(source.file): line \(unclear.number) has a word that is a user and a program; use --system if "
                        + "each line names a user before the command, or --user NAME if it is the crontab of a user"
                )
            }
            return true
        }
        throw ImportFault(
            "\(source.file): line \(with.number) seems to name a user before the command, and line \(without.number) "
                + "does not; use --system if all lines do, or --user NAME if it is the crontab of a user"
        )
    }

    /// What is true for all of a file.
    mutating func noteFile(_ lines: [SourceLine], _ reading: CrontabReading) {
        let place = SourcePlace(reading.source.file)
        if options.flavour == .debian, reading.broken > 0, reading.jobs > 0 {
            result.report.add(
                place, "",
                .noted(
                    "Debian's cron ignores all of this file because of lines that are not imported; its other jobs "
                        + "did not run there"))
        }
        if options.flavour == .debian, lines.count > 10_000 {
            result.report.add(
                place, "",
                .noted(
                    "has \(lines.count) lines; Debian's cron ignores a crontab with more than 10000"
                ))
        }
        if reading.lacksPath {
            result.report.add(
                place, "",
                .noted(
                    "no PATH is set: cron searches programs in \(CrontabReading.cronPath), and timerd also in "
                        + "/usr/local and in sbin; --strict-path writes cron's"))
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension CrontabImporter {
    /// What the sixth word of the lines of a file is.
    private struct Sixth {
        /// The first line in which it is a user and no program; in which it is no user; in which it
        /// is both; and in which it is neither of this machine.
        var (with, without, both, neither): (Line?, Line?, Line?, Line?)
        /// Whether one cannot be a user. Cron refuses a file of the system with such a line.
        var hasProof = false

        struct Line {
            var number: Int
            var word: String
        }
    }

    /// Whether the lines of a file name a user: the sixth word of a line is one, and a seventh follows.
    /// A word that cannot be a user proves the opposite. A word such as `mail` that is a program as
    /// well proves nothing, and neither does one that this machine does not know.
    func guessUserField(
        _ lines: [SourceLine], _ source: CrontabSource
    ) throws(ImportFault) -> Bool {
        let found = sixthWords(of: lines)
        guard !found.hasProof else { return false }
        let what =
            "use --system if each line names a user before the command, or --user NAME if it is the crontab of a user"
        if let with = found.with {
            guard let other = found.without ?? found.neither else { return true }
            throw ImportFault(
                "\(source.file): line \(with.number) seems to name a user before the command, and line \(other.number) "
                    + "does not; use --system if all lines do, or --user NAME if it is the crontab of a user"
            )
        }
        if found.without != nil { return false }
        if let both = found.both {
            throw ImportFault(
                "\(source.file): line \(both.number) has a word that is a user and a program, \"\(both.word)\"; \(what)"
            )
        }
        guard let neither = found.neither else { return false }
        throw ImportFault(
            "\(source.file): line \(neither.number): \"\(neither.word)\" is neither a user nor a program of this "
                + "machine; \(what)")
    }

    private func sixthWords(of lines: [SourceLine]) -> Sixth {
        var found = Sixth()
        var path: String?
        for line in lines where line.fault == nil && !line.isComment {
            if let setting = CrontabSetting(line.text, options.flavour) {
                if setting.name == "PATH" { path = setting.value }
                continue
            }
            guard let entry = try? CrontabEntry(line.text, options.flavour, hasUser: false) else {
                continue
            }
            let words = entry.command.split { $0 == " " || $0 == "\t" }.map(String.init)
            let word = words.first ?? ""
            if Self.fault(inAccount: word) != nil { found.hasProof = true }
            let place = Sixth.Line(number: line.number, word: word)
            let isProgram =
                CronCommand.unnamed.contains(word) || options.isProgram(word, path)
            switch (options.isAccount(word), isProgram) {
            case _ where words.count < 2: found.without = found.without ?? place
            case (true, true): found.both = found.both ?? place
            case (true, false): found.with = found.with ?? place
            case (false, true): found.without = found.without ?? place
            case (false, false): found.neither = found.neither ?? place
            }
        }
        return found
    }

    /// Notes that the lines of a crontab whose lines should name no user look as if they did.
    mutating func noteUsers(_ lines: [SourceLine], _ source: CrontabSource) {
        let found = sixthWords(of: lines)
        guard !found.hasProof, found.without == nil, let line = found.with else { return }
        result.report.add(
            SourcePlace(source.file, line: line.number), "",
            .noted(
                "\"\(line.word)\" is taken for the program; it is also a user: if each line names a user before the command, "
                    + "use --system"))
    }

    /// What is true for all of a file.
    mutating func noteFile(_ lines: [SourceLine], _ reading: CrontabReading) {
        let place = SourcePlace(reading.source.file)
        if options.flavour == .debian, reading.broken > 0 || lines.count > 10_000 {
            ignoredFiles.insert(reading.source.file)
        }
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

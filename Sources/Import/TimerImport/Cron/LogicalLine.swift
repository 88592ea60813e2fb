// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A line of a table in which a backslash before the line end continues a line (anacrontab(5), fcrontab(5)).
struct LogicalLine {
    /// The lines of the file that it consists of, at least one.
    var lines: [SourceLine]

    /// The lines as one, without the backslashes.
    var text: String {
        lines.enumerated().map { index, line in
            index == lines.count - 1 ? line.text : String(line.text.dropLast())
        }.joined()
    }

    var fault: String? { lines.lazy.compactMap(\.fault).first }
    var isComment: Bool { lines[0].isComment }

    /// Joins the lines of a file. A comment does not continue.
    static func join(_ lines: [SourceLine]) -> [LogicalLine] {
        var joined: [LogicalLine] = []
        var isOpen = false
        for line in lines {
            if isOpen, !joined.isEmpty {
                joined[joined.count - 1].lines.append(line)
            } else {
                joined.append(LogicalLine(lines: [line]))
            }
            isOpen =
                line.text.utf8.last == UInt8(ascii: "\\") && line.fault == nil
                && !(joined.last?.isComment ?? false)
        }
        return joined
    }
}

/// What the importers of tables with such lines share: they go through the lines, and collect what becomes of
/// each.
struct LogicalTable {
    let source: CrontabSource
    private(set) var result = ImportResult()
    /// The numbers of the lines that are jobs now.
    private(set) var importedLines: [Int] = []

    private var comments: [String] = []
    private var namer = JobNamer()
    private var notifiers = NotifierNames()

    init(_ source: CrontabSource) { self.source = source }

    /// The lines of the file, with continued lines joined.
    var lines: [LogicalLine] {
        LogicalLine.join(SourceLine.lines(of: source.bytes, .systemdCron))
    }

    /// Accounts for a line that says nothing: a comment, or one that cannot be read.
    /// - Returns: whether it is one.
    mutating func skips(_ line: LogicalLine) -> Bool {
        if let fault = line.fault {
            refuse(line, fault)
            return true
        }
        guard line.isComment else { return false }
        comments.append(line.text)
        if line.text.utf8.allSatisfy({ $0 == 32 || $0 == 9 }) { comments = [] }
        result.report.add(line, of: source.file, .comment)
        return true
    }

    mutating func finish(_ line: LogicalLine, _ outcome: ImportReport.Outcome) {
        comments = []
        result.report.add(line, of: source.file, outcome)
    }

    mutating func refuse(_ line: LogicalLine, _ why: String) { finish(line, .refused(why)) }

    /// Adds a deviation that is true for all jobs.
    mutating func note(_ why: String) {
        result.report.add(SourcePlace(source.file), "", .noted(why))
    }

    /// A job of a line, without keys, with the comments above the line.
    mutating func job(_ line: LogicalLine, named name: String?) -> ImportedJob {
        let place = SourcePlace(source.file, line: line.lines[0].number)
        return ImportedJob(
            namer.name(from: name, else: "\(source.stem)-\(line.lines[0].number)"), at: place,
            source: comments + line.lines.map(\.text))
    }

    /// Adds a slot with room for one run.
    mutating func add(slot: String) { result.add(slot: slot) }

    /// Adds a finished job, which mails with a notifier that has these keys; nil: it sends no mails.
    mutating func add(_ job: ImportedJob, _ line: LogicalLine, mailing keys: [TomlEntry]?) {
        var job = job
        if let keys {
            let name = notifiers.name(of: keys, wanted: "\(source.stem)-mail", in: &result)
            job.set("notify", .strings([name]))
        }
        result.jobs.append(job)
        importedLines += line.lines.map(\.number)
        finish(line, .mapped([job.name]))
    }
}

extension ImportReport {
    /// Adds all lines of a logical line; the outcome belongs to the first one.
    mutating func add(_ line: LogicalLine, of file: String, _ outcome: Outcome) {
        for (index, part) in line.lines.enumerated() {
            let own = index == 0 ? outcome : .unneeded("continues line \(line.lines[0].number)")
            add(SourcePlace(file, line: part.number), part.text, own)
        }
    }
}

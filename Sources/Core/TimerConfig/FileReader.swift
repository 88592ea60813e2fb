// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// One file that is being read, with its errors so far.
struct FileReader {
    var document: Document
    /// The first errors, up to `ConfigReading.errorsMax`; the others are counted.
    private(set) var errors: [ConfigError] = []
    /// Errors in other files that this one names, which are among the first ones too.
    private(set) var errorsOfOthers: [ConfigError] = []
    /// The number of all errors so far.
    private(set) var count = 0
    /// The name of the job that is being read, for its errors; nil between jobs.
    var job: String?
    /// The defaults of the main file, while another one is read.
    let inherited: MainDefaults?
    /// The errors of the template whose jobs are being read, which are reported once; nil: none.
    var seen: Set<SeenError>?
    /// How many errors were reported before.
    private(set) var repeats = 0
    /// Whether a default of the main file is wrong for a job.
    private(set) var blamesMainFile = false

    init(document: Document, inheriting inherited: MainDefaults? = nil) {
        self.document = document
        self.inherited = inherited
    }

    /// Whether the next error is only counted.
    var isFull: Bool { errors.count + errorsOfOthers.count >= ConfigReading.errorsMax }

    /// Reports an error in another file that this one names.
    mutating func report(_ error: ConfigError) {
        count += 1
        if !isFull { errorsOfOthers.append(error) }
    }

    /// An error, whichever job of a template has it.
    struct SeenError: Hashable {
        var mark: SourceMark
        var message: String
    }

    mutating func report(_ fault: Fault, _ subject: String?) {
        count += 1
        if seen?.insert(SeenError(mark: fault.mark, message: fault.message)).inserted == false {
            repeats += 1 + fault.others.count
            count += fault.others.count
            return
        }
        guard !isFull else {
            count += fault.others.count
            return
        }
        var mark = fault.mark
        if mark.isInherited {
            blamesMainFile = true
        } else if let beginning = fault.beginning {
            mark = document.text.mark(behind: beginning, ofStringAt: mark)
        }
        errors.append(
            ConfigError(
                file: file(of: mark), mark: mark.plain,
                message: (subject.map { "\($0): " } ?? "") + fault.message,
                excerpt: excerpt(at: mark), job: job))
        for other in fault.others { report(other, subject) }
    }

    /// The file that a place is in.
    func file(of mark: SourceMark) -> String {
        mark.isInherited ? inherited?.file ?? document.file : document.file
    }

    /// The line at a place with a caret, as `SourceText.excerpt`.
    mutating func excerpt(at mark: SourceMark) -> String? {
        mark.isInherited ? inherited?.excerpts[mark] : document.text.excerpt(at: mark)
    }

    /// Adds a consequence to each error so far.
    mutating func addToErrors(_ text: String) {
        for place in errors.indices { errors[place].message += text }
    }

    @discardableResult
    mutating func attempt<Value>(
        _ subject: @autoclosure () -> String, _ body: () throws(Fault) -> Value
    ) -> Value? {
        do throws(Fault) {
            return try body()
        } catch {
            report(error, subject())
            return nil
        }
    }

    mutating func unknown(
        _ entry: TomlEntry, _ what: String, among names: @autoclosure () -> [String],
        subject: String?
    ) {
        let near = isFull ? nil : nearestName(entry.key, among: names())
        let hint = near.map { " (did you mean \"\($0)\"?)" } ?? ""
        report(Fault(entry.mark, "unknown \(what) \"\(entry.key)\"\(hint)"), subject)
    }

    /// The entries of a table; anything else is reported.
    mutating func table(_ entry: TomlEntry) -> [TomlEntry] {
        table(entry, as: entry.key, entry.key)
    }

    /// The same of a table inside of another one.
    mutating func table(
        _ entry: TomlEntry, as name: String, _ subject: String
    ) -> [TomlEntry] {
        guard case .table(let entries) = entry.node.value else {
            let kind = entry.node.value.kind
            report(Fault(entry.node.mark, "must be a table, [\(name)], not \(kind)"), subject)
            return []
        }
        return entries
    }

    /// Reads one key of a job's table.
    ///
    /// - Parameter subject: the job, for errors.
    mutating func read(
        _ entry: TomlEntry, of subject: @autoclosure () -> String, into draft: inout Draft
    ) {
        guard let read = Draft.readers[entry.key] else {
            unknown(entry, "key", among: JobKey.all.map(\.name), subject: subject())
            draft.refused.insert(entry.key)
            // The other key was probably meant, so it is not said to be missing.
            if !isFull, let near = nearestName(entry.key, among: JobKey.all.map(\.name)) {
                draft.refused.insert(near)
            } else {
                draft.hasStrangeKey = true
            }
            return
        }
        let before = count
        attempt("\(subject()): \(entry.key)") { () throws(Fault) in
            try read(entry.node, &draft)
        }
        if count > before {
            draft.refused.insert(entry.key)
        } else if !draft.refused.isEmpty {
            // The value of the job replaces a wrong one of [defaults], unless it is added to it.
            draft.settle(entry)
        }
    }

    /// Reads one key of another table.
    ///
    /// - Parameters:
    ///   - subject: the table, for errors.
    ///   - keys: the keys that the table can have.
    mutating func read<Target: KeyTarget>(
        _ entry: TomlEntry, of subject: String, among keys: [Key<Target>] = Target.keys,
        into target: inout Target
    ) {
        guard let key = keys.first(where: { $0.name == entry.key }) else {
            return unknown(entry, "key", among: keys.map(\.name), subject: subject)
        }
        attempt("\(subject): \(entry.key)") { () throws(Fault) in
            try key.read(entry.node, &target)
        }
    }

    mutating func readDefault(_ key: TomlEntry, into draft: inout Draft) {
        guard let found = Draft.keys.first(where: { $0.name == key.key }) else {
            draft.refused.formUnion(JobKey.defaultNames)
            return unknown(key, "key", among: JobKey.defaultNames, subject: "[defaults]")
        }
        guard found.isDefault else {
            draft.refused.insert(key.key)
            return report(
                Fault(
                    key.mark,
                    "\"\(key.key)\" belongs to one job; [defaults] may have "
                        + JobKey.defaultNames.joined(separator: ", ")), "[defaults]")
        }
        let before = count
        attempt("[defaults]: \(key.key)") { () throws(Fault) in
            try found.reader(key.node, &draft)
        }
        if count > before { draft.refused.insert(key.key) } else { draft.settle(key) }
    }
}

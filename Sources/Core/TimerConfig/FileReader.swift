// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// One file that is being read, with its errors so far.
struct FileReader {
    var document: Document
    /// The first errors, up to `ConfigReading.errorsMax`; the others are counted.
    private(set) var errors: [ConfigError] = []
    /// The number of all errors so far.
    private(set) var count = 0
    /// The name of the job that is being read, for its errors; nil between jobs.
    var job: String?

    init(document: Document) { self.document = document }

    /// Whether the next error is only counted.
    var isFull: Bool { errors.count >= ConfigReading.errorsMax }

    mutating func report(_ fault: Fault, _ subject: String?) {
        count += 1
        guard !isFull else {
            count += fault.others.count
            return
        }
        let mark =
            fault.beginning.map { document.text.mark(behind: $0, ofStringAt: fault.mark) }
            ?? fault.mark
        errors.append(
            ConfigError(
                file: document.file, mark: mark,
                message: (subject.map { "\($0): " } ?? "") + fault.message,
                excerpt: document.text.excerpt(at: mark), job: job))
        for other in fault.others { report(other, subject) }
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
        guard case .table(let entries) = entry.node.value else {
            report(
                Fault(
                    entry.node.mark, "must be a table, [\(entry.key)], not \(entry.node.value.kind)"
                ),
                entry.key)
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
            // The value of the job replaces a wrong one of [defaults].
            draft.refused.remove(entry.key)
        }
    }

    mutating func readDefault(_ key: TomlEntry, into defaults: inout Defaults) {
        guard let found = Draft.keys.first(where: { $0.name == key.key }) else {
            defaults.refused.formUnion(JobKey.defaultNames)
            return unknown(key, "key", among: JobKey.defaultNames, subject: "[defaults]")
        }
        guard found.isDefault else {
            return report(
                Fault(
                    key.mark,
                    "\"\(key.key)\" belongs to one job; [defaults] may have "
                        + JobKey.defaultNames.joined(separator: ", ")), "[defaults]")
        }
        let before = count
        attempt("[defaults]: \(key.key)") { () throws(Fault) in
            try found.read(key.node, &defaults.draft)
        }
        if count > before { defaults.refused.insert(key.key) }
    }
}

/// The values of the table `[defaults]`, which the jobs of the same file have.
struct Defaults {
    var draft = Draft()
    /// The keys whose values are not known, because they are wrong.
    var refused: Set<String> = []
    /// Whether the table has no error. With one, the jobs of the file are left out.
    var areRight = true
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What became of each line, or each key, of the source. Each is in it once, so that nothing is dropped
/// silently.
public struct ImportReport: Hashable, Sendable {
    /// What became of a line or key of the source.
    public enum Outcome: Hashable, Sendable {
        /// It is in these jobs.
        case mapped([Job.Name])
        /// It is a setting that the jobs after it have.
        case setting
        /// Nothing is needed for it, because of this.
        case unneeded(String)
        /// It has an equivalent with a deviation: what is lost.
        case noted(String)
        /// The same for a line of these jobs, whose notes say it: what is lost.
        case reported([Job.Name], String)
        /// It is not imported, because of this.
        case refused(String)
        /// A comment or an empty line.
        case comment
        /// A file that its scheduler never reads, because of this, so that nothing is lost.
        case leftOut(String)
    }

    /// A line or key of the source, and what became of it.
    public struct Entry: Hashable, Sendable {
        public var place: SourcePlace
        /// The line as it is written.
        public var text: String
        public var outcome: Outcome

        public init(_ place: SourcePlace, _ text: String, _ outcome: Outcome) {
            (self.place, self.text, self.outcome) = (place, text, outcome)
        }

        /// `FILE:LINE: what became of it`, for what a user must know; nil for the rest.
        public var message: String? {
            switch outcome {
            case .noted(let why): "\(place): note: \(why)"
            case .refused(let why): "\(place): not imported: \(why)"
            case .leftOut(let why): "\(place): left out: \(why)"
            case .mapped, .setting, .unneeded, .reported, .comment: nil
            }
        }
    }

    public private(set) var entries: [Entry] = []

    public init() {}

    public mutating func add(_ place: SourcePlace, _ text: String, _ outcome: Outcome) {
        entries.append(Entry(place, text, outcome))
    }

    /// How many entries are shown to a user.
    static let shownMax = 10_000

    /// The entries with a message, as many as are shown, and how many more there are.
    public var shown: (entries: [Entry], more: Int) {
        let entries = entries.filter { $0.message != nil }
        return (Array(entries.prefix(Self.shownMax)), max(0, entries.count - Self.shownMax))
    }

    /// The lines that are not imported.
    public var refused: [Entry] {
        entries.filter { if case .refused = $0.outcome { true } else { false } }
    }

    /// What is imported with a deviation that belongs to no job.
    public var noted: [Entry] {
        entries.filter { if case .noted = $0.outcome { true } else { false } }
    }
}

/// What an importer makes of its source, and what it could not make.
public struct ImportResult: Hashable, Sendable {
    public var jobs: [ImportedJob] = []
    /// The slots that jobs name, of which each has room for one run.
    public private(set) var slots: [String] = []
    public var notifiers: [ImportedNotifier] = []
    public var report = ImportReport()

    public init() {}

    /// Adds a slot, unless it is there already.
    mutating func add(slot: String) { if !slots.contains(slot) { slots.append(slot) } }

    /// How exact the import is; the raw value is the exit status of `timerctl import`.
    public enum Exactness: Int32, Sendable {
        /// The jobs do what the source did.
        case exact = 0
        /// There are deviations, which the notes describe.
        case withNotes = 1
        /// There is no job, so nothing can be used.
        case nothingUsable = 2
    }

    public var exactness: Exactness {
        guard !jobs.isEmpty else { return .nothingUsable }
        let isExact =
            report.refused.isEmpty && report.noted.isEmpty && jobs.allSatisfy(\.notes.isEmpty)
        return isExact ? .exact : .withNotes
    }

    /// The configuration. It is the same, byte for byte, each time the same source is imported.
    ///
    /// - Parameter title: the first line, such as `Imported from /etc/crontab`.
    /// - Complexity: O(*n*) in the size of the source.
    public func toml(title: String) -> String {
        var parts = [Toml.comment(title) + "\n"]
        let (shown, more) = report.shown
        var comments = shown.compactMap { entry in
            entry.message.map { message in
                Toml.comment(message) + "\n"
                    + (entry.text.isEmpty ? "" : Toml.comment("  \(Self.short(entry.text))") + "\n")
            }
        }
        if more > 0 { comments.append(Toml.comment("and \(more) more lines") + "\n") }
        if !comments.isEmpty { parts.append(comments.joined()) }
        parts += slots.map { "[slot.\(Toml.key($0))]\nmax = 1\n" }
        parts += notifiers.map(\.toml)
        parts += jobs.map(\.toml)
        return parts.joined(separator: "\n")
    }

    /// The beginning of a line that is too long to be read.
    private static func short(_ text: String) -> String {
        guard text.utf8.count > 2000 else { return text }
        return String(decoding: text.utf8.prefix(2000), as: UTF8.self) + "…"
    }

    /// A line such as `3 jobs, 1 note, 2 lines not imported`.
    public var summary: String {
        let notes = jobs.reduce(report.noted.count) { $0 + $1.notes.count }
        var parts = [plural(jobs.count, "job")]
        if notes > 0 { parts.append(plural(notes, "note")) }
        if !report.refused.isEmpty {
            parts.append("\(plural(report.refused.count, "line")) not imported")
        }
        return parts.joined(separator: ", ")
    }
}

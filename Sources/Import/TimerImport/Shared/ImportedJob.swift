// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// A line of a file that is imported.
public struct SourcePlace: Hashable, Sendable, CustomStringConvertible {
    /// The path as the user named it, or `-` for standard input.
    public var file: String
    /// From 1; nil: the whole file.
    public var line: Int?

    public init(_ file: String, line: Int? = nil) { (self.file, self.line) = (file, line) }

    /// `FILE:LINE`.
    public var description: String { line.map { "\(file):\($0)" } ?? file }
}

/// A job of the configuration that results from an import.
public struct ImportedJob: Hashable, Sendable {
    public var name: Job.Name
    /// The place of its schedule in the source, for messages.
    public var place: SourcePlace
    /// The lines of the source from which it was made, and the comments above them.
    public var source: [String]
    /// Its keys, in the order in which they are written.
    public private(set) var keys: [TomlEntry] = []
    /// The deviations from the source, each a sentence without a full stop.
    public private(set) var notes: [String] = []

    public init(_ name: Job.Name, at place: SourcePlace, source: [String]) {
        (self.name, self.place, self.source) = (name, place, source)
    }

    /// Sets a key. A key that is there already keeps its place.
    public mutating func set(_ key: String, _ value: TomlValue) {
        if let index = keys.firstIndex(where: { $0.key == key }) {
            keys[index].value = value
        } else {
            keys.append(TomlEntry(key, value))
        }
    }

    /// The value of a key; nil if it has none.
    public func value(of key: String) -> TomlValue? { keys.first { $0.key == key }?.value }

    /// Adds a deviation, unless it is there already.
    public mutating func note(_ note: String) {
        if !notes.contains(note) { notes.append(note) }
    }

    /// The job as TOML: the place and the text of the source, the notes, and the table.
    public var toml: String {
        var lines = [Toml.comment("\(place)")]
        lines += source.map { Toml.comment("  \($0)") }
        lines += notes.map { Toml.comment("note: \($0)") }
        lines.append("[job.\(Toml.key(name.description))]")
        lines += keys.map { "\(Toml.key($0.key)) = \($0.value)" }
        return lines.map { $0 + "\n" }.joined()
    }
}

/// A table `[notify.NAME]` that jobs of the import use.
public struct ImportedNotifier: Hashable, Sendable {
    public var name: String
    public var keys: [TomlEntry]

    public init(_ name: String, _ keys: [TomlEntry]) { (self.name, self.keys) = (name, keys) }

    public var toml: String {
        "[notify.\(Toml.key(name))]\n" + keys.map { "\(Toml.key($0.key)) = \($0.value)\n" }.joined()
    }
}

/// Gives each job of one import a name that no other one has. The same names are asked for in the same order
/// give the same answers.
public struct JobNamer {
    private var taken: Set<String>
    /// The number to try next, by base: a name that ten thousand jobs want does not take quadratic time.
    private var next: [String: Int] = [:]

    /// - Parameter taken: names that others have.
    public init(taken: Set<String> = []) { self.taken = taken }

    /// The first of the wanted texts that has a character for a name; characters that names cannot
    /// have become `-`. A name that is taken gets a number, from `-2` on.
    ///
    /// - Parameter fallback: what is taken if none of the texts can be used.
    /// - Complexity: O(*n*) in the length of the texts.
    public mutating func name(from wanted: String?, else fallback: String) -> Job.Name {
        let base = [wanted, fallback].lazy.compactMap { $0.flatMap(Self.clean) }.first ?? "job"
        var name = String(base.prefix(Job.Name.lengthMax))
        while name.utf8.count > 1, Job.Name.isTemplate(name) { name.removeLast() }
        while taken.contains(name) {
            let number = next[base, default: 2]
            next[base] = number + 1
            let suffix = "-\(number)"
            name = String(base.prefix(Job.Name.lengthMax - suffix.utf8.count)) + suffix
        }
        taken.insert(name)
        // `clean` leaves only what a name may have.
        return Job.Name(name) ?? Job.Name("job-\(taken.count)")!
    }

    /// The text as a name; nil if nothing is left of it.
    static func clean(_ text: String) -> String? {
        var cleaned = ""
        for byte in text.utf8.prefix(4 * Job.Name.lengthMax) {
            let scalar = Unicode.Scalar(byte)
            let isWord = (48...57).contains(byte) || (97...122).contains(byte | 0x20)
            if isWord || byte == 95 || (!cleaned.isEmpty && ".@".unicodeScalars.contains(scalar)) {
                cleaned.unicodeScalars.append(scalar)
            } else if !cleaned.isEmpty, cleaned.last != "-" {
                cleaned += "-"
            }
        }
        while cleaned.last == "-" || cleaned.last == "." { cleaned.removeLast() }
        return cleaned.isEmpty ? nil : cleaned
    }
}

/// Gives the notifiers of one import their names. Jobs that need the same one share it.
struct NotifierNames {
    private var names: [[TomlEntry]: String] = [:]
    private var namer: JobNamer

    /// - Parameter taken: names that others have.
    init(taken: Set<String> = []) { namer = JobNamer(taken: taken) }

    /// The name of the notifier with these keys, which is added to the result if it is a new one.
    ///
    /// - Parameter wanted: the name of a new one, which gets a number if it is taken.
    /// - Complexity: O(*n*) in the size of the keys.
    mutating func name(
        of keys: [TomlEntry], wanted: String, in result: inout ImportResult
    ) -> String {
        if let name = names[keys] { return name }
        let name = namer.name(from: wanted, else: "notifier").description
        names[keys] = name
        result.notifiers.append(ImportedNotifier(name, keys))
        return name
    }
}

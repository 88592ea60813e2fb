// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// A unit with its drop-ins: its assignments in the order in which they apply, and what becomes of each.
struct LoadedUnit {
    /// What becomes of an assignment, before the names of its jobs are known.
    enum Outcome: Hashable {
        case mapped
        case unneeded(String)
        /// It is in the jobs with a deviation, or not at all: what is lost.
        case lost(String)
    }

    struct Assignment: Hashable {
        var place: SourcePlace
        var text: String
        var section: String
        var key: String
        var value: String
        var outcome: Outcome?
    }

    let name: UnitName
    let files: [UnitFile]
    private(set) var assignments: [Assignment] = []
    private var indexes: [String: [Int]] = [:]

    /// - Parameter files: the main file, then the drop-ins in the order in which they are read.
    init(_ name: UnitName, files: [UnitFile]) {
        (self.name, self.files) = (name, files)
        for file in files {
            for line in file.lines {
                guard case .assignment(let section, let key, let value) = line.content else {
                    continue
                }
                indexes["\(section).\(key)", default: []].append(assignments.count)
                assignments.append(
                    Assignment(
                        place: line.place, text: line.text, section: section, key: key,
                        value: value))
            }
        }
    }

    /// Whether a line keeps systemd from loading the unit.
    var isFatal: Bool {
        files.contains { file in
            file.lines.contains { if case .fatal = $0.content { true } else { false } }
        }
    }

    func has(_ section: String, _ key: String) -> Bool { indexes["\(section).\(key)"] != nil }

    subscript(index: Int) -> Assignment { assignments[index] }

    /// Says what becomes of an assignment. A second loss is added to the first one.
    mutating func mark(_ index: Int, _ outcome: Outcome) {
        if case .lost(let first) = assignments[index].outcome, case .lost(let second) = outcome,
            first != second
        {
            assignments[index].outcome = .lost("\(first); \(second)")
        } else {
            assignments[index].outcome = outcome
        }
    }

    /// The assignments to these keys after the last empty one, which resets all of them.
    mutating func list(_ section: String, _ keys: String...) -> [Int] {
        list(section, keys: keys)
    }

    mutating func list(_ section: String, keys: [String]) -> [Int] {
        let all = keys.flatMap { indexes["\(section).\($0)"] ?? [] }.sorted()
        guard let last = all.last(where: { assignments[$0].value.isEmpty }) else { return all }
        for index in all where index < last {
            mark(index, .unneeded("the empty value at \(assignments[last].place) resets it"))
        }
        mark(last, .unneeded("it resets what was set before it"))
        return all.filter { $0 > last }
    }

    /// The assignment that counts for a key with one value: the last one. Nil if there is none or it is
    /// empty, which means the default.
    mutating func last(_ section: String, _ keys: String...) -> Int? {
        let all = keys.flatMap { indexes["\(section).\($0)"] ?? [] }.sorted()
        guard let last = all.last else { return nil }
        for index in all.dropLast() {
            mark(index, .unneeded("it is overridden at \(assignments[last].place)"))
        }
        guard assignments[last].value.isEmpty else { return last }
        mark(last, .unneeded("an empty value is the default"))
        return nil
    }

    /// The value of a boolean key, which is marked as mapped; nil if there is none or systemd ignores it.
    mutating func boolean(_ section: String, _ key: String) -> (value: Bool, index: Int)? {
        guard let index = last(section, key) else { return nil }
        guard let value = UnitValue.boolean(assignments[index].value) else {
            mark(index, .lost("it is not a boolean, and systemd ignores it"))
            return nil
        }
        mark(index, .mapped)
        return (value, index)
    }

    /// Marks what no code looked at by what its key means.
    mutating func markRest() {
        var hints = Self.hintsMax
        for index in assignments.indices where assignments[index].outcome == nil {
            assignments[index].outcome = rest(assignments[index], &hints)
        }
    }

    /// For how many unknown keys it is said what may have been meant, which takes time.
    private static let hintsMax = 100

    private func rest(_ assignment: Assignment, _ hints: inout Int) -> Outcome {
        let (section, key) = (assignment.section, assignment.key)
        if section.hasPrefix("X-") || key.hasPrefix("X-") {
            return .unneeded("systemd ignores names that begin with X-")
        }
        guard let keys = UnitKey.keys(of: section, in: name.type) else {
            return .lost("systemd ignores the section [\(section)] in a .\(name.type)")
        }
        switch keys[key] {
        case nil:
            hints -= 1
            return .lost(UnitKey.unknown(key, in: section, of: name.type, hasHint: hints >= 0))
        case .unneeded(let why): return .unneeded(why)
        case .lost(let why):
            if assignment.value.isEmpty { return .unneeded("an empty value is the default") }
            if UnitKey.isDefault(key, assignment.value) {
                return .unneeded("it is the default value")
            }
            return .lost(why)
        case .translated: return .unneeded("it has no effect in this unit")
        }
    }

    /// How many notes a job has of one unit. The report has all of them.
    private static let notesMax = 500

    /// `foo.timer:7: KEY=VALUE: why`, for each assignment of which something is lost.
    var notes: [String] {
        var notes: [String] = []
        var more = 0
        for assignment in assignments {
            guard case .lost(let why) = assignment.outcome else { continue }
            guard notes.count < Self.notesMax else {
                more += 1
                continue
            }
            let file = assignment.place.file
            let base =
                file.lastIndex(of: "/").map { String(file[file.index(after: $0)...]) } ?? file
            let line = assignment.place.line.map { ":\($0)" } ?? ""
            notes.append(
                "\(base)\(line): \(assignment.key)=\(Self.short(assignment.value)): \(why)")
        }
        if more > 0 {
            notes.append("\(plural(more, "more setting")) of \(name) without an equivalent")
        }
        return notes
    }

    private static func short(_ value: String) -> String {
        let scalars = value.unicodeScalars
        guard scalars.count > 60 else { return value }
        return String(String.UnicodeScalarView(scalars.prefix(57))) + "..."
    }

    /// Adds each line of the files to a report, once.
    ///
    /// - Parameters:
    ///   - jobs: the jobs that were made of it; if there is none, nothing of it is mapped.
    ///   - refusal: why there is none. A place that is no line of the unit gets an entry of its own.
    func account(
        in report: inout ImportReport, jobs: [Job.Name],
        refusal: (place: SourcePlace, reason: String)?
    ) {
        var rest = assignments[...]
        if let refusal, !files.contains(where: { $0.lines.contains { $0.place == refusal.place } })
        {
            report.add(refusal.place, "", .refused(refusal.reason))
        }
        for file in files {
            for line in file.lines {
                switch line.content {
                case .comment: report.add(line.place, line.text, .comment)
                case .section: report.add(line.place, line.text, .setting)
                case .ignored(let why):
                    report.add(line.place, line.text, .noted("systemd ignores the line: \(why)"))
                case .fatal(let why):
                    report.add(
                        line.place, line.text, .refused("systemd does not load \(name): \(why)"))
                case .assignment:
                    guard let assignment = rest.popFirst() else { continue }
                    let reason = refusal.flatMap { $0.place == line.place ? $0.reason : nil }
                    report.add(
                        line.place, line.text,
                        reason.map { .refused($0) } ?? outcome(of: assignment, jobs: jobs))
                }
            }
        }
    }

    private func outcome(of assignment: Assignment, jobs: [Job.Name]) -> ImportReport.Outcome {
        guard !jobs.isEmpty else { return .unneeded("there is no job of \(name)") }
        switch assignment.outcome {
        case .mapped: return .mapped(jobs)
        case .unneeded(let why): return .unneeded(why)
        case .lost(let why): return .reported(jobs, why)
        case nil: return .reported(jobs, "nothing was made of it")
        }
    }
}

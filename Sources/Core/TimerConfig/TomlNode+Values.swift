// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension TomlNode {
    /// The shortest interval of a job.
    static let intervalMin: Duration = .milliseconds(1)
    /// The longest time span: a hundred years of 365.25 days each.
    static let spanMax: Duration = .seconds(100 * 31_557_600)
    /// The most calendar events, or crontab lines, of one job.
    static let schedulesMax = 100
    /// The most arguments of a command, with the program.
    static let argumentsMax = 4096

    func string() throws(Fault) -> String {
        guard case .string(let text) = value else {
            throw Fault(mark, "must be a string, not \(value.kind)")
        }
        guard !text.utf8.contains(0) else { throw Fault(mark, "holds a NUL character") }
        return text
    }

    func boolean() throws(Fault) -> Bool {
        guard case .boolean(let flag) = value else {
            throw Fault(mark, "must be true or false, not \(value.kind)")
        }
        return flag
    }

    func integer(in range: ClosedRange<Int64>) throws(Fault) -> Int {
        guard case .integer(let number) = value else {
            throw Fault(mark, "must be a whole number, not \(value.kind)")
        }
        guard range.contains(number) else {
            throw Fault(
                mark, "\(number) is out of range; from \(range.lowerBound) to \(range.upperBound)")
        }
        return Int(number)
    }

    /// A finite time span, as text with a unit.
    func span() throws(Fault) -> Duration {
        if case .integer(let number) = value {
            throw Fault(mark, "must be a time span in quotes, such as \"\(number)s\"")
        }
        let text = try string()
        let span: Duration?
        do throws(TimeSpanError) {
            span = try TimeSpan.parse(text)
        } catch {
            throw Fault(
                mark, behind: Self.beginning(of: text, error.offset),
                "time span \"\(text)\": \(error)")
        }
        guard let span else {
            throw Fault(mark, "\"\(text)\" never ends; leave the job out if it is never to run")
        }
        guard span <= Self.spanMax else {
            throw Fault(mark, "\"\(text)\" is too long; at most 100 years")
        }
        return span
    }

    /// The first bytes of a text, for a message; a character that is cut is replaced.
    private static func beginning(of text: String, _ length: Int) -> String {
        String(decoding: text.utf8.prefix(length), as: UTF8.self)
    }

    /// One schedule, or an array of them.
    func schedules<Spec>(
        _ parse: (String) throws(ScheduleError) -> Spec
    ) throws(Fault) -> [(spec: Spec, mark: SourceMark)] {
        var nodes = [self]
        if case .array(let elements) = value {
            guard !elements.isEmpty else { throw Fault(mark, "must have at least one schedule") }
            nodes = elements
        }
        guard nodes.count <= Self.schedulesMax else {
            throw Fault(mark, "has \(nodes.count) schedules; at most \(Self.schedulesMax)")
        }
        return try nodes.readEach { (node) throws(Fault) in (try node.parsed(parse), node.mark) }
    }

    /// What a text means in the grammar of calendar events, crontab lines or windows.
    func parsed<Value>(
        _ parse: (String) throws(ScheduleError) -> Value
    ) throws(Fault) -> Value {
        let text = try string()
        do throws(ScheduleError) { return try parse(text) } catch {
            throw Fault(
                mark, behind: Self.beginning(of: text, error.offset), "\"\(text)\": \(error)")
        }
    }

    /// One date in quotes.
    ///
    /// - Parameter message: what is said of a text that looks like none.
    func date(_ text: String, else message: String) throws(Fault) -> CivilDate {
        do throws(ScheduleError) {
            if case .range(let first, let last) = try DaySet.Entry(text), first == last {
                return first
            }
        } catch {
            guard text.utf8.count == 10 else { throw Fault(mark, message) }
            throw Fault(mark, error.message)
        }
        throw Fault(mark, message)
    }

    /// An instant of RFC 3339, in quotes: TOML's own instants are refused.
    func instant() throws(Fault) -> WallInstant {
        if case .dateOrTime = value {
            throw Fault(mark, "must be an instant in quotes, such as \"2026-12-24T18:00:00+01:00\"")
        }
        let text = try string()
        guard let instant = WallInstant(rfc3339: text) else {
            throw Fault(
                mark,
                "\"\(text)\" is not an instant such as \"2026-12-24T18:00:00+01:00\" (RFC 3339)")
        }
        return instant
    }

    /// A time span until a run.
    /// - Parameter instead: what to write instead of one that is too short.
    func interval(_ instead: String) throws(Fault) -> Duration {
        let span = try span()
        guard span >= Self.intervalMin else {
            throw Fault(mark, "an interval is at least 1 ms; \(instead)")
        }
        return span
    }

    func choice<Choice>(of choices: [(String, Choice)]) throws(Fault) -> Choice {
        let text = try string()
        if let choice = choices.first(where: { $0.0 == text }) { return choice.1 }
        let names = choices.map { "\"\($0.0)\"" }.joined(separator: ", ")
        let known = choices.count == 1 ? "this version knows only \(names)" : "one of \(names)"
        throw Fault(mark, "unknown value \"\(text)\"; \(known)")
    }

    /// The program and the arguments of a command.
    func arguments() throws(Fault) -> [String] {
        guard case .array(let nodes) = value else {
            throw Fault(
                mark,
                "must be an array of strings such as [\"ls\", \"-l\"], not \(value.kind); "
                    + "for a line with blanks or pipes, use shell")
        }
        let arguments = try nodes.readEach { (node) throws(Fault) in try node.string() }
        guard let program = arguments.first, !program.isEmpty else {
            throw Fault(mark, "the program is missing")
        }
        guard arguments.count <= Self.argumentsMax else {
            throw Fault(mark, "has \(arguments.count) arguments; at most \(Self.argumentsMax)")
        }
        return arguments
    }

    /// Words that can be appended to a command, each once.
    func runArguments() throws(Fault) -> [String] {
        guard case .array(let nodes) = value else {
            throw Fault(
                mark, "must be an array of words such as [\"full\", \"daily\"], not \(value.kind)")
        }
        guard nodes.count <= RunArguments.countMax else {
            throw Fault(mark, "has \(nodes.count) words; at most \(RunArguments.countMax)")
        }
        var marks: [String: SourceMark] = [:]
        return try nodes.readEach { (node) throws(Fault) in
            let word = try node.string()
            if let fault = RunArguments.fault(inWord: word) { throw Fault(node.mark, fault) }
            if let other = marks.updateValue(node.mark, forKey: word) {
                throw Fault(
                    node.mark,
                    "\"\(word)\" is in line \(other.line), column \(other.column) already; remove one of them"
                )
            }
            return word
        }
    }

    /// Environment variables for runs, by their names.
    func environment() throws(Fault) -> [String: String] {
        guard case .table(let entries) = value else {
            throw Fault(
                mark, "must be a table such as { LANG = \"C\" }, not \(value.kind)")
        }
        let variables = try entries.readEach { (entry) throws(Fault) in
            if let fault = Self.fault(inVariable: entry.key) { throw Fault(entry.mark, fault) }
            return (entry.key, try entry.node.string())
        }
        return Dictionary(variables, uniquingKeysWith: { $1 })
    }

    /// Names of environment variables of the runner.
    ///
    /// - Parameter fault: a further check of each name.
    func variableNames(
        _ fault: (String) -> String? = { _ in nil }
    ) throws(Fault) -> Set<String> {
        guard case .array(let nodes) = value else {
            throw Fault(mark, "must be an array of names such as [\"LANG\"], not \(value.kind)")
        }
        guard nodes.count <= Self.argumentsMax else {
            throw Fault(mark, "has \(nodes.count) names; at most \(Self.argumentsMax)")
        }
        return Set(
            try nodes.readEach { (node) throws(Fault) in
                let name = try node.string()
                if let fault = Self.fault(inVariable: name) ?? fault(name) {
                    throw Fault(node.mark, fault)
                }
                return name
            })
    }

    /// The error in the name of a variable.
    private static func fault(inVariable name: String) -> String? {
        guard VariableName.isValid(name) else {
            let rule = "is not a valid variable name: letters, digits and '_', no digit first"
            // What follows the `=` may be the value of the variable, which may be secret.
            guard name.utf8.contains(UInt8(ascii: "=")) else { return "\"\(name)\" \(rule)" }
            return "the text \(rule); it has a '=' and perhaps a value"
        }
        return VariableName.isReserved(name)
            ? "\"\(name)\" is reserved for timerd and systemd" : nil
    }
}

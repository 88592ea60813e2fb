// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// A table `[job."NAME@"]`, of which a job is made for each of its `instances`.
struct JobTemplate {
    /// The most instances of a template.
    static let instancesMax = 10_000

    /// The name of the table, which ends in `@`.
    let name: String
    /// The keys of its table, without `instances`.
    let entries: [TomlEntry]
    /// What stands behind the name of the template in the names of the jobs, and where that is
    /// written. None if it has an error.
    let instances: [(name: String, mark: SourceMark)]
    /// The names of its jobs.
    private let jobs: Set<String>

    init(
        name: String, entries: [TomlEntry], instances: [(name: String, mark: SourceMark)]
    ) {
        self.name = name
        self.entries = entries
        self.instances = instances
        jobs = Set(instances.map { name + $0.name })
    }

    /// Whether it has an error, so that its instances are not known.
    var isWrong: Bool { instances.isEmpty }

    /// Whether a job is one of its instances.
    func hasInstance(of job: String) -> Bool { jobs.contains(job) }

    // MARK: - Instances

    /// Reads the names of the instances.
    static func instances(
        _ node: TomlNode, of template: String
    ) throws(Fault) -> [(name: String, mark: SourceMark)] {
        guard case .array(let nodes) = node.value else {
            throw Fault(
                node.mark,
                "must be an array of names such as [\"a\", \"b\"], not \(node.value.kind)")
        }
        guard !nodes.isEmpty else {
            throw Fault(
                node.mark, "is empty, so there would be no job; name one, or remove the table")
        }
        guard nodes.count <= instancesMax else {
            throw Fault(node.mark, "has \(nodes.count) instances; at most \(instancesMax)")
        }
        var marks: [String: SourceMark] = [:]
        return try nodes.readEach { (node) throws(Fault) in
            let name = try node.string()
            guard !name.isEmpty else { throw Fault(node.mark, "an instance must have a name") }
            if let fault = Job.Name.fault(in: template + name) {
                throw Fault(node.mark, "makes the job \"\(template)\(name)\": \(fault)")
            }
            if let other = marks.updateValue(node.mark, forKey: name) {
                throw Fault(
                    node.mark,
                    "\"\(name)\" is in line \(other.line), column \(other.column) already; remove one of them"
                )
            }
            return (name, node.mark)
        }
    }

    /// The keys of the job of one instance.
    ///
    /// - Parameter own: the keys of the instance's own table, which go before those of the template.
    func entries(of instance: String, own: [TomlEntry]) -> [TomlEntry] {
        Self.overriding(entries, with: own).map { $0.replacing(instance) }
    }

    /// Keys that mean the same in another way, such as another schedule, go as a whole. Tables that
    /// are merged with `[defaults]` are merged here, too.
    private static func overriding(_ entries: [TomlEntry], with own: [TomlEntry]) -> [TomlEntry] {
        guard !own.isEmpty else { return entries }
        var names = Set(own.map(\.key))
        for others in [JobKey.commands, JobKey.schedules] where !names.isDisjoint(with: others) {
            names.formUnion(others)
        }
        return entries.filter { !names.contains($0.key) }
            + own.map { entry in
                guard Draft.mergedNames.contains(entry.key),
                    case .table(let new) = entry.node.value,
                    let old = entries.first(where: { $0.key == entry.key }),
                    case .table(let base) = old.node.value
                else { return entry }
                let keys = Set(new.map(\.key))
                var entry = entry
                entry.node.value = .table(base.filter { !keys.contains($0.key) } + new)
                return entry
            }
    }

    // MARK: - %i

    /// The keys in whose texts `%i` is replaced.
    static let replacedKeys: Set<String> = [
        "description", "command", "shell", "environment", "environment-file", "working-directory",
        "stdin", "condition", "credentials", "slots", "follows",
    ]

    /// What is wrong with a `%` in the values of a template, or of a table of one of its instances.
    static func faults(in entries: [TomlEntry]) -> [(key: String, fault: Fault)] {
        entries.flatMap { entry in
            let isReplaced = replacedKeys.contains(entry.key)
            return entry.node.percentFaults(isReplaced: isReplaced).map { (entry.key, $0) }
        }
    }
}

extension TomlEntry {
    /// The same with the name of an instance for each `%i`, if it is replaced in this key.
    fileprivate func replacing(_ instance: String) -> TomlEntry {
        guard JobTemplate.replacedKeys.contains(key) else { return self }
        return TomlEntry(key: key, mark: mark, node: node.replacing(instance))
    }
}

extension TomlNode {
    fileprivate func replacing(_ instance: String) -> TomlNode {
        let value: TomlValue =
            switch value {
            case .string(let text): .string(Self.replacing(instance, in: text))
            case .array(let nodes): .array(nodes.map { $0.replacing(instance) })
            case .table(let entries):
                .table(
                    entries.map {
                        TomlEntry(key: $0.key, mark: $0.mark, node: $0.node.replacing(instance))
                    })
            case .integer, .boolean, .float, .dateOrTime: value
            }
        return TomlNode(mark: mark, value: value)
    }

    /// `%i` is the instance and `%%` is `%`.
    private static func replacing(_ instance: String, in text: String) -> String {
        guard text.utf8.contains(percent) else { return text }
        var replaced: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == percent, let next = rest.first, next == letter || next == percent else {
                replaced.append(byte)
                continue
            }
            rest.removeFirst()
            if next == letter { replaced += instance.utf8 } else { replaced.append(percent) }
        }
        return String(decoding: replaced, as: UTF8.self)
    }

    private static let percent = UInt8(ascii: "%")
    private static let letter = UInt8(ascii: "i")

    /// - Parameter isReplaced: whether `%i` is replaced in this value.
    fileprivate func percentFaults(isReplaced: Bool) -> [Fault] {
        switch value {
        case .string(let text): Self.percentFault(in: text, at: mark, isReplaced).map { [$0] } ?? []
        case .array(let nodes): nodes.flatMap { $0.percentFaults(isReplaced: isReplaced) }
        case .table(let entries): entries.flatMap { $0.node.percentFaults(isReplaced: isReplaced) }
        case .integer, .boolean, .float, .dateOrTime: []
        }
    }

    /// The first `%` that has no meaning.
    private static func percentFault(
        in text: String, at mark: SourceMark, _ isReplaced: Bool
    ) -> Fault? {
        var rest = text.utf8[...]
        while let start = rest.firstIndex(of: percent) {
            let behind = text.utf8.index(after: start)
            let next = behind == text.utf8.endIndex ? nil : text.utf8[behind]
            rest = next == nil ? rest[behind...] : rest[text.utf8.index(after: behind)...]
            let beginning = String(text[..<start])
            if !isReplaced {
                guard next == letter else { continue }
                return Fault(
                    mark, behind: beginning, "%i is not replaced in this key; \(replacedIn)")
            }
            guard next != letter, next != percent else { continue }
            return Fault(
                mark, behind: beginning,
                "in a template % is written as %%, and %i is the name of the instance; nothing else may follow a %"
            )
        }
        return nil
    }

    private static let replacedIn =
        "it is in \(JobTemplate.replacedKeys.sorted().joined(separator: ", "))"
}

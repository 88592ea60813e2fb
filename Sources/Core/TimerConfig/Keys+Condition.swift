// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

/// The values of the table `condition` of a job, and those of `[defaults]` below them.
struct ConditionDraft: KeyTarget {
    var values = Condition()

    /// The condition; nil if nothing is asked.
    var condition: Condition? { values.isEmpty ? nil : values }

    static let keys: [Key<ConditionDraft>] = [
        Key(
            \.values.pathExists, "path-exists", .paths,
            "Paths that must exist; one with ! in front must not."),
        Key(
            \.values.mounted, "mounted", .paths,
            "Paths where a file system must be mounted; with ! in front, none may be."),
        Key(
            \.values.acPower, "ac-power", .boolean,
            "Whether the machine must be connected to power; false: it must run on its battery."),
        Key(
            \.values.networkOnline, "network-online", .boolean,
            "Whether the machine must have a default route and an address."),
        Key(
            \.values.loadBelow, "load-below", .number(loads),
            "The load average of the last minute must be less than this."),
        Key(
            \.values.command, "command", .program,
            "A program that is executed as the user of the job, within 10 s: exit code 0 is yes, 1 to 254 is no, and all else fails the run."
        ),
        Key(
            \.values.otherwise, "otherwise", .words,
            "What happens with a run whose condition is not met."),
        Key(
            \.values.waitMax, "wait-max",
            .span.atLeast(.seconds(1), "so that nothing is asked again"),
            "With otherwise = \"wait\": how long a run waits before it is skipped."),
    ]

    /// The keys that ask something.
    static let questions = keys.map(\.name).filter { !["otherwise", "wait-max"].contains($0) }

    private static let loads = 0.01...100_000
}

extension Draft {
    /// The key of a job about when its runs may start.
    static let conditions: [JobKey] = [
        JobKey(
            "condition", .record(ConditionDraft.keys.map { ($0.name, $0.schema) }),
            "What must be true when a run is about to start, or else it is skipped or waits."
        ) { node, draft throws(Fault) in
            try node.readCondition(into: &draft.condition)
        }.removed(isMerged: true) { $0.condition = ConditionDraft() }
    ]

    /// What is wrong with the table of a job, together with that of `[defaults]`.
    func conditionFaults(among entries: [TomlEntry]) -> [Fault] {
        guard let own = entries.first(where: { $0.key == "condition" }),
            !refused.contains("condition"), case .table(let keys) = own.node.value
        else { return [] }
        if condition.values.isEmpty, !keys.contains(where: { asks($0.key) }) {
            return [
                Fault(own.mark, "condition: asks nothing; add \(TomlNode.questions)")
            ]
        }
        guard let waitMax = keys.first(where: { $0.key == "wait-max" }),
            condition.values.otherwise != .wait
        else { return [] }
        return [
            Fault(waitMax.mark, "condition: wait-max can only be used with otherwise = \"wait\"")
        ]
    }

    private func asks(_ key: String) -> Bool { ConditionDraft.questions.contains(key) }
}

extension TomlNode {
    /// The keys that ask something, for messages.
    fileprivate static var questions: String { Draft.oneOf(ConditionDraft.questions) }

    fileprivate func readCondition(into draft: inout ConditionDraft) throws(Fault) {
        guard case .table(let entries) = value else {
            throw Fault(
                mark, "must be a table such as { mounted = [\"/mnt\"] }, not \(value.kind)")
        }
        guard !entries.isEmpty else {
            throw Fault(mark, "asks nothing; add \(Self.questions)")
        }
        var read = draft
        _ = try entries.readEach { (entry) throws(Fault) in
            guard let key = ConditionDraft.keys.first(where: { $0.name == entry.key }) else {
                let names = ConditionDraft.keys.map(\.name)
                let hint =
                    nearestName(entry.key, among: names).map { "did you mean \"\($0)\"?" }
                    ?? "it has \(names.joined(separator: ", "))"
                throw Fault(entry.mark, "unknown key \"\(entry.shown)\" (\(hint))")
            }
            do throws(Fault) { try key.read(entry.node, &read) } catch {
                throw error.named(key.name)
            }
        }
        draft = read
    }
}

extension Fault {
    /// The same with the name of a key of an inner table in front.
    fileprivate func named(_ key: String) -> Fault {
        var fault = self
        fault.message = "\(key): \(message)"
        fault.others = others.map { $0.named(key) }
        return fault
    }
}

extension KeyShape where Value == [Condition.Path] {
    /// The most paths of one key.
    private static var pathsMax: Int { 32 }

    fileprivate static var paths: Self {
        list(of: .pattern("^!?/")) { (node) throws(Fault) in
            guard case .array(let nodes) = node.value else {
                throw Fault(
                    node.mark,
                    "must be an array of paths such as [\"/mnt\"], not \(node.value.kind)")
            }
            guard nodes.count <= pathsMax else {
                throw Fault(node.mark, "has \(nodes.count) paths; at most \(pathsMax)")
            }
            return try nodes.readEach { (node) throws(Fault) in
                let text = try node.string()
                let path = text.hasPrefix("!") ? String(text.dropFirst()) : text
                guard path.hasPrefix("/") else {
                    throw Fault(
                        node.mark,
                        "\"\(text)\" must be an absolute path, beginning with /, or with !/ if it must not be there"
                    )
                }
                return Condition.Path(path, isNegated: path != text)
            }
        }
    }
}

extension KeyShape where Value == [String] {
    fileprivate static var program: Self {
        Self(.array(.text, min: 1)) { (node) throws(Fault) in try node.arguments() }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles

/// The schema of a type from its declaration: which members it has, and which of them may be absent,
/// says its decoding, and what they mean say the comments above them.
///
/// A text whose comment has `, RFC 3339` is an instant; a member `job` or `machine` is a name and a member
/// `run` the identity of a run; a number is not negative.
struct DeclaredSchema {
    let schema: DocumentValue
    /// The types of members that have a schema of their own.
    let types: [any Decodable.Type]

    /// Why there is no schema.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameter name: the name of the schema of a type.
    init(of type: any Decodable.Type, name: @escaping (any Decodable.Type) -> String) throws {
        let members = try Members(of: type, name: name)
        types = members.types.values.filter { Self.simple($0) == nil }
        let declaration = try Declaration(of: type)
        var properties: [String: DocumentValue] = [:]
        for (member, kind) in members.kinds {
            guard let sentence = declaration.sentences[member], let type = members.types[member]
            else { throw Fault(description: "\(type).\(member) has no comment") }
            let value = Self.simple(type) ?? ["$ref": Self.reference(name(type))]
            properties[member] = Self.schema(
                of: member, value, isList: kind.hasPrefix("["), sentence)
        }
        var found: [String: DocumentValue] = [
            "type": "object", "description": .string(declaration.sentence),
            "properties": .object(properties),
        ]
        if !members.required.isEmpty {
            found["required"] = .list(members.required.sorted().map { .string($0) })
        }
        schema = .object(found)
    }

    /// The name by the rule: `UpcomingReply.Run` is `UpcomingRun`, and `JobStatus` is `Job`.
    static func name(of type: any Decodable.Type) -> String {
        path(of: type).map { name in
            let ending = ["Reply", "Status"].first { name.hasSuffix($0) && name != $0 }
            return String(name.dropLast(ending?.count ?? 0))
        }.joined()
    }

    /// The names of the types that contain it, and its own.
    static func path(of type: any Decodable.Type) -> [String] {
        String(reflecting: type).split(separator: ".").dropFirst().map(String.init)
    }

    private static func schema(
        of member: String, _ value: DocumentValue, isList: Bool, _ sentence: String
    ) -> DocumentValue {
        let instant = ", RFC 3339"
        let names = ["job": "JobName", "machine": "JobName", "run": "RunID"]
        var found: [String: DocumentValue] = [:]
        if isList {
            found = ["type": "array", "items": value]
        } else if value == ["type": "string"], sentence.contains(instant) {
            found = ["$ref": reference("Instant")]
        } else if value == ["type": "string"], let name = names[member] {
            found = ["$ref": reference(name)]
        } else if case .object(let members) = value {
            found = members
        }
        found["description"] = .string(sentence.replacing(instant, with: ""))
        return .object(found)
    }

    /// Nil for a type that has a schema of its own.
    private static func simple(_ type: any Decodable.Type) -> DocumentValue? {
        switch type {
        case is String.Type: ["type": "string"]
        case is Bool.Type: ["type": "boolean"]
        case is Int.Type: ["type": "integer", "minimum": 0]
        case is Int32.Type: ["type": "integer", "format": "int32", "minimum": 0]
        case is [String: String].Type:
            ["type": "object", "additionalProperties": ["type": "string"]]
        case is any FixedWidthInteger.Type: ["type": "integer", "format": "int64", "minimum": 0]
        default: nil
        }
    }

    private static func reference(_ name: String) -> DocumentValue {
        .string("#/components/schemas/\(name)")
    }
}

/// What the comments above a type of TimerControl and above its members say.
private struct Declaration {
    let sentence: String
    /// By the names that members have in JSON.
    private(set) var sentences: [String: String] = [:]

    init(of type: any Decodable.Type) throws {
        let names = DeclaredSchema.path(of: type)
        for (_, text) in try Project.sources(in: Project.folder(of: "TimerControl")) {
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            var start = lines.startIndex
            for (depth, name) in names.enumerated() {
                let line = "\(Self.indent(depth))public struct \(name):"
                guard let found = lines[start...].firstIndex(where: { $0.hasPrefix(line) })
                else { break }
                start = found
            }
            guard start > lines.startIndex else { continue }
            sentence = Self.comment(above: start, in: lines)
            let indent = Self.indent(names.count)
            let end = lines[start...].firstIndex(of: indent.dropLast(4) + "}") ?? lines.endIndex
            for index in start..<end where lines[index].hasPrefix("\(indent)public var ") {
                let name = lines[index].dropFirst("\(indent)public var ".count).prefix { $0 != ":" }
                sentences[Members.name(String(name))] = Self.comment(above: index, in: lines)
            }
            return
        }
        throw DeclaredSchema.Fault(description: "no file of TimerControl declares \(type)")
    }

    private static func indent(_ depth: Int) -> String { String(repeating: " ", count: 4 * depth) }

    /// The first paragraph of the comment.
    private static func comment(above index: Int, in lines: [Substring]) -> String {
        lines[..<index].reversed().map { $0.drop { $0 == " " } }
            .prefix { $0.hasPrefix("///") }.reversed()
            .map { $0.dropFirst(3).drop { $0 == " " } }
            .prefix { !$0.isEmpty }.joined(separator: " ")
    }
}

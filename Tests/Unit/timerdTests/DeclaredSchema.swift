// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles

/// The schema of a type from its declaration: which members it has and which of them may be absent
/// says its decoding, and what they mean say the comments above them.
///
/// A comment that ends with `RFC 3339.` is about an instant; a member `job` is the name of a job and a member
/// `run` the identity of a run; a number is not negative.
struct DeclaredSchema {
    /// The name of the schema: that of the type without `Reply` or `Status`.
    let name: String
    let schema: DocumentValue
    /// The types of members that need a schema as well.
    private(set) var types: [any Decodable.Type] = []

    /// Why there is no schema.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameter known: the name of the schema of a type that has one already.
    init(
        of type: any Decodable.Type, known: @escaping (any Decodable.Type) -> String?
    ) throws {
        name = Self.name(of: type)
        var inner: [any Decodable.Type] = []
        let members = try Members(of: type) { type in
            if let name = known(type) { return name }
            inner.append(type)
            return Self.name(of: type)
        }
        types = inner
        let declaration = try Declaration(of: "\(type)")
        var properties: [String: DocumentValue] = [:]
        for (member, kind) in members.kinds {
            guard let sentence = declaration.sentences[member] else {
                throw Fault(description: "\(type).\(member) has no comment")
            }
            properties[member] = Self.schema(of: member, kind, sentence)
        }
        schema = [
            "type": "object", "description": .string(declaration.sentence),
            "required": .list(members.required.sorted().map { .string($0) }),
            "properties": .object(properties),
        ]
    }

    private static func name(of type: any Decodable.Type) -> String {
        let name = "\(type)"
        let ending = ["Reply", "Status"].first { name.hasSuffix($0) && name != $0 }
        return String(name.dropLast(ending?.count ?? 0))
    }

    private static func schema(of member: String, _ kind: String, _ sentence: String)
        -> DocumentValue
    {
        var text = sentence
        var found: [String: DocumentValue] = [:]
        let instant = ", RFC 3339."
        if kind == "string", text.hasSuffix(instant) {
            text = text.dropLast(instant.count) + "."
            found["$ref"] = reference("Instant")
        } else if kind == "string", let named = ["job": "JobName", "run": "RunID"][member] {
            found["$ref"] = reference(named)
        } else if kind.hasPrefix("[") {
            found["type"] = "array"
            found["items"] = value(String(kind.dropFirst().dropLast()))
        } else if case .object(let value) = value(kind) {
            found = value
        }
        found["description"] = .string(text)
        return .object(found)
    }

    private static func value(_ kind: String) -> DocumentValue {
        switch kind {
        case "string", "boolean": ["type": .string(kind)]
        case "integer": ["type": "integer", "format": "int64", "minimum": 0]
        default: ["$ref": reference(kind)]
        }
    }

    private static func reference(_ name: String) -> DocumentValue {
        .string("#/components/schemas/\(name)")
    }
}

/// What the comments above a type and its members say.
private struct Declaration {
    let sentence: String
    /// By the names that members have in JSON.
    private(set) var sentences: [String: String] = [:]

    /// - Parameter type: a struct in TimerControl, by its own name.
    init(of type: String) throws {
        for (_, text) in try Project.sources(in: Project.folder(of: "TimerControl")) {
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            guard
                let start = lines.firstIndex(where: {
                    $0.hasPrefix("public struct \(type):") || $0.hasPrefix("public struct \(type) ")
                })
            else { continue }
            sentence = Self.comment(above: start, in: lines)
            for index in lines[start...].indices.dropFirst() {
                // The end of the type.
                if lines[index] == "}" { return }
                let words = lines[index].split { $0 == " " || $0 == ":" }
                guard words.count > 2, words[0] == "public", words[1] == "var",
                    lines[index].hasPrefix("    public")
                else { continue }
                let name = words[2].reduce(into: "") { text, character in
                    text += character.isUppercase ? "_\(character.lowercased())" : "\(character)"
                }
                sentences[name] = Self.comment(above: index, in: lines)
            }
            return
        }
        throw DeclaredSchema.Fault(description: "no file of TimerControl declares \(type)")
    }

    private static func comment(above index: Int, in lines: [Substring]) -> String {
        lines[..<index].reversed().map { $0.drop { $0 == " " } }
            .prefix { $0.hasPrefix("///") }.reversed()
            .map { $0.dropFirst(3).drop { $0 == " " } }.joined(separator: " ")
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import TimerControl

/// A value of JSON whose text is always the same: members in one order, short values on one line.
enum DocumentValue: Hashable, Decodable {
    case bool(Bool)
    case integer(Int)
    case string(String)
    case list([DocumentValue])
    case object([String: DocumentValue])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let integer = try? value.decode(Int.self) {
            self = .integer(integer)
        } else if let string = try? value.decode(String.self) {
            self = .string(string)
        } else if let list = try? value.decode([DocumentValue].self) {
            self = .list(list)
        } else {
            self = .object(try value.decode([String: DocumentValue].self))
        }
    }

    /// The names of the members at the end of a path of names.
    func names(_ path: String...) -> [String] {
        var found = self
        for name in path {
            guard case .object(let members) = found, let next = members[name] else { return [] }
            found = next
        }
        guard case .object(let members) = found else { return [] }
        return members.keys.sorted()
    }

    private static let columns = 120

    /// - Parameter column: where the text begins, in characters.
    func text(at column: Int = 0, indented spaces: Int = 0) -> String {
        let line = short
        guard column + line.count >= Self.columns else { return line }
        let inner = String(repeating: " ", count: spaces + 2)
        let end = "\n" + String(repeating: " ", count: spaces)
        switch self {
        case .list(let list):
            let lines = list.map { inner + $0.text(at: spaces + 2, indented: spaces + 2) }
            return "[\n" + lines.joined(separator: ",\n") + end + "]"
        case .object(let members):
            let lines = Self.sorted(members).map { name, value in
                let start = "\(inner)\(DocumentValue.string(name).short): "
                return start + value.text(at: start.count, indented: spaces + 2)
            }
            return "{\n" + lines.joined(separator: ",\n") + end + "}"
        case .bool, .integer, .string: return line
        }
    }

    private var short: String {
        switch self {
        case .bool(let bool): "\(bool)"
        case .integer(let integer): "\(integer)"
        case .string(let string): Self.quoted(string)
        case .list(let list): "[" + list.map(\.short).joined(separator: ", ") + "]"
        case .object(let members):
            "{"
                + Self.sorted(members).map { "\(Self.quoted($0)): \($1.short)" }.joined(
                    separator: ", ") + "}"
        }
    }

    /// What a reader looks for first comes first.
    private static let first = [
        "openapi", "info", "servers", "paths", "components", "operationId", "summary", "name", "in",
        "$ref", "type", "title", "description",
    ]

    private static func sorted(_ members: [String: DocumentValue]) -> [(String, DocumentValue)] {
        func place(_ name: String) -> Int { first.firstIndex(of: name) ?? first.count }
        return members.sorted { (place($0.key), $0.key) < (place($1.key), $1.key) }
            .map { ($0.key, $0.value) }
    }

    private static func quoted(_ text: String) -> String {
        String(decoding: (try? ControlJSON.encode([text])) ?? [], as: UTF8.self)
            .dropFirst().dropLast().description
    }
}

extension DocumentValue: ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral
{
    init(stringLiteral value: String) { self = .string(value) }
    init(arrayLiteral elements: DocumentValue...) { self = .list(elements) }
    init(dictionaryLiteral elements: (String, DocumentValue)...) {
        self = .object(Dictionary(uniqueKeysWithValues: elements))
    }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(integerLiteral value: Int) { self = .integer(value) }
}

/// The OpenAPI document: its paths are those of the table of endpoints, and its schemas those of the
/// declarations of the answers. schemas.json has the schemas of bodies, and what no declaration says.
struct OpenAPIDocument {
    static let file = "Sources/Control/COpenAPI/openapi.json"
    /// What is written by hand, in the form of the document.
    static let frame = "Sources/Control/COpenAPI/schemas.json"

    private var components: [String: [String: DocumentValue]]
    private let head: [String: DocumentValue]
    /// The names of schemas that are not those of the rule.
    private let names: [ObjectIdentifier: String]
    /// The schemas that are those of a declaration, as far as it was read.
    private var described: Set<String> = []

    /// - Parameter types: types by the names of their schemas.
    init(types: [String: any Decodable.Type]) throws {
        var members = try JSONDecoder().decode(
            [String: DocumentValue].self, from: Data(contentsOf: Project.url(of: Self.frame)))
        guard case .object(let parts)? = members.removeValue(forKey: "components") else {
            throw CocoaError(.fileReadCorruptFile)
        }
        components = parts.mapValues { if case .object(let found) = $0 { found } else { [:] } }
        head = members
        names = Dictionary(
            uniqueKeysWithValues: types.map { (ObjectIdentifier($0.value), $0.key) })
    }

    /// The text of the file.
    mutating func text() throws -> String {
        var paths: [String: DocumentValue] = [:]
        // What each endpoint may answer.
        _ = try schema(of: ErrorReply.self)
        for path in EndpointTable.paths { paths[path] = .object(try operations(at: path)) }
        var document = head
        document["paths"] = .object(paths)
        document["components"] = .object(components.mapValues { .object($0) })
        return DocumentValue.object(document).text() + "\n"
    }

    // MARK: - Paths

    private mutating func operations(at path: String) throws -> [String: DocumentValue] {
        var found: [String: DocumentValue] = [:]
        let endpoints = EndpointTable.endpoints(spelled: path)
        for endpoint in endpoints {
            let facts = endpoint.facts
            found[facts.method.rawValue.lowercased()] = .object(try operation(facts))
            guard let place = facts.place else { continue }
            components["parameters", default: [:]][place.name] = .object(
                Self.parameter(place, in: "path").merging(["required": true]) { $1 })
            found["parameters"] = [["$ref": .string("#/components/parameters/\(place.name)")]]
        }
        guard found["get"] == nil, let shown = Self.shadowed(by: path) else { return found }
        let word = String(path.split(separator: "/").last ?? "")
        var operation = try operation(shown)
        let name = word.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }
        operation["operationId"] = .string(shown.id + name.joined())
        operation["summary"] = .string("The job that is called `\(word)`.")
        found["get"] = .object(operation)
        return found
    }

    /// The endpoint for GET whose path has a value where this one has its last word: a job may have
    /// the name of a command.
    private static func shadowed(by path: String) -> EndpointFacts? {
        let parts = path.split(separator: "/")
        return EndpointTable.all.map(\.facts).first { facts in
            let others = facts.path.split(separator: "/")
            return facts.method == .get && others.count == parts.count
                && others.dropLast() == parts.dropLast() && others.last?.first == "{"
        }
    }

    private mutating func operation(_ facts: EndpointFacts) throws -> [String: DocumentValue] {
        let elsewhere = facts.access.isForBrowsers ? "" : " Not over the web server."
        var found: [String: DocumentValue] = [
            "operationId": .string(facts.id), "summary": .string(facts.sentence + elsewhere),
        ]
        if !facts.parameters.isEmpty {
            found["parameters"] = .list(
                facts.parameters.map { .object(Self.parameter($0, in: "query")) })
        }
        if let body = facts.body {
            found["requestBody"] = [
                "required": .bool(body.isRequired),
                "content": ["application/json": ["schema": Self.schema(body.schema)]],
            ]
        }
        var responses: [String: DocumentValue] = [
            "200": [
                "description": .string(facts.answer.sentence),
                "content": .object(try content(facts.answer.content)),
            ],
            "default": Self.response("Error"),
        ]
        if facts.access.isForOperators || facts.access == .ownersAtSocket {
            responses["403"] = Self.response("Forbidden")
        }
        for error in facts.errors {
            responses["\(error.rawValue)"] = Self.response("\(error)".capitalizedFirst)
        }
        found["responses"] = .object(responses)
        return found
    }

    private mutating func content(_ content: AnswerForm.Content) throws -> [String: DocumentValue] {
        switch content {
        case .json(let type): ["application/json": ["schema": try schema(of: type)]]
        case .document: ["application/json": ["schema": ["type": "object"]]]
        case .text(let types):
            Dictionary(
                uniqueKeysWithValues: types.map { ($0, ["schema": ["type": "string"]]) })
        case .events(let messages):
            [
                "text/event-stream": [
                    "schema": ["type": "string"],
                    "x-messages": .object(
                        Dictionary(
                            uniqueKeysWithValues: try messages.map {
                                ($0.name, try schema(of: $0.type))
                            })),
                ]
            ]
        }
    }

    private static func response(_ name: String) -> DocumentValue {
        ["$ref": .string("#/components/responses/\(name)")]
    }

    private static func schema(_ name: String) -> DocumentValue {
        ["$ref": .string("#/components/schemas/\(name)")]
    }

    private static func parameter(_ facts: ValueFacts, in place: String) -> [String: DocumentValue]
    {
        [
            "name": .string(facts.name), "in": .string(place),
            "description": .string(facts.sentence), "schema": schema(facts.shape),
        ]
    }

    private static func schema(_ shape: ValueShape) -> DocumentValue {
        switch shape {
        case .named(let name): return schema(name)
        case .number(let range, let fallback):
            var found: [String: DocumentValue] = [
                "type": "integer", "minimum": .integer(range.lowerBound),
                "maximum": .integer(range.upperBound),
            ]
            if let fallback { found["default"] = .integer(fallback) }
            return .object(found)
        case .wholeNumber: return ["type": "integer", "format": "int64", "minimum": 0]
        case .word(let words):
            return ["type": "string", "enum": .list(words.map { .string($0) })]
        case .text(let pattern): return ["type": "string", "pattern": .string(pattern)]
        }
    }

    // MARK: - Schemas

    /// The schema of a type: that of its declaration, with what schemas.json adds.
    private mutating func schema(of type: any Decodable.Type) throws -> DocumentValue {
        let name = name(of: type)
        guard described.insert(name).inserted else { return Self.schema(name) }
        let declared = try DeclaredSchema(of: type) { [self] in self.name(of: $0) }
        let added = components["schemas"]?[name] ?? [:]
        components["schemas", default: [:]][name] = declared.schema.adding(added)
        for inner in declared.types { _ = try schema(of: inner) }
        return Self.schema(name)
    }

    private func name(of type: any Decodable.Type) -> String {
        names[ObjectIdentifier(type)] ?? DeclaredSchema.name(of: type)
    }
}

extension DocumentValue {
    /// The same with these members. If they say what it is, with `$ref` or `type`, only the description
    /// stays.
    fileprivate func adding(_ other: DocumentValue) -> DocumentValue {
        guard case .object(var members) = self, case .object(let others) = other else {
            return other
        }
        if others["$ref"] ?? others["type"] != nil {
            members = members.filter { $0.key == "description" }
        }
        return .object(members.merging(others) { $0.adding($1) })
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}

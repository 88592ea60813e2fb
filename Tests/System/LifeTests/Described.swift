// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles

/// JSON of any kind.
enum AnyJSON: Decodable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case list([AnyJSON])
    case object([String: AnyJSON])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let flag = try? value.decode(Bool.self) {
            self = .bool(flag)
        } else if let number = try? value.decode(Int64.self) {
            self = .integer(number)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let list = try? value.decode([AnyJSON].self) {
            self = .list(list)
        } else {
            self = .object(try value.decode([String: AnyJSON].self))
        }
    }

    init(_ text: String) throws {
        self = try JSONDecoder().decode(AnyJSON.self, from: Data(text.utf8))
    }

    subscript(name: String) -> AnyJSON? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var list: [AnyJSON]? { if case .list(let list) = self { list } else { nil } }
    var members: [String: AnyJSON]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The kinds of values that JSON Schema knows.
    var kinds: Set<String> {
        switch self {
        case .null: ["null"]
        case .bool: ["boolean"]
        case .integer: ["integer", "number"]
        case .number: ["number"]
        case .text: ["string"]
        case .list: ["array"]
        case .object: ["object"]
        }
    }
}

/// The OpenAPI document, and a check of values against it. It knows those parts of JSON Schema that
/// the document uses for answers.
struct Described {
    let document: AnyJSON

    init() throws {
        let file = Project.url(of: "Sources/Control/COpenAPI/openapi.json")
        document = try AnyJSON(String(contentsOf: file, encoding: .utf8))
    }

    /// The differences between a value and the schema of this name.
    func faults(in value: AnyJSON, _ schema: String) -> [String] {
        faults(in: value, .object(["$ref": .text("#/components/schemas/\(schema)")]), schema)
    }

    private func faults(in value: AnyJSON, _ schema: AnyJSON, _ place: String) -> [String] {
        if let reference = schema["$ref"]?.text {
            let found = reference.split(separator: "/").dropFirst().reduce(document) {
                $0[String($1)] ?? .null
            }
            return faults(in: value, found, place)
        }
        var faults: [String] = []
        func expect(_ isGood: Bool, _ what: String) {
            if !isGood { faults.append("\(place): \(what): \(value)") }
        }
        if let kind = schema["type"]?.text { expect(value.kinds.contains(kind), "no \(kind)") }
        if let words = schema["enum"]?.list { expect(words.contains(value), "another word") }
        if case .integer(let number) = value {
            if case .integer(let least)? = schema["minimum"] { expect(number >= least, "less") }
            if case .integer(let most)? = schema["maximum"] { expect(number <= most, "more") }
        }
        if let pattern = schema["pattern"]?.text, let text = value.text {
            let isMatch = text.range(of: pattern, options: .regularExpression) != nil
            expect(isMatch, "is not like \(pattern)")
        }
        if let items = schema["items"], let list = value.list {
            for (index, one) in list.enumerated() {
                faults += self.faults(in: one, items, "\(place)[\(index)]")
            }
        }
        guard let properties = schema["properties"]?.members, let members = value.members else {
            return faults
        }
        for name in schema["required"]?.list ?? [] {
            expect(members[name.text ?? ""] != nil, "has no \(name)")
        }
        for (name, member) in members {
            guard let property = properties[name] else {
                faults.append("\(place).\(name): is not described")
                continue
            }
            faults += self.faults(in: member, property, "\(place).\(name)")
        }
        return faults
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import Testing

@testable import TimerConfig

/// What the pages say of keys is what the declarations say.
@Suite struct GeneratedKeysTests {
    private static let page = "man/timerd.toml.5"
    private static let example = "config/timerd.toml"

    @Test func theManualHasATableOfTheKeysOfEachSection() throws {
        let page = try KeyLists.manual(try Project.text(of: Self.page))
        #expect(try Project.difference(of: Self.page, from: page) == nil)
    }

    @Test func theExampleListsTheKeysThatItDoesNotExplain() throws {
        let example = try KeyLists.configuration(try Project.text(of: Self.example))
        #expect(try Project.difference(of: Self.example, from: example) == nil)
    }

    /// Beside the generated list, a key in a comment has its default if it has one.
    @Test func theExampleHasTheDefaults() throws {
        var (table, compared) = ("", 0)
        for line in try Project.text(of: Self.example).components(separatedBy: "\n") {
            table = KeyLists.table(in: line) ?? table
            guard line.hasPrefix("#"), let (name, value) = KeyLists.key(in: line),
                let key = KeyFacts.tables[table]?.first(where: { $0.name == name }), key.hasValue
            else { continue }
            #expect(value == key.standard, "[\(table)] \(name)")
            compared += 1
        }
        #expect(compared > 20)
    }

    /// Where the manual still says a default in a sentence, it is the one of the table.
    @Test func theSentencesOfTheManualHaveTheDefaults() throws {
        var (keys, compared): ([KeyFacts], Int) = ([], 0)
        var item: KeyFacts?
        // The last word that was explained.
        var word = ""
        let lines = try Project.text(of: Self.page).components(separatedBy: "\n")
        for (line, next) in zip(lines, lines.dropFirst()) {
            if line.hasPrefix(".Sh ") { item = nil }
            if let table = line.firstMatch(of: /keys of ([a-z]+)$/) {
                keys = KeyFacts.tables[String(table.1)] ?? []
            }
            if line.hasPrefix(".It Ic ") {
                let name = line.dropFirst(7).replacing("\\-", with: "-")
                item = keys.first { $0.name == name }
            }
            guard let item, item.hasValue, let standard = item.standard else { continue }
            let value = standard.replacing("\"", with: "")
            if line == "The default is" {
                let said = next.replacing("\\-", with: "-").split(separator: " ").dropFirst().first
                #expect(said.map(String.init) == value, "\(item.name)")
                compared += 1
            } else if let said = line.firstMatch(of: /^The default is (.*)\.$/) {
                #expect(said.1 == value, "\(item.name)")
                compared += 1
            } else if line.hasPrefix(".It Cm ") {
                word = String(line.dropFirst(7)).replacing("\\-", with: "-")
            } else if line.hasSuffix("; the default") {
                #expect(word == value, "\(item.name)")
                compared += 1
            }
        }
        #expect(compared > 5)
    }
}

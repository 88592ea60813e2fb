// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import ProjectFiles
import Testing

@testable import timerctl

/// Each line of the pages that runs timerctl is one that it understands.
@Suite struct ExampleTests {
    /// The words of a command as a shell reads them, up to a pipe or a comment; nil without the end
    /// of a quotation.
    private static func words(_ line: some StringProtocol) -> [String]? {
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in line {
            switch (character, quote) {
            case ("'", nil), ("\"", nil): (quote, word) = (character, word ?? "")
            case (let end, quote?) where end == quote: quote = nil
            case (" ", nil):
                if let word { words.append(word) }
                word = nil
            case ("|", nil), (">", nil),
                ("#", nil) where word == nil:
                return words
            default: word = (word ?? "") + String(character)
            }
        }
        return quote == nil ? words + (word.map { [$0] } ?? []) : nil
    }

    /// The examples of a page: `.Dl timerctl …` and lines that begin with `$ timerctl`.
    private static func examples(of page: String) throws -> [String] {
        try Project.text(of: page).split(separator: "\n").compactMap { line in
            let line = line.replacing("\\-", with: "-").replacing("\\(aq", with: "'")
                .replacing("\\(dq", with: "\"")
            let start = [".Dl timerctl ", "$ timerctl ", "# timerctl "].first(where: line.hasPrefix)
            return start.map { String(line.dropFirst($0.count)) }
        }
    }

    private static func pages() throws -> [String] {
        let man = try FileManager.default.contentsOfDirectory(
            atPath: Project.url(of: "man").path
        ).map { "man/\($0)" }
        let docs = try Project.sources(in: "docs", ending: ["md"]).map {
            String($0.file.path.dropFirst(Project.root.path.count + 1))
        }
        return man + docs + ["README.md"]
    }

    @Test func eachExampleIsUnderstood() throws {
        var count = 0
        for page in try Self.pages() {
            for example in try Self.examples(of: page) {
                let words = try #require(Self.words(example), "\(page): \(example)")
                count += 1
                do {
                    let command = try Timerctl.command(for: words[...])
                    #expect(!(command is Timerctl), "\(page): \(example)")
                } catch {
                    Issue.record("\(page): timerctl \(example): \(Timerctl.message(for: error))")
                }
            }
        }
        #expect(count > 40)
    }

    @Test(
        arguments: [
            ("list", ["list"]),
            ("pause a --note 'disk  swap' # why", ["pause", "a", "--note", "disk  swap"]),
            ("log 'a'\"b c\" | less", ["log", "ab c"]),
            ("next --cron '' > x", ["next", "--cron", ""]),
            ("why 'a", nil),
        ] as [(String, [String]?)])
    func words(line: String, words: [String]?) {
        #expect(Self.words(line) == words)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import Testing

/// Compares docs/ARCHITECTURE.md, the pages in docs/internals and docs/GLOSSARY.md with the files.
@Suite struct MapTests {
    private static let map = "docs/ARCHITECTURE.md"
    private static let folder = "docs/internals"
    private static let threads = "docs/internals/THREADS.md"

    /// The pages in docs/internals.
    private static func details() throws -> [String] {
        try names(in: folder).filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
    }

    private static func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: Project.url(of: folder).path).sorted()
    }

    private static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: Project.url(of: path).path)
    }

    /// The folders in a folder.
    private static func folders(in folder: String) throws -> [String] {
        try names(in: folder).filter { name in
            var isFolder: ObjCBool = false
            let path = Project.url(of: "\(folder)/\(name)").path
            return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
                && isFolder.boolValue
        }
    }

    /// The cells of the rows of all tables on a page.
    private static func rows(of page: String) throws -> [[String]] {
        try Project.text(of: page).split(separator: "\n").filter { $0.hasPrefix("| ") }.map {
            $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    private static func files(namedIn page: String) throws -> [String] {
        try Project.text(of: page).split(separator: "`").map(String.init).filter { name in
            ["Sources/", "Tests/", "docs/", "man/", "systemd/", "config/"].contains {
                name.hasPrefix($0)
            } && !name.contains("\n")
        }
    }

    /// The folders in the wings of a folder, such as those of all targets in Sources.
    private static func rooms(in folder: String) throws -> [(name: String, path: String)] {
        try folders(in: folder).flatMap { wing in
            try folders(in: "\(folder)/\(wing)").map { ($0, "\(folder)/\(wing)/\($0)") }
        }
    }

    // MARK: - The pages

    @Test func theMapIsShort() throws {
        let lines = try Project.text(of: Self.map).split(
            separator: "\n", omittingEmptySubsequences: false)
        // The text ends with a line end, after which there is no line.
        #expect(lines.count - 1 <= 180)
    }

    /// Who follows one run from its timer to its end opens few files.
    @Test func oneRunPassesThroughFewFiles() throws {
        let text = try Project.text(of: Self.map)
        let start = try #require(text.range(of: "\n## One run"))
        let rows = text[start.upperBound...].split(separator: "\n## ")[0].split(separator: "\n")
            .filter { $0.hasPrefix("|") }.joined()
        let files = Set(rows.matches(of: #/`(Sources/[^`]+)`/#).map { String($0.1) })
        #expect(files.count > 10 && files.count <= 20, "\(files.sorted())")
    }

    /// The links are near its beginning, where a reader sees them at once.
    @Test func theMapLeadsToEveryPage() throws {
        let lines = try Project.text(of: Self.map).split(separator: "\n").prefix(20)
        let pages = try Self.details()
        #expect(pages.count > 5)
        for page in pages {
            let link = "](internals/\(page.dropFirst(Self.folder.count + 1))"
            #expect(lines.contains { $0.contains(link) }, "\(page)")
        }
    }

    @Test func everyPageSaysWhatItIsFor_andLeadsBackToTheMap() throws {
        for page in try Self.details() {
            let lines = try Project.text(of: page).split(separator: "\n")
            #expect(lines[0].hasPrefix("# "), "\(page)")
            #expect(lines[1].hasPrefix("This page "), "\(page)")
            #expect(lines.prefix(5).contains { $0.contains("](../ARCHITECTURE.md") }, "\(page)")
        }
    }

    /// A link to a file or a folder of the project, and to a heading in a file.
    @Test func everyLinkLeadsSomewhere() throws {
        var count = 0
        for page in try [Self.map] + Self.details() {
            let text = try Project.text(of: page)
            for match in text.matches(of: #/\]\(([^()\s]+)\)/#) where !match.1.contains("://") {
                let parts = match.1.split(
                    separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                let place = Project.url(of: page).deletingLastPathComponent()
                let file =
                    parts[0].isEmpty
                    ? Project.url(of: page) : place.appendingPathComponent(String(parts[0]))
                let isThere = FileManager.default.fileExists(atPath: file.path)
                #expect(isThere, "\(page): \(match.1)")
                count += 1
                guard parts.count == 2, isThere else { continue }
                let headings = try String(contentsOf: file, encoding: .utf8)
                    .split(separator: "\n").filter { $0.hasPrefix("#") }.map(Self.anchor)
                #expect(headings.contains(String(parts[1])), "\(page): \(match.1)")
            }
        }
        #expect(count > 40)
    }

    /// What a link to a heading ends with, as GitHub makes it.
    private static func anchor(of heading: Substring) -> String {
        heading.drop { $0 == "#" || $0 == " " }.lowercased().filter {
            $0.isLetter || $0.isNumber || "-_ ".contains($0)
        }.replacing(" ", with: "-")
    }

    // MARK: - What the pages name

    @Test func everyFileThatAPageNamesIsThere() throws {
        var count = 0
        for page in try [Self.map, "docs/GLOSSARY.md"] + Self.details() {
            for name in try Self.files(namedIn: page) {
                #expect(Self.exists(name), "\(page): \(name)")
                count += 1
            }
        }
        #expect(count > 300)
    }

    /// A target in C: `CSpawn`.
    private static func isOfC(_ target: String) -> Bool {
        target.first == "C" && target.dropFirst().first?.isUppercase == true
    }

    /// The README of a wing: what it decides, where to begin, and what it may use.
    @Test(arguments: ["Sources", "Tests"]) func everyWingShowsTheWay(folder: String) throws {
        for wing in try Self.folders(in: folder) {
            let page = "\(folder)/\(wing)/README.md"
            let text = try Project.text(of: page)
            #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 21)
            for room in try Self.folders(in: "\(folder)/\(wing)") where folder == "Sources" {
                #expect(text.contains("`\(room)`"), "\(page): \(room)")
            }
            for match in text.matches(of: #/`([\w+-]+(?:/[\w+-]+)+(?:\.\w+)?)`/#) {
                #expect(Self.exists("\(folder)/\(wing)/\(match.1)"), "\(page): \(match.1)")
            }
        }
    }

    @Test func everyTargetIsOnTheMap() throws {
        let rows = try Self.rows(of: Self.map).filter { $0.count == 3 }
        let targets = Set(rows.compactMap { $0[0].wholeMatch(of: #/`([\w-]+)`/#)?.1 })
        // The map mentions the small C targets and the examples below the table.
        for target in try Self.rooms(in: "Sources").map(\.name)
        where !Self.isOfC(target) && target != "Examples" {
            #expect(targets.contains(Substring(target)), "\(target)")
        }
        let map = try Project.text(of: Self.map) + Project.text(of: "\(Self.folder)/LIBRARIES.md")
        for (target, path) in try Self.rooms(in: "Sources") where Self.isOfC(target) {
            #expect(map.contains("`\(path)`"), "\(target)")
        }
    }

    /// The row of a target names its folders: `Calendar/`.
    @Test func everyFolderOfATargetIsOnTheMap() throws {
        var count = 0
        for row in try Self.rows(of: Self.map) where row.count == 3 {
            guard let target = row[0].wholeMatch(of: #/`([\w-]+)`/#)?.1,
                let path = try? Project.folder(of: String(target))
            else { continue }
            let named = Set(row[1].matches(of: #/`([A-Z]\w*)/`/#).map { String($0.1) })
            let there = try Self.folders(in: path).filter { !$0.hasSuffix(".docc") }
            #expect(named == Set(there), "\(target)")
            count += named.count
        }
        #expect(count > 20)
    }

    @Test func everyFolderOfTestsIsOnItsPage() throws {
        let page = "\(Self.folder)/TESTS.md"
        let text = try Project.text(of: page)
        for (folder, path) in try Self.rooms(in: "Tests") {
            // The page does not list the folders that have the name of a target.
            let target = folder.hasSuffix("Tests") ? String(folder.dropLast(5)) : ""
            let isOfTarget = (try? Project.folder(of: target)) != nil
            #expect(isOfTarget || text.contains("`\(path)`"), "\(path)")
        }
    }

    // MARK: - Threads and queues

    /// The names of queues and threads in the sources, each with the files that make them.
    private static func queues() throws -> [String: [String]] {
        let made =
            #/(?:Queue|Executor|LookUpCache)\(\s*label: "([^"]+)"|(?:WorkerThread\.start|Computation)\("([^"]+)"|let label = "([^"]+)"/#
        var found: [String: [String]] = [:]
        for (file, text) in try sources() {
            for match in text.matches(of: made) {
                let name = match.output.1 ?? match.output.2 ?? match.output.3 ?? ""
                found[String(name), default: []].append(file)
            }
        }
        return found
    }

    /// The sources of the programs and the library, without the comments.
    private static func sources() throws -> [(file: String, text: String)] {
        let root = Project.root.path
        return try Project.sources(in: "Sources").compactMap { file, text in
            let path = String(file.path.dropFirst(root.count).drop { $0 == "/" })
            guard !path.hasPrefix("Sources/Library/Examples/") else { return nil }
            let code = text.split(separator: "\n").filter { line in
                !line.drop { $0 == " " }.hasPrefix("//")
            }
            return (path, code.joined(separator: "\n"))
        }
    }

    /// The rows of the tables of threads and queues.
    private static func ofThreads() throws -> [[String]] {
        try rows(of: threads).filter { $0.first != "name" }
    }

    @Test func everyQueueAndThreadIsInTheTables_withItsFile() throws {
        let cells = try Self.ofThreads().map { $0[0] }
        let queues = try Self.queues()
        #expect(queues.count > 30)
        for (name, files) in queues {
            for file in files {
                #expect(
                    cells.contains { $0.contains("`\(name)`") && $0.contains("`\(file)`") },
                    "\(name) in \(file)")
            }
        }
    }

    @Test func everyQueueAndThreadInTheTablesExists() throws {
        let names = Set(try Self.queues().keys)
        var count = 0
        for row in try Self.ofThreads() {
            #expect(row.count == 3, "\(row)")
            for match in row[0].matches(of: #/`((?:timerd|fleet|timerctl)\.[a-z-]+)`/#) {
                #expect(names.contains(String(match.1)), "\(match.1)")
                count += 1
            }
        }
        #expect(count > 30)
    }

    /// Threads that have no name in the code.
    @Test func everyFileThatStartsOtherThreadsIsInTheTables() throws {
        let text = try Project.text(of: Self.threads)
        let made = #/EventLoopGroup\(numberOf|ThreadPool\(numberOf|pthread_create\(/#
        let files = try Self.sources().filter { $0.text.contains(made) }.map(\.file)
        #expect(files.count > 4)
        for file in files { #expect(text.contains("`\(file)`"), "\(file)") }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import ManualPages
import ProjectFiles
import Testing
import TimerControl
import TimerCore

@testable import TimerConfig
@testable import timerctl
@testable import timerd
@testable import timerd_runner

/// Compares the pages in man/ with the programs. In them `.It Ic` starts the description of a
/// command or a key, and `.It Fl` that of an option.
@Suite struct ManualTests {

    /// The items that a page explains: the unescaped words after a macro in its `.It` lines.
    private func items(_ macro: String, in page: String) throws -> [String] {
        try text(of: "man/\(page)").split(separator: "\n").flatMap { line -> [String] in
            let words = line.split(separator: " ")
            guard words.first == ".It" else { return [] }
            return zip(words, words.dropFirst()).filter { $0.0 == macro }
                .map { $0.1.replacingOccurrences(of: "\\-", with: "-") }
        }
    }

    private func text(of file: String) throws -> String {
        try String(contentsOf: Project.url(of: file), encoding: .utf8)
    }

    @Test func timerdTomlExplainsEachKeyOnce() throws {
        let keys = ConfigReader.knownKeys
        let items = try items("Ic", in: "timerd.toml.5")
        #expect(
            items.sorted()
                == (keys.daemon + ConfigReader.settingsTables.flatMap(\.keys) + keys.job
                + ConditionDraft.keys.map(\.name)).sorted())
    }

    /// Each kind of warning of `timerd check` is in its page.
    @Test func thePageOfCheckHasEachWarning() throws {
        let page = try text(of: "man/timerd.8").replacing("\\-", with: "-")
        let codes = page.split(separator: "\n").filter { $0.hasPrefix(".It Sy ") }
            .flatMap { $0.dropFirst(7).split { $0 == " " || $0 == "," } }.map(String.init)
        for code in ConfigWarning.Code.all {
            #expect(codes.contains(code.rawValue), "\(code.rawValue)")
        }
    }

    /// Qq takes the rest of its line: `.Qq one | Qq each` has a quote too few.
    @Test func eachQuoteOfAPageIsClosed() throws {
        for page in try FileManager.default.contentsOfDirectory(
            atPath: Project.url(of: "man").path)
        {
            for line in try text(of: "man/\(page)").split(separator: "\n") {
                let words = line.split(separator: " ").map(String.init)
                let quotes = words.indices.filter { ["Qq", "Dq", "Sq", ".Qq"].contains(words[$0]) }
                #expect(quotes.count < 2, "\(page): \(line)")
            }
        }
    }

    /// A page that is installed under another name is not found.
    @Test func thePagesThatTheManualNamesAreInstalledSo() throws {
        let docs = Set(
            try text(of: "debian/timerd.docs").split(separator: "\n").compactMap {
                $0.split(separator: "/").last.map(String.init)
            })
        for page in try FileManager.default.contentsOfDirectory(
            atPath: Project.url(of: "man").path)
        {
            let words = try text(of: "man/\(page)").replacing("\\-", with: "-")
                .split { $0 == " " || $0 == "\n" }
            for word in words
            where word.hasPrefix("/usr/share/doc/timerd/") && word.hasSuffix(".md") {
                #expect(docs.contains(String(word.split(separator: "/").last ?? "")), "\(word)")
            }
        }
        #expect(try text(of: "debian/rules").contains("dh_compress -X.md"))
    }

    @Test(arguments: [
        ("timerd.8", Timerd._dumpHelp()), ("timerd-runner.8", TimerdRunner._dumpHelp()),
    ])
    func eachPageExplainsEveryCommandAndOption_andNoOther(page: String, help: String) throws {
        let tool = try Tool(help)
        #expect(try items("Ic", in: page).sorted() == tool.verbs.map(\.commandName).sorted())
        #expect(try Set(items("Fl", in: page)) == tool.options.union(["h", "-help", "-version"]))
    }

    /// A path in timerd-api(7) is a line `.It Li GET /v1/jobs/ Ns Ar JOB Ns Li /why`. Its list of all
    /// paths is written by `make generated`; what is said about some of them is about no other.
    @Test func theInterfacesPageExplainsNoOtherPath_andEachWord() throws {
        let page = try text(of: "man/timerd-api.7").replacingOccurrences(of: "\\-", with: "-")
        let described = page.split(separator: "\n").filter {
            $0.hasPrefix(".It Li GET /") || $0.hasPrefix(".It Li POST /")
        }
        let known = EndpointTable.all.map(\.facts).map { facts in
            let path = facts.place.map {
                facts.path.replacing("{\($0.name)}", with: " Ns Ar \($0.name.uppercased()) Ns Li ")
            }
            return ".It Li \(facts.method.rawValue) \(path ?? facts.path)"
        }
        for line in described {
            #expect(known.contains { $0 == line || $0 == "\(line) Ns Li " }, "\(line)")
        }
        let words =
            ErrorReply.Code.allCases.map(\.rawValue)
            + WhyReply.Reason.Code.allCases.map(\.rawValue)
        let all = Set(page.split { $0 == " " || $0 == "\n" }.map(String.init))
        for word in words { #expect(all.contains(word), "\(word)") }
    }

    @Test func eachProgramIsInstalledWithAPage() throws {
        let lines = try text(of: "Makefile").split(separator: "\n").filter {
            $0.hasPrefix("BINARIES := ") || $0.hasPrefix("FLEET := ")
        }
        let installed = lines.flatMap { $0.split(separator: " ").dropFirst(2).map(String.init) }
        let programs = try Project.sources(in: "Sources").filter { $0.text.contains("\n@main\n") }
            .map { file, _ in
                // Sources, the wing, the target, and the file in it or in a folder of it.
                let parts = file.path.dropFirst(Project.root.path.count).split(separator: "/")
                return String(parts[2])
            }
        #expect(installed.sorted() == programs.sorted())
        let pages = try FileManager.default.contentsOfDirectory(
            atPath: Project.url(of: "man").path)
        for program in programs {
            #expect(pages.contains { $0.hasPrefix("\(program).") }, "\(program)")
        }
    }

    @Test func everythingHasTheVersionOfThePackage() throws {
        let version = Timerd.versionNumber
        #expect(Timerctl.configuration.version == version)
        #expect(TimerdRunner.configuration.version == version)
        #expect(
            try text(of: "Sources/Fleet/timerd-fleet/CommandLineOptions.swift").contains(
                "static let version = \"\(version)\""))
        #expect(try text(of: "debian/changelog").hasPrefix("timerd (\(version)-1) "))
        for page in [
            "timerd.8", "timerd-runner.8", "timerd-session.8", "timerctl.1", "timerd.toml.5",
            "timerd-api.7", "timerd-web.8", "timerd-fleet.8",
        ] {
            #expect(try text(of: "man/\(page)").contains("\n.Os timerd \(version)\n"), "\(page)")
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Options

@Suite struct UsageTests {
    private static let program = Usage(
        "sched", "Schedule things.", version: "1.2",
        commands: [
            Usage(
                "go", "Go.",
                options: [
                    .value("config", "FILE", "The file.", standard: "/etc/x", completion: .file),
                    .value("log", "TARGET", "Where.", completion: .words(["auto", "journal"])),
                    .value("step", "T", "Steps: it's [one].", isRepeated: true),
                    .flag("json", "JSON."),
                ]),
            Usage(
                "check", "Check it.",
                options: [.value("file", "FILE", "The file.", completion: .file)],
                operand: Usage.Operand(
                    "FILE", "The file.", standard: "/etc/x", option: "file", completion: .file)),
            Usage("need", "Need it.", options: [.value("it", "X", "It.", isRequired: true)]),
        ])

    private static func given(_ line: String) throws -> Given {
        let words = line.split(separator: " ").map(String.init)
        guard case .run(let given) = try program.read(words) else {
            throw UsageError("says something")
        }
        return given
    }

    @Test func readsOptionsInAnyOrderAndForm() throws {
        for line in [
            "go --config a --json --step 1=2 --step=3=4",
            "go --step=1=2 --json --config=a --step 3=4",
        ] {
            let given = try Self.given(line)
            #expect(given.command == "go")
            #expect(given["config"] == "a")
            #expect(given.has("json") && !given.has("log"))
            #expect(given.all("step") == ["1=2", "3=4"])
            #expect(given["log"] == nil && given.all("log").isEmpty)
        }
        #expect(try Self.given("go --log journal")["log"] == "journal")
        #expect(try Self.given("go --config=")["config"]?.isEmpty == true)
        #expect(try Self.given("go --config=--json")["config"] == "--json")
    }

    @Test func readsTheOneWordThatIsNoOption() throws {
        #expect(try Self.given("check").operand == "/etc/x")
        #expect(try Self.given("check a").operand == "a")
        #expect(try Self.given("check -- --a").operand == "--a")
        #expect(try Self.given("check -").operand == "-")
        #expect(try Self.given("check --file a").operand == "a")
        #expect(try Self.given("check --file -").operand == "-")
        #expect(try Self.given("go").operand == nil)
    }

    @Test(arguments: [
        ("stop", #"unknown command "stop"; one of go, check, need"#),
        ("--stop", #"unknown option "--stop"; one of go, check, need"#),
        ("help stop", #"unknown command "stop"; one of go, check, need"#),
        ("go --stop", #"unknown option "--stop"; one of --config, --log, --step, --json"#),
        ("go -c", #"unknown option "-c"; one of --config, --log, --step, --json"#),
        ("go x", #"unexpected argument "x""#), ("check a b", #"unexpected argument "b""#),
        ("check a --file b", "FILE and --file exclude each other; keep one"),
        ("check --file b b", "FILE and --file exclude each other; keep one"),
        ("go --config", "--config needs a value: --config FILE"),
        ("go --config --json", "--config needs a value: --config FILE"),
        ("go --config a --config b", "--config is given twice"),
        ("go --json=1", "--json takes no value"),
        ("go --log disk", #"--log "disk": one of auto, journal"#),
        ("need", "--it is missing: It."),
        (
            "--generate-completion-script csh",
            "--generate-completion-script: one of bash, zsh, fish"
        ),
    ])
    func refuses(line: String, why: String) {
        #expect(throws: UsageError(why)) { try Self.given(line) }
    }

    @Test func helpNamesEverything() throws {
        for line in ["", "--help", "-h", "help"] {
            guard case .say(let text) = try Self.program.read(line.isEmpty ? [] : [line]) else {
                Issue.record("\(line) says nothing")
                continue
            }
            for word in [
                "Schedule things.", "Usage: sched COMMAND", "go", "Check it.", "--version",
            ] {
                #expect(text.contains(word), "\(word)")
            }
        }
        for words in [["help", "go"], ["go", "--help"], ["go", "--json", "-h"]] {
            #expect(
                try Self.program.read(words)
                    == .say(
                        """
                        Go.

                        Usage: sched go [--config FILE] [--log TARGET] [--step T]... [--json]

                          --config FILE           The file. Default: /etc/x.
                          --log TARGET            Where.
                          --step T                Steps: it's [one].
                          --json                  JSON.
                          -h, --help              Show this.
                        """))
        }
        #expect(try Self.program.read(["--version"]) == .say("1.2"))
        #expect(try Self.program.read(["go", "--version"]) == .say("1.2"))
    }

    @Test func longLinesAreBrokenAtEightyColumns() throws {
        let word = String(repeating: "word ", count: 60)
        let usage = Usage(
            "long", word, discussion: word,
            options: [.value("a-name-that-is-rather-long", "VALUE", word), .flag("b", word)])
        guard case .say(let text) = try usage.read(["--help"]) else { return }
        let lines = text.split(separator: "\n").dropFirst()
        #expect(lines.allSatisfy { $0.count <= 80 } && lines.count > 10)
    }

    /// The scripts as a shell reads them, where there is that shell.
    @Test(arguments: ["bash", "zsh", "fish"])
    func completionScriptsNameEverything(shell: String) throws {
        guard
            case .say(let script) = try Self.program.read(["--generate-completion-script", shell])
        else {
            Issue.record("no script")
            return
        }
        for word in ["sched", "go", "check", "need", "config", "json", "auto", "journal"] {
            #expect(script.contains(word), "\(word)")
        }
        guard
            let path = ["/bin", "/usr/bin"].map({ "\($0)/\(shell)" }).first(where: {
                FileManager.default.isExecutableFile(atPath: $0)
            })
        else { return }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = ["-n", "-c", script]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    @Test(arguments: [
        ("sched ''", "go check need help --help --version"), ("sched g", "go"),
        ("sched go --", "--config --log --step --json --help"),
        ("sched go --log ''", "auto journal"),
        ("sched go --log j", "journal"), ("sched check /etc/host", "/etc/hostname /etc/hosts"),
    ])
    func bashCompletes(line: String, words: String) throws {
        guard
            case .say(let script) = try Self.program.read(["--generate-completion-script", "bash"])
        else { return }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        let output = Pipe()
        process.standardOutput = output
        let ask = "COMP_WORDS=(\(line)); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _sched"
        process.arguments = ["-c", "\(script)\n\(ask)\nprintf '%s\\n' \"${COMPREPLY[@]}\""]
        try process.run()
        let data = try #require(try output.fileHandleForReading.readToEnd())
        process.waitUntilExit()
        let found = String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
        let wanted = words.split(separator: " ").map(String.init)
        #expect(Set(wanted).isSubset(of: found), "\(found)")
        if !words.hasPrefix("/") { #expect(found.count == wanted.count, "\(found)") }
    }
}

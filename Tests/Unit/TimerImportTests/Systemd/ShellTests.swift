// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import Testing

@testable import TimerImport

/// What `/bin/sh` makes of the lines that are written for commands with variables.
@Suite struct ShellTests {
    /// The output of a line, in an environment of these variables.
    private func output(of line: String, _ environment: [String: String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", line]
        process.environment = environment
        process.currentDirectoryURL = URL(fileURLWithPath: "/")
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    private static let variables = [
        "A": "", "B": "one", "C": "two  words * ", "D": "$A `x` \\ ' \" é", "E": "/et*",
    ]

    @Test func eachArgumentIsWhatSystemdPasses() throws {
        var random = SeededRandom()
        let texts = [
            "a", " ", "'", "\"", "\\", "$", "`x`", "*", "~", "\n", "!", "#", "é", "$(x)", ";",
        ]
        let names = ["A", "B", "C", "D", "E", "UNSET"]
        for _ in 0..<100 {
            var command = UnitCommand(path: "/usr/bin/printf")
            command.arguments = [[.text("%s|")]]
            var expected: [String] = []
            for _ in 0..<(1 + random.int(below: 4)) {
                if random.int(below: 3) == 0 {
                    // Quotes are treated differently, of which there is a note.
                    let name = ["A", "B", "C", "E", "UNSET"][random.int(below: 5)]
                    command.arguments.append([.words(name)])
                    expected += (Self.variables[name] ?? "").split(separator: " ").map(String.init)
                    continue
                }
                var (pieces, text): ([UnitCommand.Piece], String) = ([], "")
                for _ in 0..<random.int(below: 5) {
                    let name = names[random.int(below: names.count)]
                    let part = texts[random.int(below: texts.count)]
                    let isText = random.int(below: 2) == 0
                    pieces.append(isText ? .text(part) : .variable(name))
                    text += isText ? part : Self.variables[name] ?? ""
                }
                command.arguments.append(pieces)
                expected.append(text)
            }
            let line = "set -f; exec \(command.shell)"
            let all = expected.isEmpty ? "|" : expected.map { "\($0)|" }.joined()
            #expect(try output(of: line, Self.variables) == all, "\(line)")
        }
    }

    /// Several commands of `ExecCondition=` are asked until one says no, whose exit code is the answer.
    @Test(arguments: [
        (["/bin/true", "/bin/true"], "0"), (["/bin/true", "/bin/false"], "1"),
        (["sh -c 'exit 254'", "/bin/false"], "254"), (["/bin/true", "sh -c 'exit 255'"], "255"),
        (["-/bin/false"], "0"),
    ])
    func theFirstConditionThatSaysNoIsTheAnswer(conditions: [String], code: String) throws {
        let lines = conditions.map { "ExecCondition=\($0)\n" }.joined()
        let imported = try Units.service("\(lines)ExecStart=/bin/echo ran")
        guard case .table(let entries)? = imported.jobs.first?.value(of: "condition"),
            case .array(let words)? = entries.first(where: { $0.key == "command" })?.value,
            case .string(let line)? = words.last
        else {
            Issue.record("there is no line for the shell")
            return
        }
        let output = try output(of: "(\(line)); echo $?", ["PATH": "/usr/bin:/bin"])
        #expect(output.filter { $0 != "\n" } == code)
    }
}

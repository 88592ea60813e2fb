// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TimerImport

/// The programs that ask whether a source is on, executed with programs that answer as systemd and crontab do.
@Suite struct SwitchGuardTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
        "timerd-guard-\(UUID().uuidString)")

    /// Executes a guard that finds these programs.
    private func status(
        _ source: SwitchedSource, _ programs: [String: String], and own: [String] = []
    ) throws -> Int32 {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in programs {
            // Not by this process: what another test forks meanwhile would keep the file open, which then cannot be
            // executed.
            let path = folder.appendingPathComponent(name).path
            let write = "printf '#!/bin/sh\\n%s\\n' \"$2\" >\"$1\" && /bin/chmod 755 \"$1\""
            #expect(try execute(["/bin/sh", "-c", write, "sh", path, text]) == 0)
        }
        let words = (SwitchGuard.command(of: source) + own).map {
            $0.replacing("PATH=/usr/bin:/bin", with: "PATH=\(folder.path):/usr/bin:/bin")
        }
        return try execute(words)
    }

    private func execute(_ words: [String]) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: words[0])
        process.arguments = Array(words.dropFirst())
        process.environment = ["PATH": "/nowhere", "LC_ALL": "de_DE.UTF-8"]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    @Test(
        arguments: [
            ("active", "enabled", "running", 1), ("active", "disabled", "running", 1),
            ("active", "static", "running", 1), ("activating", "disabled", "running", 1),
            ("inactive", "disabled", "running", 0), ("inactive", "masked", "running", 0),
            ("failed", "masked-runtime", "running", 0), ("inactive", "indirect", "running", 0),
            // In a boot, systemd has not started it yet.
            ("inactive", "enabled", "starting", 1), ("inactive", "static", "initializing", 1),
            ("inactive", "static", "stopping", 1), ("inactive", "", "", 1),
            ("inactive", "disabled", "starting", 0), ("inactive", "masked", "starting", 0),
            // It was stopped, and nothing else starts it until the next boot.
            ("inactive", "enabled", "running", 0), ("inactive", "static", "degraded", 0),
        ])
    func aTimerIsOff_ifSystemdSaysSo(
        active: String, file: String, system: String, expected: Int32
    ) throws {
        let unit = try #require(UnitName(#"a\x2db.timer"#))
        for order in [["ActiveState=\(active)", "UnitFileState=\(file)"], []] {
            let lines = order.isEmpty ? ["UnitFileState=\(file)", "ActiveState=\(active)"] : order
            let program = """
                case $1 in show) ;; *) echo \(system); exit 1;; esac
                for last; do :; done; test "$last" = 'a\\x2db.timer' || exit 1
                printf '%s\\n' \(lines.joined(separator: " "))
                """
            #expect(try status(.timer(unit, .enabled), ["systemctl": program]) == expected)
        }
    }

    /// Then a run is skipped, and not made twice.
    @Test func anAnswerThatIsNoneIsNoYes() throws {
        let unit = try #require(UnitName("a.timer"))
        for program in ["exit 1", "echo nonsense", ":"] {
            #expect(try status(.timer(unit, .static), ["systemctl": program]) == 3, "\(program)")
        }
        #expect(try status(.userTable("x"), ["crontab": "echo no crontab for x >&2; exit 1"]) == 3)
        #expect(try status(.file("/no/such/file"), [:]) == 3)
    }

    @Test(
        arguments: [
            ("1 * * * * a", 1), ("", 1), ("#timerd# 1 * * * * a", 1),
            (MarkedTable.marker, 0), ("1 * * * * a\n\(MarkedTable.marker)\n#timerd# x", 0),
            (" " + MarkedTable.marker, 1), (MarkedTable.marker + ".", 1),
        ] as [(String, Int32)])
    func aTableIsOff_ifItSaysSo(text: String, expected: Int32) throws {
        let program = "test \"$*\" = -l || exit 9\ncat <<'END'\n\(text)\nEND"
        #expect(try status(.userTable("anna"), ["crontab": program]) == expected)
        let file = "/tmp/timerd-guard-\(UUID().uuidString) '$(x)"
        try "\(text)\n".write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        #expect(try status(.file(file), [:]) == expected)
    }

    /// The condition that the job has of its own comes after it.
    @Test func anotherCommandIsExecutedOnlyIfTheSourceIsOff() throws {
        let off = "cat <<'END'\n\(MarkedTable.marker)\nEND"
        for (program, own, expected) in [
            (off, ["/bin/sh", "-c", "exit $1", "sh", "7"], 7), (off, ["/bin/true"], 0),
            ("echo x", ["/bin/true"], 1),
        ] as [(String, [String], Int32)] {
            #expect(try status(.userTable("a"), ["crontab": program], and: own) == expected)
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import ProjectFiles
import Testing

/// The lines of docs/FROM-CRON.md and docs/FROM-SYSTEMD-TIMERS.md that switch from another scheduler to timerd and
/// back, as they are printed there, with each of their steps failing in turn. Afterwards exactly one of the two
/// schedulers runs the job.
@Suite(.ownThreads) struct MigrationGuideTests {
    /// What fails.
    enum Failing: String, CaseIterable {
        case nothing, install, move
        /// Another file of jobs.d has an error.
        case otherFile
        /// `timerctl reload` fails without a reload, as without a daemon.
        case reload
        /// The reload is done, and its answer is lost.
        case answer
        case crontabList, sed, crontabWrite, systemctl
    }

    /// The tables and units of the other scheduler, and a daemon.
    private struct Scene {
        static let table = "SHELL=/bin/sh\nMAILTO=\"\"\n# Each minute.\n* * * * * tick\n"
        static let off = table.replacing("* * * * * tick", with: "#timerd# * * * * * tick")
        static let job = "[job.tick]\nshell = \"true\"\nevery = \"1h\"\n"

        let daemon: LiveDaemon
        var folder: String { daemon.folder }

        init() throws {
            daemon = try LiveDaemon("[job.other]\nshell = \"true\"\nevery = \"1h\"\n")
            for name in ["jobs.d", "bin"] { mkdir("\(folder)/\(name)", 0o755) }
            try daemon.start()
            try write("table", Self.table)
            try write("timer", "enabled")
            try write("new.toml", Self.job)
            for (name, script) in stubs {
                try write("bin/\(name)", "#!/bin/sh\n\(script)\n")
                chmod("\(folder)/bin/\(name)", 0o755)
            }
        }

        private var stubs: [String: String] {
            func real(_ name: String) -> String {
                ["/usr/bin", "/bin"].map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 } ?? name
            }
            let timerctl =
                "\(LiveDaemon.programs)/timerctl \"$@\" --socket \(daemon.socket)"
            return [
                "sleep": "exit 0",
                "install":
                    "[ \"$FAILING\" != install ] || { for f; do :; done; echo '[job' >\"$f\"; exit 1; }\nexec \(real("install")) \"$@\"",
                "mv": "case $FAILING$2 in move*.off) exit 1;; esac\nexec \(real("mv")) \"$@\"",
                "sed": "[ \"$FAILING\" != sed ] || exit 1\nexec \(real("sed")) \"$@\"",
                "crontab": """
                case $3 in
                -l) [ "$FAILING" != crontabList ] && cat \(folder)/table ;;
                -) [ "$FAILING" != crontabWrite ] && cat >\(folder)/table ;;
                *) exit 1 ;;
                esac
                """,
                "systemctl": """
                [ "$FAILING$1" != systemctldisable ] || { echo half >\(folder)/timer; exit 1; }
                echo "$1d" >\(folder)/timer
                """,
                "timerctl": """
                case $FAILING$1$2 in
                reloadreload--strict) exit 1 ;;
                answerreload--strict) \(timerctl); exit 1 ;;
                esac
                exec \(timerctl)
                """,
            ]
        }

        func write(_ name: String, _ text: String) throws {
            try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
            chmod("\(folder)/\(name)", 0o644)
        }

        func text(_ name: String) throws -> String {
            try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
        }

        /// Runs a line of a guide.
        ///
        /// - Returns: its exit status.
        func run(_ line: String, _ failing: Failing) throws -> Int32 {
            if failing == .otherFile { try write("jobs.d/broken.toml", "[!\n") }
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            let places = [
                ("/etc/timerd/jobs.d", "\(folder)/jobs.d"),
                ("/root/anna.toml", "\(folder)/new.toml"),
                ("/tmp/backup.toml", "\(folder)/new.toml"),
            ]
            process.arguments = [
                "-c", places.reduce(line) { $0.replacing($1.0, with: $1.1) },
            ]
            process.environment = [
                "PATH": "\(folder)/bin:/usr/bin:/bin", "FAILING": failing.rawValue,
            ]
            (process.standardOutput, process.standardError) = (
                FileHandle.nullDevice, FileHandle.nullDevice
            )
            process.standardInput = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            unlink("\(folder)/jobs.d/broken.toml")
            // What a later reload finds counts as well.
            #expect(try daemon.timerctl("reload").status == 0)
            return process.terminationStatus
        }

        /// Whether timerd has the job.
        func isLoaded() throws -> Bool { try daemon.timerctl("show", "tick").status == 0 }
    }

    /// The only line of a guide that contains a text, in a block of code.
    private func line(_ guide: String, _ part: String) throws -> String {
        let text = try String(
            contentsOf: Project.url(of: "docs/\(guide)"), encoding: .utf8)
        let lines = text.split(separator: "\n").map { line in
            let trimmed = line.drop { $0 == " " }
            return String(trimmed.hasPrefix("# ") ? trimmed.dropFirst(2) : trimmed)
        }.filter { $0.contains(part) && ($0.hasPrefix("sleep ") || $0.hasPrefix("f=")) }
        try #require(lines.count == 1, "\(guide): \(lines)")
        return lines[0]
    }

    private static let ofCron: [Failing] = Failing.allCases.filter {
        $0 != .systemctl && $0 != .move
    }

    @Test(arguments: ofCron)
    func fromCron(failing: Failing) throws {
        let scene = try Scene()
        let status = try scene.run(try line("FROM-CRON.md", "install -m"), failing)
        #expect((status == 0) == (failing == .nothing), "\(status)")
        #expect(try scene.isLoaded() == (failing == .nothing))
        #expect(try scene.text("table") == (failing == .nothing ? Scene.off : Scene.table))
        _ = scene.daemon.stop()
    }

    @Test(arguments: Failing.allCases.filter { $0 != .systemctl && $0 != .install })
    func backToCron(failing: Failing) throws {
        let scene = try Scene()
        try scene.write("jobs.d/anna.toml", Scene.job)
        try scene.write("table", Scene.off)
        #expect(try scene.daemon.timerctl("reload").status == 0)
        let status = try scene.run(try line("FROM-CRON.md", "mv $f $f.off"), failing)
        #expect((status == 0) == (failing == .nothing), "\(status)")
        #expect(try scene.isLoaded() == (failing != .nothing))
        #expect(try scene.text("table") == (failing == .nothing ? Scene.table : Scene.off))
        _ = scene.daemon.stop()
    }

    @Test(arguments: [Failing.nothing, .install, .otherFile, .reload, .answer, .systemctl])
    func fromSystemd(failing: Failing) throws {
        let scene = try Scene()
        let status = try scene.run(try line("FROM-SYSTEMD-TIMERS.md", "install -m"), failing)
        #expect((status == 0) == (failing == .nothing), "\(status)")
        #expect(try scene.isLoaded() == (failing == .nothing))
        #expect(try scene.text("timer") == (failing == .nothing ? "disabled\n" : "enabled\n"))
        _ = scene.daemon.stop()
    }

    @Test(arguments: [Failing.nothing, .move, .otherFile, .reload, .answer])
    func backToSystemd(failing: Failing) throws {
        let scene = try Scene()
        try scene.write("jobs.d/backup.toml", Scene.job)
        #expect(try scene.daemon.timerctl("reload").status == 0)
        let status = try scene.run(try line("FROM-SYSTEMD-TIMERS.md", "mv $f $f.off"), failing)
        #expect((status == 0) == (failing == .nothing), "\(status)")
        #expect(try scene.isLoaded() == (failing != .nothing))
        _ = scene.daemon.stop()
    }

    /// A file of this name may have other jobs.
    @Test(arguments: ["FROM-CRON.md", "FROM-SYSTEMD-TIMERS.md"])
    func aFileThatIsThereIsNotOverwritten(guide: String) throws {
        let scene = try Scene()
        let mine = "[job.mine]\nshell = \"true\"\nevery = \"1h\"\n"
        for name in ["anna", "backup"] { try scene.write("jobs.d/\(name).toml", mine) }
        unlink("\(scene.folder)/jobs.d/\(guide == "FROM-CRON.md" ? "backup" : "anna").toml")
        #expect(try scene.run(try line(guide, "install -m"), .nothing) != 0)
        let name = guide == "FROM-CRON.md" ? "anna" : "backup"
        #expect(try scene.text("jobs.d/\(name).toml") == mine)
        #expect(try scene.text("table") == Scene.table && scene.text("timer") == "enabled")
        #expect(try scene.daemon.timerctl("show", "mine").status == 0)
        _ = scene.daemon.stop()
    }
}

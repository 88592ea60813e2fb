// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TimerImport

/// Debian's own cron runs the lines, in a namespace with tables of its own, and their commands must get the
/// same arguments and the same input as the jobs do.
@Suite struct RealCronTests {
    private static let cron = "/usr/sbin/cron"

    /// Whether this machine has Debian's cron, and lets this process make a namespace for it.
    private static let isPossible: Bool = {
        guard geteuid() == 0, FileManager.default.isExecutableFile(atPath: cron),
            FileManager.default.isExecutableFile(atPath: "/usr/bin/pgrep"),
            FileManager.default.fileExists(atPath: "/etc/debian_version")
        else { return false }
        return
            (try? run("/usr/bin/unshare", ["-m", "mount", "-t", "tmpfs", "none", "/etc/cron.d"]))
            == 0
    }()

    @discardableResult
    private static func run(_ program: String, _ arguments: [String]) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// The commands of the lines. `$OUT` is the file into which each writes what it got.
    private static let commands = [
        "cat >$OUT", "cat >$OUT%one", "cat >$OUT%one%two%%three%", "cat >$OUT%", "cat >$OUT%%",
        "cat >$OUT%50\\% of\\\\%it\\n \\", "printf '\\%s|' a\\%b >$OUT",
        "printf '[\\%s]' 'a\\\\b' >$OUT",
        "printf '[\\%s]' \"\\$HOME\" >$OUT", "cat >$OUT%\\", "cat >$OUT%\\%\\\\\\%x",
        "cat - >$OUT%  blanks  stay  ", "(cat; echo end) >$OUT%a%b",
        "printf '\\%s' x\\\\\\%y >$OUT",
        "cat >$OUT% 'quotes' \"too\" `and` $(that)", "sh -c 'cat; echo $0' zero >$OUT%in\\tput",
        "printf '\\%s' tab\there >$OUT",
    ]

    private static func numbered(_ folder: String, _ index: Int) -> String {
        "\(folder)/out-\(index)"
    }

    @Test(.enabled(if: isPossible)) func eachCommandGetsWhatCronGivesIt() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/timerd-real-cron-\(UUID())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let lines = Self.commands.enumerated().map { index, command in
            "@reboot root "
                + command.replacing("$OUT", with: Self.numbered("\(folder)/cron", index))
        }
        try "\(lines.joined(separator: "\n"))\n".write(
            toFile: "\(folder)/table", atomically: true, encoding: .utf8)
        try FileManager.default.createDirectory(
            atPath: "\(folder)/cron", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(
            atPath: "\(folder)/timerd", withIntermediateDirectories: true)
        try runCron(folder, until: Self.commands.count)
        try compare(lines, folder)
    }

    /// Runs cron with this table alone, in the foreground, until all outputs are there.
    private func runCron(_ folder: String, until count: Int) throws {
        // A jobs' output is complete once cron has no children any more; it runs @reboot jobs at its start.
        let script = """
            set -e
            mount -t tmpfs none /etc/cron.d
            mount -t tmpfs none /run
            mkdir -p /run/lock
            [ ! -d /var/spool/cron/crontabs ] || mount -t tmpfs none /var/spool/cron/crontabs
            touch /etc/crontab
            cp "$0/table" /run/table
            chmod 644 /run/table
            mount --bind /run/table /etc/crontab
            /usr/sbin/cron -f &
            cron=$!
            i=0
            while [ $(ls "$0/cron" | wc -l) -lt "$1" ] || pgrep -P $cron >/dev/null; do
                i=$((i + 1))
                [ $i -lt 600 ] || break
                sleep 0.1
            done
            kill $cron
            wait $cron || true
            """
        try Self.run("/usr/bin/unshare", ["-m", "sh", "-c", script, folder, "\(count)"])
    }

    private func compare(_ lines: [String], _ folder: String) throws {
        let imported = try Imported(
            lines.map { $0.replacing("\(folder)/cron", with: "\(folder)/timerd") + "\n" }.joined(),
            hasUser: true)
        #expect(imported.result.jobs.count == lines.count)
        for (index, job) in imported.result.jobs.enumerated() {
            guard case .string(let line) = job.value(of: "shell") else {
                Issue.record("\(job)")
                continue
            }
            var input = ""
            if case .string(let text) = job.value(of: "stdin") { input = text }
            let file = "\(folder)/input"
            try Data(input.utf8).write(to: URL(fileURLWithPath: file))
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", line]
            process.environment = ["HOME": "/root", "PATH": "/usr/bin:/bin"]
            process.standardInput = FileHandle(forReadingAtPath: file)
            try process.run()
            process.waitUntilExit()
            let cron = FileManager.default.contents(atPath: Self.numbered("\(folder)/cron", index))
            let timerd = FileManager.default.contents(
                atPath: Self.numbered("\(folder)/timerd", index))
            #expect(
                cron != nil && cron == timerd,
                "\(lines[index]): \(Self.shown(cron)) and \(Self.shown(timerd))")
        }
    }

    private static func shown(_ data: Data?) -> String {
        data.map { String(decoding: $0, as: UTF8.self).debugDescription } ?? "nothing"
    }
}

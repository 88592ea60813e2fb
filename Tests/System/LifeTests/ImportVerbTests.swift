// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

/// `timerctl import` as a user runs it: what is printed where, the files, and the exit status.
@Suite(.ownThreads) struct ImportVerbTests {
    private func run(
        _ program: String, _ arguments: [String], input: String = "", zone: String = "UTC"
    ) throws -> ProgramResult {
        try ProgramResult(
            of: program, arguments, environment: ["TZ": zone, "PATH": "/usr/bin:/bin"],
            input: input)
    }

    private func crontab(_ options: [String], _ text: String, zone: String = "UTC") throws
        -> ProgramResult
    {
        try run("timerctl", ["import", "crontab"] + options, input: text, zone: zone)
    }

    private let exact = "MAILTO=\"\"\nPATH=/bin\n0 5 * * * /bin/a --all%in\n"

    /// A directory that belongs to this user alone.
    private func folder() throws -> String {
        let path = "/tmp/timerd-import-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        chmod(path, 0o755)
        return path
    }

    @Test func theStatusSaysHowExactItIs() throws {
        let good = try crontab(["-"], exact)
        #expect(good.status == 0 && good.errors == "timerctl: 1 job\n")
        #expect(
            good.output.hasPrefix("# Imported from standard input by timerctl import crontab\n"))
        #expect(try crontab(["-"], exact).output == good.output)
        let noted = try crontab(["-"], exact + "61 * * * * b\n")
        #expect(noted.status == 1 && noted.errors.contains("-:4: not imported: minute: 61"))
        #expect(noted.output.contains("# -:4: not imported: minute: 61"))
        let nothing = try crontab(["-"], "# nothing\n")
        #expect(nothing.status == 2 && nothing.output.isEmpty)
        #expect(try crontab(["/no/such/file"], "").errors.contains("/no/such/file: No such file"))
        for wrong in [
            [], ["-", "--system", "--user", "x"], ["--flavour", "dcron", "-"], ["--user", "../x"],
        ] {
            let outcome = try crontab(wrong, "")
            #expect(outcome.status == 2 && outcome.output.isEmpty, "\(wrong)")
        }
    }

    /// The report of a whole machine has a row for each source, and each command that it names does what
    /// the row says.
    @Test func aMachineHasOneReport() throws {
        let report = try run("timerctl", ["import", "all"])
        #expect(try run("timerctl", ["import", "--all"]).output == report.output)
        guard report.status != 2 else {
            #expect(report.output.isEmpty && report.errors.contains("there is no crontab"))
            return
        }
        let lines = report.output.split(separator: "\n")
        #expect(lines[0].hasPrefix("SOURCE ") && lines[0].hasSuffix("NOT IMPORTED"))
        let commands = lines.compactMap { line -> (name: Substring, arguments: [String])? in
            guard let colon = line.firstRange(of: ": timerctl ") else { return nil }
            let words = line[colon.upperBound...].split(separator: " ").map(String.init)
            return (line[..<colon.lowerBound], words)
        }
        #expect(!commands.isEmpty)
        for (name, arguments) in commands {
            let single = try run("timerctl", arguments)
            let row = try #require(lines.first { $0.hasPrefix(name) && !$0.contains(": ") })
            let numbers = row.split(separator: " ").suffix(3).compactMap { Int($0) }
            let jobs = single.output.matches(of: #/(?m)^\[job\.[^.\]]*\]/#).count
            #expect(numbers.count == 3 && numbers[0] == jobs, "\(row), \(jobs) jobs")
            if single.status == 0 { #expect(numbers == [jobs, 0, 0], "\(row)") }
        }
        #expect(report.status == 0 || lines.contains { $0.hasPrefix("    ") })
    }

    @Test func timerdAcceptsTheFile_whichIsNeverOverwritten() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = "\(folder)/cron.toml"
        let wrote = try crontab(["-", "--into", file], exact)
        #expect(wrote.status == 0 && wrote.output.isEmpty && wrote.errors.contains("wrote \(file)"))
        let checked = try run("timerd", ["check", file])
        #expect(
            checked.status == 0 && checked.output == "\(file): 1 job, no errors\n", "\(checked)")
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o644)
        let again = try crontab(["-", "--into", file], "0 6 * * * b\n")
        #expect(again.status == 2 && again.errors.contains("is there already"))
        #expect(try String(contentsOfFile: file, encoding: .utf8).contains("/bin/a"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["cron.toml"])
        #expect(try crontab(["-", "--into", "\(folder)/cron"], exact).status == 2)
        // Nothing is written if there is no job.
        #expect(try crontab(["-", "--into", "\(folder)/none.toml"], "x\n").status == 2)
        #expect(!FileManager.default.fileExists(atPath: "\(folder)/none.toml"))
        chmod(folder, 0o777)
        #expect(
            try crontab(["-", "--into", "\(folder)/open.toml"], exact).errors.contains(
                "others may write"))
    }

    /// What others than its owner could not read stays secret.
    @Test func aSecretCrontabDoesNotBecomePublic() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try exact.write(toFile: "\(folder)/tab", atomically: true, encoding: .utf8)
        chmod("\(folder)/tab", 0o600)
        let file = "\(folder)/tab.toml"
        #expect(try crontab(["\(folder)/tab", "--into", file], "").status == 0)
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o640)
    }

    @Test func theNextFiringsAreCompared() throws {
        let text = "30 2 * * *\ta\n*/15 * * * *\tb\n0 0 29 2 *\tc\n5 1 * * 0\td\n@reboot\te\n"
        for zone in ["UTC", "Europe/Berlin", "America/New_York"] {
            let outcome = try crontab(["-", "--check"], text, zone: zone)
            #expect(outcome.status == 0 && outcome.output.isEmpty, "\(zone): \(outcome)")
            #expect(outcome.errors.contains("of 4 jobs compared: no difference"))
        }
        #expect(try crontab(["-", "--check", "--into", "/tmp/x.toml"], text).status == 2)
    }

    @Test func theCommandsThatSwitchTheSourceOffArePrintedOnly() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = "\(folder)/it's a tab"
        let text = "MAILTO=\"\"\nPATH=/bin\n0 5 * * * a\n61 * * * * b\n0 6 * * * c\n"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        let outcome = try crontab([file, "--disable-source"], "")
        #expect(outcome.status == 1)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
        // They do what they say, and the other way round.
        let lines = outcome.output.split(separator: "\n").map(String.init)
        let off = try #require(lines.first { $0.hasPrefix("sed") })
        let on = try #require(lines.last { $0.hasPrefix("# sed") }).dropFirst(2)
        #expect(system(off) == 0)
        #expect(
            try String(contentsOfFile: file, encoding: .utf8)
                == "MAILTO=\"\"\nPATH=/bin\n#timerd# 0 5 * * * a\n61 * * * * b\n#timerd# 0 6 * * * c\n"
        )
        #expect(system(String(on)) == 0)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
    }

    @Test func theRelativesOfCronAreImported() throws {
        let anacron = try run(
            "timerctl", ["import", "anacrontab", "-"],
            input: "7 10 weekly run-parts /etc/cron.weekly\n")
        #expect(anacron.status == 1 && anacron.output.contains("every = \"7d\""))
        let fcron = try run("timerctl", ["import", "fcrontab"], input: "@ 30 fetch\n")
        #expect(fcron.status == 0 && fcron.output.contains("count = \"active\""))
        let wrong = try run("timerctl", ["import", "crontabs"])
        #expect(wrong.status == 2 && wrong.output.isEmpty)
    }
}

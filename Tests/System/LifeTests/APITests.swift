// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import ProjectFiles
import Testing
import TimerControl
import TimerCore

/// The control API of a real daemon: its answers, and what timerctl prints of them.
@Suite(.ownThreads) struct APITests {
    /// Jobs of each kind, with the names in the examples of timerd-api(7).
    static let jobs = """
        [job.heartbeat]
        every = "1h"
        command = ["true"]
        [job.report]
        cron = "30 2 * * *"
        timezone = "UTC"
        concurrency = "queue"
        command = ["cat"]
        [job.chime]
        calendar = ["Mon..Fri 08:00", "Sat 10:00"]
        random-delay = "5min"
        shell = "exit 3"
        [job.late]
        at = "2100-01-01T00:00:00Z"
        command = ["true"]
        [job.broken]
        every = "1d"
        command = ["/nonexistent/program"]
        [job.again]
        every = "1d"
        retries = 3
        retry-delay = "1h"
        shell = "echo one; echo two >&2; exit 7"
        [job.long]
        after = "1d"
        shell = "echo begun; sleep 600"
        """

    private struct Output {
        var status: Int32
        var text: String
        var errors: String
    }

    private func shell(
        _ line: String, of daemon: LiveDaemon, input: String? = nil
    ) throws -> Output {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", line]
        process.environment = [
            "PATH": "\(LiveDaemon.programs):/usr/bin:/bin", "TIMERD_SOCKET": daemon.socket,
        ]
        let name = "\(daemon.folder)/\(UUID().uuidString)"
        for (suffix, text) in [("", ""), (".err", ""), (".in", input ?? "")] {
            try text.write(toFile: name + suffix, atomically: false, encoding: .utf8)
        }
        process.standardInput = FileHandle(forReadingAtPath: "\(name).in")
        process.standardOutput = FileHandle(forWritingAtPath: name)
        process.standardError = FileHandle(forWritingAtPath: "\(name).err")
        try process.run()
        process.waitUntilExit()
        return Output(
            status: process.terminationStatus,
            text: try String(contentsOfFile: name, encoding: .utf8),
            errors: try String(contentsOfFile: "\(name).err", encoding: .utf8))
    }

    /// Runs of each kind: an active one, failed ones, and one that waits for its retry.
    private func begun() throws -> LiveDaemon {
        let daemon = try LiveDaemon(Self.jobs)
        try daemon.start()
        for name in ["heartbeat", "chime", "broken", "again", "long"] {
            _ = try daemon.ask(.command(.run, Job.Name(name)!))
        }
        let deadline = LiveDaemon.now() + 90
        func isDone() throws -> Bool {
            let log = try daemon.ask(.log(Job.Name("long")!)).text
            return try ["heartbeat", "chime", "broken"].allSatisfy {
                try daemon.show($0).last != nil
            } && daemon.show("again").nextAttempt != nil && log.contains("begun")
        }
        while try !isDone() {
            try #require(LiveDaemon.now() < deadline, "\(daemon.log)")
            usleep(20_000)
        }
        return daemon
    }

    /// Checks each answer, and all JSON that timerctl prints, against the schema of the document.
    @Test func answersConformToTheDescription() throws {
        let daemon = try begun()
        let described = try Described()
        func expect(_ line: String, _ schema: String, status: Int32 = 0) throws {
            let output = try shell(line, of: daemon)
            #expect(output.status == status, "\(line): \(output.errors)")
            let text = status == 0 ? output.text : output.text + output.errors
            let value = try #require(try? AnyJSON(text), "\(line): \(output)")
            #expect(described.faults(in: value, schema).isEmpty, "\(line)")
        }
        let list = try AnyJSON(try shell("timerctl list --json", of: daemon).text)
        for name in ["heartbeat", "report", "chime", "late", "broken", "again", "long"] {
            try expect("timerctl show \(name) --json", "Job")
            try expect("timerctl why \(name) --json", "Why")
            try expect("timerctl next \(name) --json", "Schedule")
            try expect("timerctl api GET /v1/jobs/\(name)/log", "Log")
            try expect("timerctl api GET /v1/jobs/\(name)", "Job")
            if let run = list["jobs"]?.list?.first(where: { $0["job"]?.text == name })?["last"]?[
                "id"]?.text
            {
                try expect("timerctl show \(run) --json", "RunDetails")
            }
        }
        #expect(described.faults(in: list, "Daemon").isEmpty)
        let failed = "timerctl list --failed -o json"
        try expect(failed, "Daemon")
        try expect("timerctl status --json", "Daemon")
        try expect("timerctl history --json", "Runs")
        try expect("timerctl upcoming --for 3d --json", "Upcoming")
        try expect("timerctl failures --json", "Failures")
        try expect("timerctl reload --dry-run --json", "Reload")
        try expect("timerctl pause chime --for 1h --note x --json", "Changed")
        try expect("timerctl pause chime --for 2h --json", "Changed")
        try expect("timerctl pause chime report --with-run --json", "ChangedJobs")
        try expect("timerctl why chime --json", "Why")
        try expect("timerctl resume --all --json", "ChangedJobs")
        try expect("timerctl kill long --json", "Killed")
        try expect("timerctl kill late --json", "Killed")
        // Errors, in the same form and with the same status as without --json.
        try expect("timerctl history nope --json", "Error", status: 4)
        try expect("timerctl show nope --json", "Error", status: 4)
        try expect("timerctl pause nope chime --json", "Error", status: 4)
        try expect("timerctl start chime --json --frob", "Error", status: 2)
        try expect("timerctl list -o json --socket /nonexistent", "Error", status: 3)
        try expect("timerctl api GET /v1/jobs/nope", "Error", status: 4)
        try daemon.write("[job.heartbeat]\nevry = \"1h\"\n")
        try expect("timerctl reload --json", "Error", status: 1)
        try daemon.write("[job.heartbeat]\nevery = \"1h\"\ncommand = [\"true\"]\n")
        try expect("timerctl reload --json", "Reload")
        #expect(daemon.stop() == 0)
    }

    /// A run looks the same in all answers.
    @Test func aRunIsTheSameWhereverItIs() throws {
        let daemon = try begun()
        func last(_ line: String, _ path: String...) throws -> [String: AnyJSON] {
            var value = try AnyJSON(try shell(line, of: daemon).text)
            for part in path {
                value = try #require(part == "0" ? value.list?.first : value[part], "\(line)")
            }
            var members = try #require(value.members)
            // Only answers about runs have these members.
            for name in ["missed", "output", "cause", "requested_by"] { members[name] = nil }
            return members
        }
        for (name, verdict) in [("heartbeat", true), ("chime", false), ("broken", false)] {
            let shown = try last("timerctl show \(name) --json", "last")
            #expect(
                try shown == last("timerctl history \(name) --limit 1 --json", "runs", "0"))
            #expect(try shown == last("timerctl api GET /v1/jobs/\(name)/log", "past"))
            #expect(
                try shown == last("timerctl list --match \(name) --json", "jobs", "0", "last"))
            if !verdict {
                #expect(
                    try shown
                        == last("timerctl failures --match \(name) --json", "failures", "0", "last")
                )
            }
            #expect(shown["job"] == .text(name) && shown["succeeded"] == .bool(verdict))
            #expect(shown["failed"] == .bool(!verdict))
        }
        let chime = try last("timerctl show chime --json", "last")
        #expect(chime["exit_code"] == .integer(3) && chime["reason"] == .text("exited"))
        let broken = try last("timerctl show broken --json", "last")
        #expect(broken["exit_code"] == nil && broken["reason"] == .text("spawn-failed"))
        // Also after a restart, when only the saved data is known.
        #expect(daemon.stop() == 0)
        try daemon.start()
        #expect(try last("timerctl show chime --json", "last") == chime)
        #expect(try last("timerctl show broken --json", "last") == broken)
        #expect(daemon.stop() == 0)
    }

    @Test func apiSendsWhatItIsGiven_andPrintsWhatComes() throws {
        let daemon = try LiveDaemon("[job.a]\nevery = \"1h\"\ncommand = [\"true\"]\n")
        try daemon.start()
        func run(_ line: String, input: String? = nil) throws -> Output {
            try shell("timerctl api \(line)", of: daemon, input: input)
        }
        let list = try run("GET /v1/jobs")
        #expect(list.status == 0 && list.text.hasSuffix("}\n"))
        let head = try run("HEAD /v1/jobs -i")
        #expect(head.text.hasPrefix("HTTP/1.1 200 OK\r\n") && head.text.hasSuffix("\r\n\r\n"))
        let options = try run("-i options '*'")
        #expect(options.status == 2, "not a path")
        #expect(try run("-i OPTIONS /v1/runs").text.contains("Allow: GET, HEAD, OPTIONS\r\n"))
        func note() throws -> String? { try daemon.show("a").paused?.note }
        #expect(try run(#"POST /v1/jobs/a/pause -d '{"note": "one"}'"#).status == 0)
        #expect(try note() == "one")
        #expect(try run("post /v1/jobs/a/pause -d -", input: #"{"note": "two"}"#).status == 0)
        #expect(try note() == "two")
        let file = "\(daemon.folder)/body"
        try #"{"note": "three"}"#.write(toFile: file, atomically: true, encoding: .utf8)
        #expect(try run("POST /v1/jobs/a/pause --data @\(file)").status == 0)
        #expect(try note() == "three")
        #expect(try run("POST /v1/jobs/a/resume").status == 0)
        // Errors.
        for (line, status, code) in [
            ("GET /v1/nothing", 4, "not-found"), ("DELETE /v1/jobs", 1, "method-not-allowed"),
            ("POST /v1/jobs/a/pause -d '{\"untl\": 1}'", 1, "unknown-key"),
            ("GET '/v1/runs?x=1'", 1, "unknown-parameter"),
        ] as [(String, Int32, String)] {
            let output = try run(line)
            #expect(output.status == status && output.errors.isEmpty, "\(line)")
            #expect(try AnyJSON(output.text)["code"] == .text(code), "\(line)")
        }
        #expect(try run("POST /v1/reload -d @/nonexistent").status == 1)
        #expect(try run("GET 'v1/jobs'").status == 2)
        #expect(try run("GET '/v1/jobs HTTP/1.1'").status == 2)
        #expect(try run("GET /v1/jobs --socket /nonexistent").status == 3)
        #expect(daemon.stop() == 0)
    }

    /// The commands in timerd-api(7), as printed, except for the path of the socket.
    @Test(.enabled(if: access("/usr/bin/curl", X_OK) == 0))
    func theExamplesOfTheManualWork() throws {
        let page = try String(
            contentsOf: Project.url(of: "man/timerd-api.7"), encoding: .utf8)
        var isExample = false
        var examples: [String] = []
        for line in page.split(separator: "\n") {
            switch line {
            case _ where line.hasPrefix(".Bd -literal"): isExample = true
            case ".Ed": isExample = false
            default:
                if isExample { examples.append(line.replacingOccurrences(of: "\\-", with: "-")) }
            }
        }
        #expect(examples.count >= 8)
        let daemon = try begun()
        for example in examples {
            let line = example.replacingOccurrences(
                of: "/run/timerd/control.sock", with: daemon.socket)
            let output = try shell(line, of: daemon)
            #expect(output.status == 0, "\(example): \(output.errors)")
            let body = output.text.components(separatedBy: "\r\n\r\n").last ?? ""
            let value = try #require(try? AnyJSON(body), "\(example): \(output.text)")
            #expect(value["error"] == nil, "\(example)")
        }
        #expect(daemon.stop() == 0)
    }
}

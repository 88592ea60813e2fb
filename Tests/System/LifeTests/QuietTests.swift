// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

/// How much the programs log and print.
@Suite(.ownThreads) struct QuietTests {
    private func jobs(_ numbers: some Sequence<Int>, every: String = "1h") -> String {
        numbers.map { "[job.job-\($0)]\nevery = \"\(every)\"\nFIRE\n" }.joined()
    }

    @Test func aRestartWithAThousandJobsIsOneLine_afterAKillToo() throws {
        let daemon = try LiveDaemon(jobs(0..<1000))
        try daemon.start()
        #expect(daemon.stop() == 0)
        var before = daemon.log.split(separator: "\n").count
        try daemon.start()
        #expect(daemon.waitForLog("Started with 1000 jobs; the previous instance stopped cleanly"))
        _ = daemon.kill()
        #expect(daemon.log.split(separator: "\n").count == before + 1, "\(daemon.log)")
        before += 1
        try daemon.start()
        #expect(daemon.waitForLog(" of it is lost for each"))
        // The restored time of each job is available on request.
        #expect(try daemon.timerctl("show", "job-7").text.contains(" may be missing"))
        #expect(daemon.stop() == 0)
        let lines = daemon.log.split(separator: "\n").dropFirst(before)
        #expect(lines.count == 3, "\(daemon.log)")
    }

    @Test func aPreviewOfAReloadSaysWhatChanges_andHowMuchDoesNot() throws {
        let daemon = try LiveDaemon(jobs(0..<1000))
        try daemon.start()
        try daemon.write(jobs(2..<1001) + jobs([1], every: "2h"))
        let text = try daemon.timerctl("reload", "--dry-run").text
        let lines = text.split(separator: "\n").map { $0.prefix { $0 != "," } }
        #expect(
            lines == ["added: job-1000", "changed: job-1", "removed: job-0", "unchanged: 998"])
        let json = try daemon.timerctl("reload", "--dry-run", "--json").text
        let reply = try ControlJSON.decode(ReloadReply.self, from: Array(json.utf8))
        #expect(reply.kept == 998 && reply.added.map(\.job) == ["job-1000"])
        #expect(json.utf8.count < 1000)
        #expect(daemon.stop() == 0)
    }

    /// As in a container, and in the format for programs.
    @Test func theLogAsJSONIsAnObjectALine_ofTheJobsAsWell() throws {
        let daemon = try LiveDaemon(
            """
            [job.a]
            after = "1ms"
            shell = "echo 'a \\"quoted\\" word'; echo oops >&2; exit 3"
            """)
        daemon.options = ["--log", "json"]
        try daemon.start()
        #expect(daemon.waitForLog("failed: exit 3"))
        #expect(daemon.stop() == 0)
        let entries = try daemon.log.split(separator: "\n").map { line in
            try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)"
            )
        }
        for entry in entries {
            #expect(
                ["time", "level", "message"].allSatisfy { entry[$0] is String }, "\(entry)")
        }
        func entry(_ event: String, _ message: String? = nil) -> [String: Any]? {
            entries.first {
                $0["event"] as? String == event
                    && (message == nil || $0["message"] as? String == message)
            }
        }
        #expect(entry("daemon-started")?["jobs"] as? Int == 1)
        #expect(entry("fired")?["job"] as? String == "a")
        let line = try #require(entry("output", "a \"quoted\" word"))
        #expect(line["job"] as? String == "a" && line["stream"] as? String == "stdout")
        #expect(line["run"] as? String == entry("fired")?["run"] as? String)
        #expect(entry("output", "oops")?["stream"] as? String == "stderr")
        #expect(entry("run-ended")?["outcome"] as? String == "exited(3)")
        #expect(entry("run-ended")?["level"] as? String == "error")
    }

    @Test func theLevelOfTheLogIsChosen() throws {
        let daemon = try LiveDaemon(jobs(0..<2))
        try daemon.start()
        _ = daemon.kill()
        daemon.options = ["--log", "stderr", "--log-level", "debug"]
        try daemon.start()
        #expect(daemon.waitForLog("job-1: restored"))
        #expect(daemon.stop() == 0)
        daemon.options = ["--log", "stderr", "--log-level", "warning"]
        let before = daemon.log
        try daemon.start()
        #expect(daemon.stop() == 0)
        #expect(daemon.log == before)
    }

    private func end(
        _ program: String, _ arguments: [String], _ variables: [String: String] = [:]
    ) throws -> ProgramResult {
        try ProgramResult(of: program, arguments, environment: variables)
    }

    @Test(arguments: [
        ("timerd", ["chekc"]), ("timerd", ["run", "--lgo"]),
        ("timerd", ["simulate", "--from", "x"]),
        ("timerd-runner", []), ("timerd-runner", ["--nope"]), ("timerctl", ["lst"]),
        ("timerctl", ["list", "--wiat"]), ("timerctl", ["status", "--nope"]),
    ])
    func wrongUsageIsTheSameStatusOfAllPrograms(program: String, arguments: [String]) throws {
        let ended = try end(program, arguments)
        #expect(ended.status == 2, "\(ended)")
        #expect(!ended.errors.isEmpty && !ended.errors.contains("Did you mean '--sort'"))
        // The error is not that an alias of a command is unknown.
        if arguments.first == "status" { #expect(ended.errors.contains("--nope")) }
    }

    /// The saved state of the standard configuration is not that of another.
    @Test func anotherConfigurationNeedsAStateOfItsOwn() throws {
        let folder = "/tmp/timerd-own-\(UUID().uuidString)"
        mkdir(folder, 0o700)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let config = "\(folder)/t.toml"
        try "[job.a]\nevery = \"1h\"\nshell = \"true\"\n".write(
            toFile: config, atomically: true, encoding: .utf8)
        let home = ["HOME": folder, "XDG_STATE_HOME": "\(folder)/state"]
        let refused = try end("timerd", ["run", "--config", config], home)
        #expect(refused.status == 2)
        #expect(refused.errors.contains("--state ./state"), "\(refused.errors)")
        #expect(!FileManager.default.fileExists(atPath: "\(folder)/state"))
    }

    /// The runtime directory belongs to the state directory that contains it.
    @Test func theRuntimeDirectoryIsInTheStateThatIsNamed() throws {
        let daemon = try LiveDaemon(jobs(0..<1))
        daemon.runtime = "state/run"
        try daemon.start(withRuntime: false)
        #expect(FileManager.default.fileExists(atPath: "\(daemon.folder)/state/run/heartbeat"))
        #expect(try daemon.timerctl("list").status == 0)
        #expect(daemon.stop() == 0)
    }
}

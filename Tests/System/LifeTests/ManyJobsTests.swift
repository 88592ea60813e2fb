// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import SeededRandom
import Testing
import TimerControl
import TimerCore

/// Commands for many jobs, and very many clients, with a real daemon.
@Suite(.ownThreads) struct ManyJobsTests {
    private func jobs(_ count: Int) -> String {
        (0..<count).map { "[job.job-\($0)]\nevery = \"1h\"\nFIRE\n" }.joined()
    }

    private func paused(_ daemon: LiveDaemon) throws -> Int {
        let table = try ControlJSON.decode(
            JobTable.self, from: Array(try daemon.ask(.list).text.utf8))
        return table.jobs.count { $0.state == "paused" }
    }

    /// The daemon is killed at any instant of a command for all jobs.
    @Test func afterAKillAnOrderIsInForceForAllJobsOrForNone() throws {
        let count = 1500
        var random = SeededRandom()
        let daemon = try LiveDaemon(jobs(count))
        var both: Set<Int> = []
        for round in 0..<6 {
            try daemon.start()
            let client = Process()
            client.executableURL = URL(fileURLWithPath: "\(LiveDaemon.programs)/timerctl")
            client.arguments = ["pause", "--all", "--socket", daemon.socket]
            client.standardOutput = FileHandle.nullDevice
            client.standardError = FileHandle.nullDevice
            try client.run()
            if round == 5 {
                client.waitUntilExit()
            } else {
                LiveDaemon.pass(until: LiveDaemon.now() + Double(random.int(below: 400)) / 1000)
            }
            _ = daemon.kill()
            client.waitUntilExit()
            try daemon.start()
            let found = try paused(daemon)
            #expect(found == 0 || found == count, "round \(round)")
            if client.terminationStatus == 0 { #expect(found == count) }
            both.insert(found)
            if found > 0 { #expect(try daemon.timerctl("resume", "--all").status == 0) }
            #expect(try paused(daemon) == 0)
            #expect(daemon.stop() == 0)
        }
        #expect(both.contains(count))
    }

    @Test func severalJobsAreOrderedAtOnce_andWithAWrongNameNone() throws {
        let daemon = try LiveDaemon(jobs(5))
        try daemon.start()
        let wrong = try daemon.timerctl("pause", "job-1", "job-9", "job-2", "jobb-3")
        #expect(wrong.status == 4 && wrong.text.isEmpty)
        #expect(try paused(daemon) == 0)
        let three = try daemon.timerctl(
            "pause", "job-1", "job-2", "job-1", "job-3", "--note", "disk swap", "--for", "1h")
        #expect(three.status == 0)
        #expect(
            three.text.split(separator: "\n").map { $0.prefix(20) } == [
                "job-1: paused until ", "job-2: paused until ", "job-3: paused until ",
            ])
        #expect(try daemon.show("job-2").paused?.note == "disk swap")
        #expect(try daemon.show("job-2").paused?.until == daemon.show("job-3").paused?.until)
        let all = try daemon.timerctl("pause", "--all", "--json")
        #expect(all.status == 0)
        let reply = try ControlJSON.decode(CommandsReply.self, from: Array(all.text.utf8))
        #expect(reply.results.map(\.changed) == [true, false, false, false, true])
        #expect(daemon.waitForLog("requested pause for 5 jobs"))
        #expect(daemon.stop() == 0)
    }

    private static var canBeAnother: Bool {
        geteuid() == 0
            && ["/usr/bin/python3", "/usr/bin/setpriv"].allSatisfy { program in
                FileManager.default.isExecutableFile(atPath: program)
            }
    }

    /// A thousand connections of a user with read access, each of which sends a byte now and then.
    @Test(.enabled(if: canBeAnother, "needs root, python3 and setpriv"))
    func rootIsAnsweredAtOnce_howeverManyConnectionsAnotherUserHas() throws {
        let daemon = try LiveDaemon(jobs(5))
        try daemon.start()
        // Members of the group can reach the socket of the system's daemon in this way.
        chmod(daemon.folder, 0o755)
        chmod("\(daemon.folder)/run", 0o755)
        chmod(daemon.socket, 0o666)
        let script = """
            import resource, socket, sys, time
            resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
            held = []
            for number in range(1000):
                client = socket.socket(socket.AF_UNIX)
                client.connect(sys.argv[1])
                try: client.send(b"G")
                except OSError: pass
                held.append(client)
            print("ready", flush=True)
            while True:
                for client in held[:32]:
                    try: client.send(b"E")
                    except OSError: pass
                    client = socket.socket(socket.AF_UNIX)
                    try: client.connect(sys.argv[1])
                    except OSError: sys.exit()
                    client.close()
                time.sleep(0.01)
            """
        let attack = Process()
        attack.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        attack.arguments = [
            "--reuid=65534", "--regid=65534", "--clear-groups", "--", "/usr/bin/python3", "-c",
            script,
            daemon.socket,
        ]
        let output = Pipe()
        attack.standardOutput = output
        try attack.run()
        defer { attack.terminate() }
        #expect(output.fileHandleForReading.availableData.starts(with: "ready".utf8))
        var slowest = 0.0
        for _ in 0..<20 {
            let began = LiveDaemon.now()
            #expect(try daemon.ask(.show(Job.Name("job-1")!)).status == 200)
            slowest = max(slowest, LiveDaemon.now() - began)
        }
        print("under attack, the slowest answer to root took \(slowest) s")
        #expect(slowest < 2)
        #expect(daemon.stop() == 0)
    }
}

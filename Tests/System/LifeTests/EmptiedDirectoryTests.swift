// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// The runtime directory is emptied while daemon and runner run, or while neither does.
@Suite(.ownThreads) struct EmptiedDirectoryTests {
    private static let jobs = """
        [job.long]
        shell = "echo $TIMERD_RUN_ID $$ >>FOLDER/starts; exec sleep 4711"
        every = "100ms"
        first = "0s"
        concurrency = "forbid"
        log = "none"
        [job.counts]
        command = ["true"]
        every = "10h"
        """

    private func make() throws -> LiveDaemon {
        let daemon = try LiveDaemon("")
        try daemon.write(Self.jobs.replacing("FOLDER", with: daemon.folder))
        return daemon
    }

    /// The runs of the job, each with its process, as they wrote themselves.
    private func starts(of daemon: LiveDaemon) -> [[Substring]] {
        let text = (try? String(contentsOfFile: "\(daemon.folder)/starts", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map { $0.split(separator: " ") }
    }

    private func kill(_ runs: [[Substring]]) {
        for run in runs { if let pid = Int32(run[1]) { Glibc.kill(pid, SIGKILL) } }
    }

    /// As `rm -rf run/* run/.[!.]*` does.
    private func empty(_ daemon: LiveDaemon) throws {
        let path = "\(daemon.folder)/\(daemon.runtime)"
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            try FileManager.default.removeItem(atPath: "\(path)/\(name)")
        }
    }

    /// Its runner, found without a connection, which would replace that of the daemon.
    private func runners(of daemon: LiveDaemon) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { pid in
            let data = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") ?? Data()
            let words = data.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            return words.first?.hasSuffix("/timerd-runner") == true
                && words.contains("\(daemon.folder)/\(daemon.runtime)")
        }
    }

    private func killRunner(of daemon: LiveDaemon) throws {
        Glibc.kill(try #require(runners(of: daemon).first), SIGKILL)
        #expect(daemon.wait { runners(of: daemon).isEmpty })
    }

    @Test(arguments: [false, true])
    func everythingIsMadeAgain_andNothingIsLostByAKillAfterThat(_ withDirectory: Bool) throws {
        let daemon = try make()
        try daemon.start()
        #expect(daemon.wait { starts(of: daemon).count == 1 })
        defer { kill(starts(of: daemon)) }
        let before = runners(of: daemon)
        #expect(before.count == 1)
        if withDirectory {
            try FileManager.default.removeItem(atPath: "\(daemon.folder)/run")
        } else {
            try empty(daemon)
        }
        #expect(daemon.waitForLog("Deleted while timerd uses it, and made again"))
        #expect(daemon.waitForLog("deleted while this runner uses it, and made again"))
        // Clients reach the daemon, the daemon the runner, and both are those of before.
        #expect(daemon.wait { (try? daemon.show("long").running.isEmpty == false) == true })
        #expect(try daemon.timerctl("run", "counts", "--wait").status == 0)
        #expect(runners(of: daemon) == before)
        #expect(daemon.process?.isRunning == true)
        let elapsed = try daemon.show("counts").elapsedUsec

        _ = daemon.kill()
        try killRunner(of: daemon)
        try daemon.start()
        #expect(try daemon.show("long").running.isEmpty == false)
        let lost = try elapsed - daemon.show("counts").elapsedUsec
        #expect(lost <= 1_000_000, "\(lost) us are lost")
        // What another run would need has passed several times.
        #expect(try daemon.timerctl("run", "counts", "--wait").status == 0)
        #expect(starts(of: daemon).count == 1)
        #expect(daemon.stop() == 0)
        #expect(!daemon.log.contains("lost("))
    }

    /// Only the processes themselves are left to tell which run they are.
    @Test func aLivingRunIsFound_thoughAllRecordsAreGone() throws {
        let daemon = try make()
        try daemon.start()
        #expect(daemon.wait { starts(of: daemon).count == 1 })
        defer { kill(starts(of: daemon)) }
        _ = daemon.kill()
        try killRunner(of: daemon)
        try empty(daemon)
        try daemon.start()
        let run = try #require(starts(of: daemon).first)
        #expect(try daemon.show("long").running.isEmpty == false)
        #expect(try daemon.timerctl("run", "counts", "--wait").status == 0)
        #expect(starts(of: daemon).count == 1)
        // It is followed to its end, and then the job starts again.
        kill([run])
        #expect(daemon.wait { starts(of: daemon).count == 2 })
        #expect(daemon.stop() == 0)
        #expect(Set(starts(of: daemon).map(\.[0])).count == 2)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// What clients of the control socket may do to a real daemon.
@Suite(.ownThreads) struct ClientTests {
    private func connect(to path: String) throws -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let client = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(client, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0, "connect: \(errno)")
        var timeout = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(
            client, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        return client
    }

    private func resident(_ pid: Int32) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8)
        return (Int(text.split(separator: " ")[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Each answer has about 300 KB, and all requested answers together have more than 100 MB. A
    /// client that does not read its answer does not get the next one, and clients that ask at the
    /// same time share an answer.
    @Test func aClientThatReadsNothingTakesNoMemoryAndDelaysNoOther_andGetsAllAnswersInTheEnd()
        throws
    {
        let jobs = (0..<1000).map { "[job.job-\($0)]\nevery = \"1d\"\nFIRE\n" }.joined()
        let daemon = try LiveDaemon(jobs)
        try daemon.start()
        let one = try daemon.ask(.list)
        #expect(one.status == 200 && one.text.utf8.count > 200_000)
        let pid = try #require(daemon.process?.processIdentifier)
        let before = try resident(pid)
        let requests = 12
        var deaf: [Int32] = []
        defer { for client in deaf { close(client) } }
        for _ in 0..<32 {
            let client = try connect(to: daemon.socket)
            deaf.append(client)
            let text = String(
                repeating: "GET /v1/jobs HTTP/1.1\r\nHost: timerd\r\n\r\n", count: requests)
            try #require(send(client, text, text.utf8.count, 0) == text.utf8.count)
        }
        // This request comes after all of them and is still answered.
        #expect(try daemon.ask(.list).status == 200)
        #expect(try daemon.show("job-7").state == "armed")
        #expect(try resident(pid) < before + (40 << 20))

        var answers = 0
        var rest: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        let mark = Array("HTTP/1.1 200".utf8)
        while answers < requests {
            let count = recv(deaf[0], &buffer, buffer.count, 0)
            try #require(count > 0, "after \(answers) answers")
            // A match across two readings is found with the end of the first one.
            let bytes = rest + buffer[..<count]
            answers += bytes.indices.dropLast(mark.count - 1).count {
                bytes[$0] == mark[0] && bytes[$0..<$0 + mark.count].elementsEqual(mark)
            }
            rest = Array(bytes.suffix(mark.count - 1))
        }
        #expect(answers == requests)
        #expect(daemon.stop() == 0)
    }

    /// The timers of a process that fire before the daily copy of the database is due, from fdinfo
    /// (proc(5)). The timer that only reports that the clock was set is set to a day that never
    /// comes.
    private func timers(of pid: Int32) throws -> [String] {
        let folder = "/proc/\(pid)/fdinfo"
        return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
            let text = try? String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8)
            guard let value = text?.firstMatch(of: /it_value: \((\d+), (\d+)\)/),
                let seconds = Int(value.1), seconds < 86_000, value.0 != "it_value: (0, 0)"
            else { return nil }
            return String(value.0)
        }
    }

    /// A connection that has ended must not wake an idle machine later.
    @Test func aClosedConnectionLeavesNoTimerBehind() throws {
        let daemon = try LiveDaemon("[job.a]\nevery = \"1h\"\npaused = true\nFIRE\n")
        // The copy is made at once here, and not a minute after the start.
        try daemon.start()
        #expect(daemon.stop() == 0)
        try daemon.start()
        for _ in 0..<3 { _ = try daemon.ask(.list) }
        let pid = try #require(daemon.process?.processIdentifier)
        let timeout = LiveDaemon.now() + 20
        // Remaining writes cause short timers now and then. Beside other tests one look may take longer
        // than all of them should.
        var left = try timers(of: pid)
        var looks = 1
        while !left.isEmpty, looks < 5 || LiveDaemon.now() < timeout {
            usleep(5000)
            left = try timers(of: pid)
            looks += 1
        }
        #expect(left.isEmpty)
        #expect(daemon.stop() == 0)
    }

    /// It is in the configuration, so that to say that there is no such job would mislead.
    @Test func aJobThatIsNotLoadedBecauseOfAnErrorIsSaidToBeThere() throws {
        let daemon = try LiveDaemon(
            "[job.good]\nevery = \"1d\"\nFIRE\n[job.broken]\nevery = \"1 fortnite\"\nFIRE\n")
        try daemon.start()
        for command in [["show"], ["pause"], ["run"], ["history"], ["log"], ["next"]] {
            let result = try ProgramResult(
                of: "timerctl", command + ["broken", "--socket", daemon.socket])
            let said = result.output + result.errors
            #expect(result.status != 0, "\(command)")
            #expect(said.contains("\"broken\" is not loaded because of an error"), "\(said)")
            #expect(said.contains("timerctl why broken"))
        }
        let (status, text) = try daemon.timerctl("show", "bad")
        #expect(status != 0 && !text.contains("not loaded"))
    }
}

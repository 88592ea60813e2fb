// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// How runs are shown and named.
extension RunVerbTests {
    @Test func aRunIsShownWithWhyAndHow() throws {
        let daemon = try LiveDaemon(Self.jobs)
        try daemon.start()
        #expect(try run(daemon, "log", "good").out.contains("good has never run; it runs next at "))
        let json = try run(daemon, "run", "bad", "--wait", "--json")
        let reply = try ControlJSON.decode(RunReply.self, from: Array(json.out.utf8))
        #expect(json.status == 7 && reply.state == "ended" && reply.runStatus.output == "trying\n")
        #expect(reply.runStatus.cause == "requested" && reply.runStatus.requestedBy != nil)
        let name = reply.runStatus.id
        let shown = try run(daemon, "show", name).out
        #expect(shown.contains("Result: exit 7") && shown.contains("    | trying"))
        #expect(shown.contains("Cause: requested by "))
        let log = try run(daemon, "log", name).out
        #expect(log.hasPrefix("── run \(name) began ") && log.contains(" | trying\n"))
        #expect(log.contains("exit 7, after "))
        #expect(try run(daemon, "log", "bad", "-o", "cat").out == "trying\n")
        _ = try run(daemon, "run", "quiet", "--wait")
        #expect(try run(daemon, "log", "quiet").out.contains("(it printed nothing)"))
        _ = try run(daemon, "run", "none")
        #expect(try run(daemon, "log", "none").out.contains("could not start: no such program"))
        #expect(try run(daemon, "log", "bad", "-n", "1").out.contains("| trying"))
        let unknown = try run(daemon, "show", "bad:20200101T000000.000000Z:1")
        #expect(unknown.status == 4 && unknown.err.contains("nothing is known of run"))
        // The next instance knows them only from the history.
        #expect(daemon.stop() == 0)
        try daemon.start()
        #expect(try run(daemon, "log", name).out.contains("         : trying\n"))
        #expect(try run(daemon, "show", name).out.contains("Cause: requested by "))
        #expect(daemon.stop() == 0)
    }

    @Test func aRunIsNamedWithItsJobOrWithout_butNotWithAnother() throws {
        let daemon = try LiveDaemon(Self.jobs)
        try daemon.start()
        let json = try run(daemon, "run", "bad", "--wait", "--json")
        let name = try ControlJSON.decode(RunReply.self, from: Array(json.out.utf8)).runStatus.id
        for arguments in [["bad", "--run", name], ["--run", name], [name]] {
            let log = try run(daemon, "log", arguments)
            #expect(log.status == 0 && log.out.contains(" | trying\n"), "\(arguments)")
        }
        let other = try run(daemon, "log", "good", "--run", name)
        #expect(other.status == 2 && other.out.isEmpty)
        #expect(other.err.contains("\(name) is a run of job \"bad\", not of \"good\""))
        #expect(try run(daemon, "log").err.contains("name a job or a run"))
        #expect(daemon.stop() == 0)
    }

    @Test func runsAreShownThatEndedInAPeriod() throws {
        let daemon = try LiveDaemon(Self.jobs)
        try daemon.start()
        let json = try run(daemon, "run", "bad", "--wait", "--json")
        let status = try ControlJSON.decode(RunReply.self, from: Array(json.out.utf8)).runStatus
        let end = try #require(status.ended.flatMap { WallInstant(rfc3339: $0) })
        let after = (end + .microseconds(1)).rfc3339Micros
        let before = (end - .microseconds(1)).rfc3339Micros
        let at = end.rfc3339Micros
        for (period, isIn) in [
            (["--since", at], true), (["--since", after], false), (["--until", after], true),
            (["--until", at], false), (["--since", before, "--until", after], true),
        ] {
            let log = try run(daemon, "log", ["bad"] + period)
            #expect(log.out.contains("| trying") == isIn, "\(log.out) \(period)")
            #expect(log.out.contains("no run of bad ended ") == !isIn, "\(log.out)")
            #expect(try run(daemon, "history", period).out.contains(status.id) == isIn)
            let failures = try run(daemon, "failures", period).out
            #expect(failures.contains("bad: exit 7") == isIn, "\(failures)")
            #expect(failures.contains("No job's last run failed ") == !isIn, "\(failures)")
        }
        let reversed = try run(daemon, "history", "--since", after, "--until", at)
        #expect(reversed.status == 2 && reversed.err.contains("--until must not be before"))
        #expect(try run(daemon, "log", "bad", "-f", "--until", at).status == 2)
        #expect(try run(daemon, "log", status.id, "--until", at).status == 2)
        #expect(daemon.stop() == 0)
    }
}

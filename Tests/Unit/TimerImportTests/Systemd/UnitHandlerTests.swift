// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerImport

/// The units of `OnFailure=` and `OnSuccess=` become jobs that follow the job of the service.
@Suite struct UnitHandlerTests {
    private func imported(
        _ unit: String, _ more: [String: String] = [:], _ names: String...
    ) throws -> ImportResult {
        var files = [
            "a.timer": "[Timer]\nOnCalendar=daily\nPersistent=true\n",
            "a.service": "[Unit]\n\(unit)\n[Service]\nType=oneshot\nExecStart=/bin/a\n",
            "b.timer": "[Timer]\nOnCalendar=daily\nPersistent=true\n",
            "b.service": "[Unit]\n\(unit)\n[Service]\nType=oneshot\nExecStart=/bin/b\n",
            "tell@.service": "[Service]\nType=oneshot\nUser=ops\nExecStart=/bin/tell %i\n",
            "good.service": "[Service]\nType=oneshot\nExecStart=/bin/good\n",
        ]
        files.merge(more) { $1 }
        let units = Units(files: files)
        let result =
            names.isEmpty
            ? try units.imported("a.timer") : try units.imported("a.timer", "b.timer")
        #expect(try result.faults() == [])
        return result
    }

    /// What each job follows, by its name; nil for those with a time of their own.
    private func chains(_ result: ImportResult) -> [String] {
        result.jobs.map { job in
            "\(job.name)" + (job.value(of: "follows").map { " \($0)" } ?? "")
        }
    }

    @Test func aUnitForFailuresIsAJobThatFollows() throws {
        let result = try imported("OnFailure=tell@%p.service")
        #expect(chains(result) == ["a", "tell@a { job = \"a\", on = \"failure\" }"])
        let keys = result.keys(of: 1)
        #expect(
            keys.prefix(3) == [
                "command = [\"/bin/tell\", \"a\"]",
                "follows = { job = \"a\", on = \"failure\" }", "user = \"ops\"",
            ])
        #expect(result.exactness == .exact && result.notifiers.isEmpty)
        #expect(result.jobs[1].source.last == "OnFailure=tell@a.service of a.service")
        #expect(result.report.entries.contains { $0.place.file == "/etc/tell@.service" })
    }

    @Test func aUnitForSuccessesIsExact() throws {
        let result = try imported("OnSuccess=good.service")
        #expect(result.exactness == .exact)
        #expect(chains(result) == ["a", "good { job = \"a\", on = \"success\" }"])
    }

    /// A job that follows several runs after all of them, and a unit is started by each.
    @Test func eachJobHasItsOwnFollowers() throws {
        let result = try imported(
            "OnFailure=good.service good.service\nOnSuccess=good.service", [:], "a", "b")
        #expect(
            chains(result) == [
                "a", "b", "good { job = \"a\", on = \"failure\" }",
                "good-2 { job = \"a\", on = \"success\" }",
                "good-3 { job = \"b\", on = \"failure\" }",
                "good-4 { job = \"b\", on = \"success\" }",
            ])
        #expect(result.exactness == .exact)
    }

    /// A timer keeps its name, also if a unit before it starts its service.
    @Test func aTimerKeepsItsName() throws {
        let result = try imported(
            "OnSuccess=b.service",
            ["b.service": "[Service]\nType=oneshot\nExecStart=/bin/b\n"], "a", "b")
        #expect(chains(result) == ["a", "b", "b-2 { job = \"a\", on = \"success\" }"])
    }

    @Test(
        arguments: [
            ("OnFailure=gone.service", "there is no gone.service"),
            ("OnFailure=some.target", "only services"), ("OnSuccess=a b.service", "not the name"),
            ("OnFailure=tell@.service", "not the name"),
            ("OnFailure=%Z.service", "unknown specifier"),
            ("OnFailure=root.service", "another root directory"),
            ("OnFailure=fatal.service", "does not load"),
            ("OnFailure=a.service", "would follow itself"),
            ("OnFailure=\(String(repeating: "x", count: 300)).service", "not the name"),
        ])
    func whatCannotBeAJobIsANote(line: String, reason: String) throws {
        let result = try imported(
            line,
            [
                "root.service": "[Service]\nRootDirectory=/x\nExecStart=/bin/x\n",
                "fatal.service": "[Service\n", "b.service": "",
            ])
        #expect(result.jobs.map(\.name.description) == ["a"])
        #expect(
            result.jobs[0].notes.contains { $0.contains(reason) }, "\(result.jobs[0].notes)")
        #expect(result.notifiers.isEmpty)
    }

    /// A unit that would start one before it ends the chain.
    @Test func aChainGoesOnUntilItWouldBeginAgain() throws {
        let unit = { (line: String, program: String) in
            "[Unit]\n\(line)\n[Service]\nType=oneshot\nExecStart=\(program)\n"
        }
        let result = try imported(
            "OnFailure=good.service",
            [
                "good.service": unit(
                    "OnFailure=a.service next.service\nOnSuccess=good.service", "/x"),
                "next.service": unit("OnFailure=good.service", "/y"),
            ])
        #expect(
            chains(result) == [
                "a", "good { job = \"a\", on = \"failure\" }",
                "next { job = \"good\", on = \"failure\" }",
            ])
        #expect(result.jobs.map { $0.notes.count } == [0, 2, 1])
        #expect(result.jobs[2].notes[0].contains("good.service would follow itself"))
    }

    @Test func aServiceHasNoMoreFollowersThanItCan() throws {
        let units = (0..<30).map { "tell@\($0).service" }.joined(separator: " ")
        let result = try imported("OnFailure=\(units)")
        #expect(result.jobs.count == UnitHandlers.perServiceMax + 1)
        #expect(result.jobs[0].notes.contains { $0.contains("too many jobs") })
    }

    /// Services that name each other could make more jobs than any configuration can have.
    @Test func noUnitsMakeMoreJobsThanAConfigurationHas() throws {
        var files: [String: String] = [:]
        let padding = String(repeating: "x", count: 10_000)
        for level in 0..<8 {
            let next = (0..<20).map { "l\(level + 1)-\($0).service" }.joined(separator: " ")
            for index in 0..<20 {
                files["l\(level)-\(index).service"] =
                    "[Unit]\nOnFailure=\(next)\n[Service]\nType=oneshot\nExecStart=/bin/x \(padding)\n"
            }
        }
        files["a.timer"] = "[Timer]\nOnCalendar=daily\nPersistent=true\n"
        files["a.service"] = files["l0-0.service"]
        let result = try Units(files: files).imported("a.timer")
        #expect((400...1000).contains(result.jobs.count))
        #expect(result.jobs.last?.notes.contains { $0.contains("too many jobs") } == true)
    }

    @Test func otherVariablesAreNoted() throws {
        let line = "[Service]\nType=oneshot\nExecStart=/bin/x ${MONITOR_UNIT}\n"
        let result = try imported("OnSuccess=good.service", ["good.service": line])
        #expect(result.jobs[1].notes.contains { $0.contains("TIMERD_CAUSE_JOB") })
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerImport

/// The units of `OnFailure=` and `OnSuccess=` become jobs that notifiers run.
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
            "good.service": "[Service]\nExecStart=/bin/good\n",
        ]
        files.merge(more) { $1 }
        let units = Units(files: files)
        let result =
            names.isEmpty
            ? try units.imported("a.timer") : try units.imported("a.timer", "b.timer")
        #expect(try result.faults() == [])
        return result
    }

    @Test func aUnitForFailuresIsAJobOfANotifier() throws {
        let result = try imported("OnFailure=tell@%p.service")
        #expect(result.jobs.map(\.name.description) == ["a", "tell@a"])
        #expect(result.keys().contains("notify = [\"tell@a-on-failure\"]"))
        #expect(
            result.notifiers == [
                ImportedNotifier(
                    "tell@a-on-failure",
                    [
                        TomlEntry("job", .string("tell@a")), TomlEntry("on", .strings(["failure"])),
                        TomlEntry("per-hour", .integer(10_000)),
                    ])
            ])
        let keys = result.keys(of: 1)
        #expect(
            keys.prefix(3) == [
                "command = [\"/bin/tell\", \"a\"]", "on-boot = \"100y\"", "user = \"ops\"",
            ])
        #expect(result.jobs[0].notes.count == 1 && result.jobs[1].notes.isEmpty)
        #expect(result.report.entries.contains { $0.place.file == "/etc/tell@.service" })
    }

    @Test func aUnitForSuccessesIsExact() throws {
        let result = try imported("OnSuccess=good.service")
        #expect(result.exactness == .exact)
        #expect(result.keys().contains("notify = [\"good-on-success\"]"))
    }

    @Test func oneJobServesAll() throws {
        let result = try imported(
            "OnFailure=good.service good.service\nOnSuccess=good.service", [:], "a", "b")
        #expect(result.jobs.map(\.name.description) == ["a", "b", "good"])
        #expect(result.notifiers.map(\.name) == ["good-on-failure", "good-on-success"])
        for index in 0...1 {
            #expect(
                result.keys(of: index).contains(
                    "notify = [\"good-on-failure\", \"good-on-success\"]"))
        }
    }

    /// A timer keeps its name, also if a unit before it starts its service.
    @Test func aTimerKeepsItsName() throws {
        let result = try imported("OnSuccess=b.service", [:], "a", "b")
        #expect(result.jobs.map(\.name.description) == ["a", "b", "b-2"])
        #expect(result.keys().contains("notify = [\"b-2-on-success\"]"))
    }

    @Test(
        arguments: [
            ("OnFailure=gone.service", "there is no gone.service"),
            ("OnFailure=some.target", "only services"), ("OnSuccess=a b.service", "not the name"),
            ("OnFailure=tell@.service", "not the name"),
            ("OnFailure=%Z.service", "unknown specifier"),
            ("OnFailure=root.service", "another root directory"),
            ("OnFailure=fatal.service", "does not load"),
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

    /// timerd refuses a job that a notifier runs if it lets another one run: that could go on for ever.
    @Test func aChainEndsAtItsFirstJob() throws {
        let result = try imported(
            "OnFailure=good.service",
            ["good.service": "[Unit]\nOnFailure=good.service a.service\n[Service]\nExecStart=/x\n"])
        #expect(result.jobs.count == 2)
        #expect(result.jobs[1].value(of: "notify") == nil)
        #expect(result.jobs[1].notes.contains { $0.contains("cannot let another one run") })
    }

    @Test func aJobHasNoMoreNotifiersThanItCan() throws {
        let units = (0..<30).map { "tell@\($0).service" }.joined(separator: " ")
        let result = try imported("OnFailure=\(units)")
        #expect(result.notifiers.count == UnitHandlers.usesMax)
        #expect(result.jobs.count == UnitHandlers.usesMax + 1)
        #expect(result.jobs[0].notes.contains { $0.contains("at most 20 notifiers") })
    }

    @Test func otherVariablesAreNoted() throws {
        let line = "[Service]\nExecStart=/bin/x ${MONITOR_UNIT}\n"
        let result = try imported("OnSuccess=good.service", ["good.service": line])
        #expect(result.jobs[1].notes.contains { $0.contains("TIMERD_NOTIFY_JOB") })
    }
}

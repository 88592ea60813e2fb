// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import Testing

/// What everything passes through stays small: what it remembers is in values with private state,
/// and all work that waits is data. Otherwise each line of it could change everything.
@Suite struct FormTests {
    /// An object that owns a queue, a thread or a process, and the values that it consists of.
    struct Form: CustomTestStringConvertible {
        let name: String
        /// Its folder in a target, with the folders of its values.
        let target: String
        let folders: [String]
        /// The most stored properties, and files of extensions.
        var propertiesMax = 15
        let filesMax: Int
        /// The values, whose state is private.
        let values: [String]

        var testDescription: String { name }

        /// The text of each file.
        func sources() throws -> [(file: URL, text: String)] {
            let target = try Project.folder(of: target)
            return try folders.flatMap { try Project.sources(in: "\(target)/\($0)") }
        }
    }

    static let forms = [
        Form(
            name: "Loop", target: "TimerDaemon", folders: ["Loop"], filesMax: 7,
            values: [
                "ConfigState", "EarlyFiring", "Gate", "Heartbeats", "JobTimers",
                "CommandTransaction", "Portions", "ServiceTimers", "SharedJobs", "StoreProgress",
                "WakeUp", "WriteRouter",
            ]),
        Form(
            name: "RunnerThread", target: "TimerRunner", folders: ["Runner"], filesMax: 8,
            values: [
                "Children", "ControlGroups", "CredentialStore", "EndWatch", "Epoll",
                "EventReporter", "LaunchPolls", "Leftovers", "LineLimits", "OutputReader",
                "PendingCommands", "PendingPreparations", "Retries", "StartBurst", "StartQueue",
                "TimerHeap", "UnfinishedLines",
            ]),
        Form(
            name: "Child", target: "TimerRunner", folders: ["Runner"], filesMax: 0,
            values: ["ChildOutput", "ChildProcess", "SessionProgram", "Termination", "TimeLimit"]),
        Form(
            name: "ServerLoop", target: "TimerRunner", folders: ["Server"], propertiesMax: 16,
            filesMax: 3,
            values: [
                "ConfigReadings", "ConfigRules", "Departure", "JobDefinitions",
                "RuntimeFolderWatch", "ServerSocket", "WaitingRequests",
            ]),
        Form(
            name: "ClientLoop", target: "TimerRunnerClient", folders: [""], filesMax: 1,
            values: [
                "ClientCourse", "KnownRuns", "PendingReplies", "ReceivedMessages", "Receipts",
                "RunnerSearch",
            ]),
        Form(
            name: "FleetMember", target: "TimerFleet", folders: [""], filesMax: 13,
            values: [
                "Absences", "FleetJobs", "FleetOutbox", "FleetRecovery", "FleetSession",
                "FleetView", "FollowedClock", "JobQueue", "KnownStore", "LocalRuns",
                "MemberMemory", "OpenCommands", "StoreContact", "WallClockWatch",
            ]),
        Form(
            name: "Agenda", target: "TimerCore", folders: ["Agenda"], filesMax: 14,
            values: [
                "ClockHistory", "EndWait", "Fifo", "FleetSuspension", "JobAlarms", "JobArchive",
                "JobTable", "OccurrenceProgress", "Reloading", "RunTable", "SlotIndex",
                "StoreHold", "Watching",
            ]),
        Form(
            name: "JobEntry", target: "TimerCore", folders: ["Agenda"], filesMax: 5, values: []),
    ]

    static let values = forms.flatMap { form in form.values.map { (form, $0) } }

    /// The declaration of a type, without those nested in it at a deeper indentation.
    private static func properties(of type: String, in form: Form) throws -> [String] {
        let declaration = try Regex(
            "\\n(?:public |package )?(?:final )?(?:struct|class|actor) \(type)\\b")
        for (_, text) in try form.sources() {
            guard let start = text.firstMatch(of: declaration)?.range else { continue }
            let end = try #require(text[start.upperBound...].range(of: "\n}\n"))
            return stored(text[start.upperBound..<end.lowerBound])
        }
        Issue.record("there is no \(type) beside \(form.name)")
        return []
    }

    /// The lines of a type that declare stored properties.
    private static func stored(_ text: Substring) -> [String] {
        let declared =
            #/ {4}(?:@\w+ )?(?:nonisolated(?:\(unsafe\))? |lazy |weak |public |package |private |(?:private|package|internal)\(set\) |fileprivate )*(?:let|var) \w+.*/#
        let computed = #/var \w+: [^=]*\{.*/#
        return text.split(separator: "\n").filter {
            $0.wholeMatch(of: declared) != nil && !$0.contains(computed)
        }.map { String($0.dropFirst(4).trimmingPrefix(#/@\w+ /#)) }
    }

    @Test(arguments: forms) func itHasFewProperties(form: Form) throws {
        let properties = try Self.properties(of: form.name, in: form)
        #expect(properties.count > 5 && properties.count <= form.propertiesMax, "\(properties)")
    }

    @Test(arguments: forms) func itsFilesAreFewAndShort(form: Form) throws {
        let extensions = try form.sources().filter {
            $0.file.lastPathComponent.hasPrefix("\(form.name)+")
        }
        #expect(extensions.count <= form.filesMax)
        for (file, text) in try form.sources() {
            let name = file.lastPathComponent
            guard name.hasPrefix(form.name) || form.values.contains(where: name.hasPrefix) else {
                continue
            }
            #expect(text.split(separator: "\n").count <= 300, "\(name)")
        }
    }

    @Test(arguments: values) func theStateOfAValueIsPrivate(form: Form, name: String) throws {
        let properties = try Self.properties(of: name, in: form)
        #expect(!properties.isEmpty)
        for property in properties {
            let isPrivate = property.hasPrefix("private") || property.contains(" private(set) ")
            #expect(isPrivate || property.contains(#/^(?:package |public )?let /#), "\(property)")
        }
    }

    /// Deferred work is data, with what it waits for.
    @Test(arguments: forms) func noWorkWaitsInAnArrayOfClosures(form: Form) throws {
        var files = 0
        for (file, text) in try form.sources() {
            files += 1
            let found = text.matches(of: #/(?:let|var) \w+: \[[^\]\n]*->/#)
            #expect(found.map { String(text[$0.range]) } == [], "\(file.lastPathComponent)")
        }
        #expect(files > 5)
    }

    /// Each value of the agenda has a test of its own.
    @Test(arguments: ["Agenda"]) func aValueIsTested(form: String) throws {
        let values = try #require(Self.forms.first { $0.name == form }).values
        for value in values where !["Fifo", "RunTable"].contains(value) {
            let text = try Project.text(of: "Tests/Unit/TimerCoreTests/\(value)Tests.swift")
            #expect(text.contains("\(value)("))
        }
    }

    /// The two schedulers decide by the same rules: neither reads what the rules are about.
    @Test func theRulesAreInOnePlace() throws {
        let fleet = try Project.sources(in: Project.folder(of: "TimerFleet"))
        let agenda = try Project.sources(in: "\(Project.folder(of: "TimerCore"))/Agenda")
        #expect(fleet.count > 20 && agenda.count > 20)
        let words = [
            "startingDeadline", "onMissed", "policy.concurrency", ".isRetried(", "backoff",
            "lateMax", "enum SkipReason",
        ]
        for (file, text) in fleet + agenda {
            for line in text.split(separator: "\n") where !line.contains("///") {
                for word in words {
                    #expect(!line.contains(word), "\(file.lastPathComponent): \(line)")
                }
            }
        }
        let rules = try Project.sources(in: "\(Project.folder(of: "TimerCore"))/Rules")
        for word in words where word != "policy.concurrency" && word != "enum SkipReason" {
            #expect(rules.contains { $0.text.contains(word) }, "\(word)")
        }
    }
}

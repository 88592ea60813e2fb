// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ConfigFolder
import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerConfig

/// Tables `[job."NAME@"]` with `instances`.
@Suite struct TemplateTests {
    private let folder = ConfigFolder()

    private static func template(_ instances: String, _ more: String = "") -> String {
        "[job.\"d@\"]\ninstances = \(instances)\nevery = \"1h\"\nshell = \"dump %i\"\n\(more)\n"
    }

    private static func read(_ text: String) throws -> ConfigReading {
        try ConfigReader.read(Array(text.utf8), file: "f")
    }

    /// Each job and what it runs.
    private static func texts(_ reading: ConfigReading) -> [String] {
        reading.jobSet.jobs.map { job in
            switch job.command {
            case .shell(let line): "\(job.name): \(line)"
            case .arguments(let arguments): "\(job.name): \(arguments.joined(separator: "|"))"
            }
        }
    }

    @Test(arguments: [
        (template("[\"a\", \"b\"]"), ["d@a: dump a", "d@b: dump b"]),
        // The order is that of the list, in the place of the table.
        (
            "[job.x]\nevery = \"1h\"\nshell = \"%i %%\"\n" + template("[\"b\", \"a\"]")
                + "[job.y]\nevery = \"1h\"\nshell = \"y\"\n",
            ["x: %i %%", "d@b: dump b", "d@a: dump a", "y: y"]
        ),
        // Keys of the table of an instance go before those of the template.
        (
            template("[\"a\", \"b\"]") + "[job.\"d@b\"]\nshell = \"other %i, 5%%\"\n",
            ["d@a: dump a", "d@b: other b, 5%"]
        ),
        (
            "[job.\"d@b\"]\ncommand = [\"x\", \"%%i\", \"%i%i\"]\ncalendar = \"daily\"\n"
                + template("[\"a\", \"b\"]"),
            ["d@a: dump a", "d@b: x|%i|bb"]
        ),
        (template("[\"a\"]") + "[job.\"d@a\"]\n", ["d@a: dump a"]),
        // The name of a template may have an @ in it.
        (
            "[job.\"e@f@\"]\ninstances = [\"a\"]\nevery = \"1h\"\nshell = \"%i\"\n"
                + template("[\"x\"]"),
            ["e@f@a: a", "d@x: dump x"]
        ),
    ])
    func aJobIsMadeForEachInstance(text: String, jobs: [String]) throws {
        let reading = try Self.read(text)
        #expect(reading.errors.map(\.description) == [])
        #expect(Self.texts(reading) == jobs)
    }

    @Test func allTextsOfTheListAreReplaced() throws {
        let reading = try Self.read(
            """
            [slot.s-a]
            max = 1
            [slot.w-a]
            max = 2
            [job.j-a]
            every = "1h"
            shell = "true"
            [job."d@"]
            instances = ["a"]
            every = "1h"
            command = ["/x", "%i"]
            description = "of %i"
            environment = { A = "%i", "B" = "%%i" }
            environment-file = "-/e/%i"
            working-directory = "/w/%i"
            stdin = "%i"
            condition = { mounted = ["/m/%i"], path-exists = ["!/p/%i"], command = ["/c", "%i"] }
            credentials = { c = "/k/%i" }
            slots = ["s-%i", { name = "w-%i", weight = 2 }]
            follows = { job = "j-%i" }
            """)
        #expect(reading.errors.map(\.description) == [])
        let job = try #require(reading.jobSet.jobs.last)
        #expect(job.description == "of a" && job.command == .arguments(["/x", "a"]))
        #expect(job.environment == ["A": "a", "B": "%i"] && job.workingDirectory == "/w/a")
        #expect(job.execution.environmentFile == "-/e/a" && job.execution.stdin == "a")
        let condition = try #require(job.execution.condition)
        #expect(condition.mounted.map(\.path) == ["/m/a"] && condition.command == ["/c", "a"])
        #expect(condition.pathExists.map(\.path) == ["/p/a"])
        #expect(job.execution.credentials == ["c": "/k/a"])
        #expect(job.policy.slots.map(\.name.description) == ["s-a", "w-a"])
        #expect(job.follows?.causes.map(\.job.description) == ["j-a"])
    }

    @Test func tablesAreMerged_andNoneRemovesAKeyOfTheTemplate() throws {
        let reading = try Self.read(
            "[defaults]\nenvironment = { Z = \"z\" }\nnice = 1\n"
                + Self.template(
                    "[\"a\", \"b\"]",
                    "environment = { A = \"1\", B = \"%i\" }\nuser = \"root\"\nnice = 2"
                ) + "[job.\"d@b\"]\nenvironment = { A = \"2\" }\nuser = \"none\"\n"
                + "[job.\"d@b\".limits]\nnofile = 10\n")
        #expect(reading.errors.map(\.description) == [])
        let jobs = reading.jobSet.jobs
        #expect(jobs[0].environment == ["A": "1", "B": "a", "Z": "z"])
        #expect(jobs[1].environment == ["A": "2", "B": "b", "Z": "z"])
        #expect(
            jobs.map(\.execution.user) == ["root", nil] && jobs.map(\.execution.nice) == [2, 2])
        let none = try Self.read(
            "[defaults]\nenvironment = { Z = \"z\" }\n"
                + Self.template("[\"b\"]", "environment = { A = \"1\" }")
                + "[job.\"d@b\"]\nenvironment = \"none\"\n")
        #expect(none.errors.isEmpty && none.jobSet.jobs.map(\.environment) == [[:]])
    }

    private static let job = "[job.\"d@\"]\nevery = \"1h\"\nshell = \"x\"\n"

    @Test(arguments: [
        (
            job,
            [
                "f:1:6: job \"d@\": a name that ends in @ is that of a template: add instances = [\"a\", \"b\"], of which each is a job d@a, or take the @ away"
            ]
        ),
        (
            template("[]"),
            [
                "f:2:13: job \"d@\": instances: is empty, so there would be no job; name one, or remove the table"
            ]
        ),
        (
            template("\"a\""),
            [
                "f:2:13: job \"d@\": instances: must be an array of names such as [\"a\", \"b\"], not a string"
            ]
        ),
        (
            template("[\"a b\", \"\", 3, \"\(String(repeating: "x", count: 63))\"]"),
            [
                "f:2:14: job \"d@\": instances: makes the job \"d@a b\": a job name has only letters, digits, '.', '_', '-' and '@'",
                "f:2:21: job \"d@\": instances: an instance must have a name",
                "f:2:25: job \"d@\": instances: must be a string, not an integer",
                "f:2:28: job \"d@\": instances: makes the job \"d@\(String(repeating: "x", count: 63))\": a job name has at most 64 characters",
            ]
        ),
        (
            template("[\"a\", \"b\", \"a\"]"),
            [
                "f:2:24: job \"d@\": instances: \"a\" is in line 2, column 14 already; remove one of them"
            ]
        ),
        (
            "[job.a]\nevery = \"1h\"\nshell = \"x\"\ninstances = [\"a\"]\n",
            [
                "f:4:13: job \"a\": instances: can only be used in a table whose name ends in @, such as [job.\"dump@\"]"
            ]
        ),
        // An error of the template is reported once, in the place of the character.
        (
            template("[\"a\", \"b\"]", "description = \"50% of %s\"\nnise = 3"),
            [
                "f:5:18: job \"d@\": description: in a template % is written as %%, and %i is the name of the instance; nothing else may follow a %",
                "f:6:1: job \"d@a\": unknown key \"nise\" (did you mean \"nice\"?)",
            ]
        ),
        (
            template("[\"a\"]", "environment = { A = \"x%\" }"),
            [
                "f:5:23: job \"d@\": environment: in a template % is written as %%, and %i is the name of the instance; nothing else may follow a %"
            ]
        ),
        (
            template("[\"a\"]") + "[job.\"d@a\"]\nshell = \"date +%F\"\n",
            [
                "f:7:16: job \"d@a\": shell: in a template % is written as %%, and %i is the name of the instance; nothing else may follow a %"
            ]
        ),
        (
            template("[\"a\"]", "user = \"%i\""),
            [
                "f:5:8: job \"d@a\": user: \"%i\" is not a valid name: a letter or '_', then letters, digits, '_' and '-', 31 at most; numbers are refused",
                "f:5:9: job \"d@\": user: %i is not replaced in this key; it is in command, condition, credentials, description, environment, environment-file, follows, shell, slots, stdin, working-directory",
            ]
        ),
        (
            template("[\"a\", \"b\"]", "fleet = \"each\"\ntimezone = \"UTC\""),
            [
                "f:5:9: job \"d@a\": fleet: \"each\" does not go with instances: the job of each machine is named after the machine, as NAME@MACHINE, and could have the name of an instance; use fleet = \"one\", or a table for each job"
            ]
        ),
        (
            template("[\"a\"]") + "[job.\"d@x\"]\nshell = \"x\"\n",
            [
                "f:6:6: job \"d@x\": is not an instance of [job.\"d@\"]; add \"x\" to its instances, or give this job another name"
            ]
        ),
        (
            template("[\"a\"]") + "[job]\n\"d@a\" = 3\n",
            ["f:7:9: job \"d@a\": must be a table, [job.\"d@a\"], not an integer"]
        ),
        (
            template("[\"a\"]") + "[job.e]\nshell = \"x\"\nfollows = { job = \"d@\" }\n",
            [
                "f:8:11: job \"e\": follows: \"d@\" is a template; name the job of one of its instances"
            ]
        ),
    ])
    func anErrorHasItsPlaceAndTheWayOut(text: String, said: [String]) throws {
        let reading = try Self.read(text)
        let found = reading.errors.map(\.description).filter { !$0.contains("[fleet]") }
        #expect(found == said)
        #expect(reading.errorCount == reading.errors.count)
        #expect(reading.jobSet.jobs.allSatisfy { $0.name.description != "d@" })
    }

    /// A job is left out whatever else of its template is right.
    @Test func noJobOfAWrongTemplateRuns() throws {
        for (text, rejected) in [
            (Self.template("[\"a\", \"b\"]", "description = \"%s\""), ["d@a", "d@b"]),
            (Self.template("[\"a\", \"b\"]", "nise = 3"), ["d@a", "d@b"]),
            (
                Self.template("[\"a\", \"b\"]") + "[job.\"d@b\"]\nnise = 3\n", ["d@b"]
            ),
            (Self.template("[\"a b\", \"b\"]") + "[job.\"d@b\"]\nnice = 3\n", ["d@"]),
        ] {
            let reading = try Self.read(text)
            #expect(reading.rejected == rejected, "\(text)")
            #expect(reading.jobSet.jobs.count == (rejected == ["d@b"] ? 1 : 0))
        }
    }

    @Test func equalNamesAreErrorsWithBothPlaces() throws {
        func errors(_ files: [String: String]) throws -> [String] {
            try folder.replace(with: files)
            return try ConfigReader.load(path: folder.main, ownerUID: geteuid()).errors.map {
                $0.description.replacing(folder.path + "/", with: "")
            }
        }
        let job = "[job.\"d@a\"]\nevery = \"1h\"\nshell = \"x\"\n"
        #expect(
            try errors(["main": Self.template("[\"a\"]"), "1": "\n" + job]) == [
                "jobs.d/1.toml:2:6: job \"d@a\": is in timerd.toml:2 already; give one another name"
            ])
        #expect(
            try errors(["main": "", "1": job, "2": Self.template("[\"b\",\n\"a\"]")]) == [
                "jobs.d/2.toml:3:1: job \"d@a\": is in jobs.d/1.toml:1 already; give one another name"
            ])
        #expect(
            try errors(["main": Self.template("[\"a\"]"), "1": Self.template("[\"b\"]")]) == [
                "jobs.d/1.toml:1:6: job \"d@\": is in timerd.toml:1 already; give one another name"
            ])
        #expect(
            try errors([
                "main": Self.template("[\"x@y\"]")
                    + Self.template("[\"y\"]").replacing("d@", with: "d@x@")
            ]) == [
                "timerd.toml:7:14: job \"d@x@y\": is in timerd.toml:2 already; give one another name"
            ])
        // The job of a file that is not parsed again is known, too.
        try folder.replace(with: ["main": "", "1": job, "2": Self.template("[\"b\"]")])
        let before = try ConfigReader.load(path: folder.main, ownerUID: geteuid())
        try folder.write(Self.template("[\"b\", \"a\"]"), to: "2")
        let after = try ConfigReader.load(
            changesSince: before.contents, jobs: { ConfigOrigins(of: before).jobs(of: $0) },
            path: folder.main, ownerUID: geteuid())
        #expect(after.errors.count == 1 && after.unchanged.isEmpty)
    }

    /// The runner reads the same jobs, and a reload of one file has the instances that are left.
    @Test func aReloadRemovesTheJobOfAnInstance_andTheRunnerAgrees() throws {
        let other = "[job.o]\nevery = \"1h\"\nshell = \"x\"\n"
        try folder.replace(with: [
            "main": "[defaults]\nworking-directory = \"/%i\"\n",
            "1": Self.template("[\"a\", \"b\"]"),
            "2": other,
        ])
        let before = try ConfigReader.load(path: folder.main, ownerUID: geteuid())
        #expect(before.jobSet.jobs.map(\.name.description) == ["d@a", "d@b", "o"])
        // A default is no value of the template.
        #expect(before.jobSet.jobs.map(\.workingDirectory) == ["/%i", "/%i", "/%i"])
        try folder.write(Self.template("[\"b\", \"c\"]"), to: "1")
        for computesTimes in [true, false] {
            let origins = ConfigOrigins(of: before)
            let after = try ConfigReader.load(
                changesSince: before.contents, jobs: { origins.jobs(of: $0) }, path: folder.main,
                ownerUID: geteuid(), computesTimes: computesTimes)
            #expect(after.jobSet.jobs.map(\.name.description) == ["d@b", "d@c"])
            #expect(after.unchanged == [folder.path(of: "2")])
            #expect(after.jobSet.jobs[0] == before.jobSet.jobs[1])
            let change = ConfigChange(after, over: origins)
            #expect(
                change.jobSet(keeping: [before.jobSet.jobs[2]])
                    == (try ConfigReader.load(path: folder.main, ownerUID: geteuid()).jobSet))
        }
    }

    @Test func anInstanceAndATemplateHaveAPlaceForEditors() throws {
        try folder.replace(with: [
            "main": "", "1": Self.template("[\"a\",\n\"b\"]") + "[job.\"d@a\"]\nnice = 3\n",
        ])
        func line(_ job: String) throws -> Int? {
            let name = try #require(Job.Name(job))
            return try ConfigReader.place(of: name, path: folder.main, ownerUID: geteuid())?.line
        }
        #expect(try line("d@a") == 7 && line("d@b") == 3 && line("d@") == 1)
        let origins = try ConfigReader.origins(
            of: try #require(Job.Name("d@a")), path: folder.main, ownerUID: geteuid())
        let lines = Dictionary(
            uniqueKeysWithValues: (origins ?? []).map { ($0.key, $0.place?.line) })
        #expect(lines["nice"] == 8 && lines["every"] == 4 && lines["shell"] == 5)
    }

    @Test func aOneOffJobHasNoInstances() throws {
        folder.makeOneOffs()
        for text in [
            "[job.\"o@\"]\nat = \"2099-01-01T00:00:00Z\"\nshell = \"x\"\n",
            "[job.\"o@\"]\ninstances = [\"a\"]\nat = \"2099-01-01T00:00:00Z\"\nshell = \"x\"\n",
        ] {
            try folder.replace(with: ["main": "", "one-off.d/o@": text])
            let reading = try ConfigReader.load(path: folder.main, ownerUID: geteuid())
            #expect(reading.jobSet.jobs.isEmpty && reading.errors.count == 1)
            #expect(
                reading.errors[0].message.hasPrefix("job \"o@\": a one-off job has no instances"))
        }
    }

    /// Many instances are read in proportion, and the limits of jobs and instances hold.
    @Test(.timeLimit(.minutes(1)))
    func thereAreLimits() throws {
        func list(_ count: Int) -> String {
            "[" + (0..<count).map { "\"i\($0)\"" }.joined(separator: ",") + "]"
        }
        let most = try Self.read(Self.template(list(10_000)))
        #expect(most.errors.isEmpty && most.jobSet.jobs.count == 10_000)
        let more = try Self.read(Self.template(list(10_001)))
        #expect(
            more.errors.map(\.message) == [
                "job \"d@\": instances: has 10001 instances; at most 10000"
            ])
        let jobs = try Self.read("[daemon]\njobs-max = 3\n" + Self.template(list(5)))
        #expect(jobs.jobSet.jobs.count == 3 && jobs.errors[0].message.hasPrefix("there are 5 jobs"))
        // Many templates, and many tables that are of none of them.
        let tables = (0..<5000).map { number in
            Self.template("[\"a\"]").replacing("d@", with: "d\(number)@")
                + "[job.\"d\(number)@b\"]\nevery = \"1h\"\nshell = \"x\"\n"
        }
        let many = try Self.read(tables.joined())
        #expect(many.errorCount == 5000 && many.jobSet.jobs.count == 5000)
        let ats = String(repeating: "@", count: 1 << 20)
        #expect(try Self.read("[job.\"\(ats)\"]\n[job.\"\(ats)a\"]\n").rejected.count == 2)
        // An error in each of them is one error.
        let wrong = try Self.read(Self.template(list(10_000), "nice = \"x\""))
        #expect(wrong.errorCount == 1 && wrong.rejected.count == 10_000)
    }
}

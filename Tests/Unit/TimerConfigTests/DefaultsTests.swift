// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ConfigFolder
import Foundation
import Glibc
import Testing
import TimerCore
import TimerJSON

@testable import TimerConfig

/// `[defaults]` of the main file and of the files of `jobs.d`.
@Suite struct DefaultsTests {
    private let folder = ConfigFolder()

    static func job(_ name: String, _ more: String = "") -> String {
        "[job.\(name)]\nshell = \"true\"\nevery = \"1h\"\n\(more)\n"
    }

    /// Reads the files as the scheduler does, and checks that the runner gets the same jobs.
    private func load(_ files: [String: String]) throws -> ConfigReading {
        try folder.replace(with: files)
        let reading = try ConfigReader.load(path: folder.main, ownerUID: geteuid())
        // The runner has jobs whose time zone is wrong, too: it computes no times.
        let wrong = Set(reading.errors.filter { $0.message.contains("zone") }.map(\.job))
        #expect(
            try Self.runs(reading)
                == runsOfRunner().filter { !wrong.contains($0.name.description) })
        return reading
    }

    /// The jobs without their times, which the runner does not compute.
    private static func runs(_ reading: ConfigReading) -> [Job] {
        reading.jobSet.jobs.map { job in
            var job = job
            job.schedule = .onDemand
            return job
        }
    }

    private func runsOfRunner() throws -> [Job] {
        Self.runs(
            try ConfigReader.load(
                changesSince: nil, jobs: { _ in [] }, path: folder.main, ownerUID: geteuid(),
                computesTimes: false))
    }

    /// What a table of cases says of a job.
    private static func text(_ job: Job) -> String {
        let environment = job.environment.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }
        return ([job.name.description, "nice \(job.execution.nice)"] + environment)
            .joined(separator: " ")
    }

    private func errors(_ reading: ConfigReading) -> [String] {
        reading.errors.map { $0.description.replacing(folder.path + "/", with: "") }
    }

    @Test(arguments: [
        // Those of the main file hold for all files.
        (
            [
                "main": "[defaults]\nnice = 3\n" + job("m"), "1": job("a"),
                "2": job("b", "nice = 4"),
            ],
            ["m nice 3", "a nice 3", "b nice 4"]
        ),
        // Those of another file hold for its jobs alone, on top.
        (
            [
                "main": "[defaults]\nnice = 3\nenvironment = { A = \"1\", B = \"1\" }\n",
                "1": "[defaults]\nnice = 5\nenvironment = { B = \"2\" }\n"
                    + job("a", "environment = { C = \"3\" }"),
                "2": job("b"),
            ],
            ["a nice 5 A=1 B=2 C=3", "b nice 3 A=1 B=1"]
        ),
        // Where the table is in the file does not matter.
        (
            ["main": job("m") + "[defaults]\nnice = 3\n", "1": job("a")],
            ["m nice 3", "a nice 3"]
        ),
        // A default can be removed: by a file, and by a job.
        (
            [
                "main": "[defaults]\nenvironment = { A = \"1\" }\nnice = 3\n",
                "1": "[defaults]\nenvironment = \"none\"\n"
                    + job("a", "environment = { C = \"3\" }"),
                "2": job("b", "environment = \"none\"\nnice = 0"),
            ],
            ["a nice 3 C=3", "b nice 0"]
        ),
        // Who made a one-off job has said all that it is.
        (
            [
                "main": "[defaults]\nnice = 3\n",
                "one-off.d/o": "[job.o]\nshell = \"true\"\nat = \"2099-01-01T00:00:00Z\"\n",
            ],
            ["o nice 0"]
        ),
        (["main": "", "1": "[defaults]\nnice = 3\n", "2": job("b")], ["b nice 0"]),
    ])
    func jobsHaveTheDefaultsOfTheirFileOverThoseOfTheMainFile(
        files: [String: String], jobs: [String]
    ) throws {
        folder.makeOneOffs()
        let reading = try load(files)
        #expect(errors(reading) == [])
        #expect(reading.jobSet.jobs.map(Self.text) == jobs)
    }

    /// Of each key that may be in `[defaults]`, the way to be without a default of the main file.
    @Test func eachDefaultCanBeTakenBack() throws {
        let values = [
            "timezone": "\"UTC\"", "dst-gap": "\"skip\"", "dst-overlap": "\"both\"",
            "first": "\"1s\"", "environment": "{ A = \"b\" }", "working-directory": "\"/\"",
            "user": "\"root\"", "group": "\"root\"", "environment-file": "\"/x\"",
            "io-priority": "3", "oom-score": "5",
            "limits": "{ nofile = 10 }", "credentials": "{ a = \"/a\" }",
            "capabilities": "[\"CAP_KILL\"]", "apparmor-profile": "\"x\"",
            "selinux-context": "\"a:b:c\"", "on-resume": "\"next-slot\"", "concurrency-max": "3",
            "condition": "{ ac-power = true }", "on": "[\"x\"]", "prefer": "[\"x\"]",
            "window": "\"22:00-06:00\"",
        ]
        #expect(values.keys.sorted() == JobKey.all.filter(\.isRemoved).map(\.name).sorted())
        let plain = try load(["main": "", "1": Self.job("a")]).jobSet.jobs
        for (key, value) in values {
            let main = "[defaults]\n\(key) = \(value)\n"
            let none = "\(key) = \"none\"\n"
            for file in [Self.job("a", none), "[defaults]\n" + none + Self.job("a")] {
                let reading = try load(["main": main, "1": file])
                #expect(errors(reading) == [] && reading.jobSet.jobs == plain, "\(key)")
            }
        }
        // The others have a value that means the same as no value.
        for key in JobKey.all where key.isDefault && !key.isRemoved {
            let standard = try #require(key.standard()?.text(), "\(key.name)")
            let reading = try load(["main": "[defaults]\n\(key.name) = \(standard)\n"])
            #expect(errors(reading) == [], "\(key.name)")
        }
    }

    @Test(arguments: [
        ("nice = []", "must be a whole number, not an array; without a default it is 0"),
        ("user = []", "must be a string, not an array; \"none\" removes a default"),
        (
            "notify = \"none\"",
            "must be an array such as [\"ops\"], not a string; [] removes a default"
        ),
        ("paused = \"none\"", "must be true or false, not a string; without a default it is false"),
    ])
    func anErrorSaysHowADefaultIsRemoved(line: String, said: String) throws {
        let key = line.prefix { $0 != " " }
        let column = key.count + 4
        let reading = try load(["main": "", "1": Self.job("a", line)])
        #expect(errors(reading) == ["jobs.d/1.toml:4:\(column): job \"a\": \(key): \(said)"])
    }

    // MARK: - Errors

    @Test(arguments: [
        // A job with a value of its own does not have the wrong one.
        (
            [
                "main": "[defaults]\nnice = \"x\"\n" + job("m"),
                "1": job("a") + job("b", "nice = 4"), "2": "[defaults]\nnice = 1\n" + job("c"),
            ],
            [
                "timerd.toml:2:8: [defaults]: nice: must be a whole number, not a string; jobs that would get it are not loaded until it is right"
            ], ["b nice 4", "c nice 1"]
        ),
        // Variables are added to others, so those of the job do not replace the wrong ones.
        (
            [
                "main": "[defaults]\nenvironment = { A = 1 }\n",
                "1": job("a", "environment = { B = \"2\" }"),
                "2": job("b", "environment = \"none\""),
            ],
            [
                "timerd.toml:2:21: [defaults]: environment: must be a string, not an integer; jobs that would get it are not loaded until it is right"
            ], ["b nice 0"]
        ),
        // It is not known what was meant.
        (
            ["main": "[defaults]\nncie = 3\n", "1": job("a", "nice = 4")],
            [
                "timerd.toml:2:1: [defaults]: unknown key \"ncie\" (did you mean \"nice\"?); jobs that would get it are not loaded until it is right"
            ], []
        ),
        (
            ["main": "defaults = 3\n", "1": job("a")],
            [
                "timerd.toml:1:12: defaults: must be a table, [defaults], not an integer; jobs that would get it are not loaded until it is right"
            ], []
        ),
        // What is wrong beside other tables is said at its place in the main file.
        (
            ["main": "[defaults]\nnotify = [\"ops\"]\n", "1": job("a") + job("b", "notify = []")],
            ["timerd.toml:2:10: job \"a\": notify: there is no table [notify.ops]"], ["b nice 0"]
        ),
        (
            [
                "main": "[defaults]\ntimezone = \"Nowhere\"\n",
                "1": job("b") + "[job.a]\nshell = \"true\"\ncalendar = \"daily\"\n",
            ],
            [
                "timerd.toml:2:12: job \"a\": timezone: \"Nowhere\" is not a time zone of this machine; names are such as Europe/Berlin (`timedatectl list-timezones`)"
            ],
            ["b nice 0"]
        ),
        // The job's own value is the one that does not fit.
        (
            [
                "main": "[defaults]\nskip-exit-codes = [3]\n",
                "1": job("a", "success-exit-codes = [0, 3]"),
            ],
            [
                "jobs.d/1.toml:1:6: job \"a\": skip-exit-codes: 3 is in success-exit-codes too; remove it from one of them"
            ], []
        ),
    ])
    func aJobWithAWrongDefaultIsLeftOut(
        files: [String: String], said: [String], jobs: [String]
    ) throws {
        let reading = try load(files)
        #expect(errors(reading) == said)
        #expect(reading.jobSet.jobs.map(Self.text) == jobs)
        let good = files.mapValues { $0.hasPrefix("[defaults]") ? "" : $0 }
        // A reload uses nothing of it if the main file is wrong.
        let before = try load(good.merging(["main": ""]) { $1 })
        let after = try load(files)
        #expect(
            (after.part(over: ConfigOrigins(of: before)) == nil) == said[0].hasPrefix("timerd.toml")
        )
    }

    @Test func theLineOfTheMainFileIsShown() throws {
        let reading = try load([
            "main": "[defaults]\nnotify = [\"ops\"]\n", "1": "# x\n# y\n# z\n" + Self.job("a"),
        ])
        #expect(
            reading.errors.map(\.excerpt) == ["  notify = [\"ops\"]\n           ^"])
    }

    /// A file that is checked alone has the defaults that it will have in its place.
    @Test func aFileThatIsReadAloneHasTheDefaultsOfItsMainFile() throws {
        func check(_ main: String, _ text: String) throws -> ConfigReading {
            try folder.replace(with: ["main": main])
            let surroundings = try ConfigReader.surroundings(
                path: folder.main, ownerUID: geteuid())
            return try ConfigReader.read(Array(text.utf8), file: "new", beside: surroundings)
        }
        let good = try check("[defaults]\nnice = 3\n", Self.job("a"))
        #expect(good.jobSet.jobs.map(Self.text) == ["a nice 3"] && good.errors.isEmpty)
        let bad = try check("[defaults]\nnice = \"x\"\n", Self.job("a"))
        #expect(bad.jobSet.jobs.isEmpty && bad.rejected == ["a"])
        #expect(errors(bad).map { $0.prefix(18) } == ["timerd.toml:2:8: ["])
        let other = try check("[defaults]\nnotify = [\"ops\"]\n", Self.job("a"))
        #expect(errors(other).map { $0.prefix(18) } == ["timerd.toml:2:10: "])
    }

    // MARK: - Changes

    /// What a reload reads after a change, with the jobs of files that it need not parse.
    private func change(
        _ files: [String: String], _ changes: [String: String]
    ) throws -> (jobs: [String], parsed: Int) {
        let before = try load(files)
        let origins = ConfigOrigins(of: before)
        try folder.replace(with: files.merging(changes) { $1 })
        var found: [(jobs: [String], parsed: Int)] = []
        for computesTimes in [true, false] {
            let reading = try ConfigReader.load(
                changesSince: before.contents, jobs: { origins.jobs(of: $0) }, path: folder.main,
                ownerUID: geteuid(), computesTimes: computesTimes)
            let change = ConfigChange(reading, over: origins)
            let known = Dictionary(uniqueKeysWithValues: before.jobSet.jobs.map { ($0.name, $0) })
            let jobSet = change.jobSet(keeping: change.kept.compactMap { known[$0] })
            let all = try ConfigReader.load(path: folder.main, ownerUID: geteuid())
            #expect(jobSet == all.jobSet)
            found.append((jobSet.jobs.map(Self.text), files.count - reading.unchanged.count))
        }
        #expect(found[0] == found[1])
        return found[0]
    }

    @Test func aChangeOfTheDefaultsReachesTheJobsOfUnchangedFiles() throws {
        let files = [
            "main": "[defaults]\nnice = 3\n" + Self.job("m"), "1": Self.job("a"),
            "2": Self.job("b", "nice = 5"),
        ]
        // Another value concerns all files; the same at another line, or another job, does not.
        let other = try change(files, ["main": "[defaults]\nnice = 4\n" + Self.job("m")])
        #expect(other == (["m nice 4", "a nice 4", "b nice 5"], 3))
        let more = try change(
            files, ["main": "# x\n[defaults]\nnice = 3 # y\n" + Self.job("n")])
        #expect(more == (["n nice 3", "a nice 3", "b nice 5"], 1))
        let none = try change(files, ["main": Self.job("m")])
        #expect(none == (["m nice 0", "a nice 0", "b nice 5"], 3))
        // A file that has changed has the defaults of the main file that has not.
        let one = try change(files, ["1": Self.job("c")])
        #expect(one == (["m nice 3", "c nice 3", "b nice 5"], 2))
        let empty = try change(
            files.merging(["main": ""]) { $1 }, ["main": "[defaults]\nnice = 3\n"])
        #expect(empty == (["a nice 3", "b nice 5"], 3))
    }

    @Test(arguments: [
        "environment = { A = \"1\", B = \"2\" }", "environment = { B = \"2\", A = \"1\" }",
        "environment = { AB = \"12\" }", "environment = { A = \"1\" }", "nice = 1", "nice = -1",
        "notify = []", "success-exit-codes = [0, 1]", "success-exit-codes = 0",
        "success-exit-codes = [0]", "paused = true", "paused = false", "retry-backoff = 1.5",
        "retry-backoff = 2", "retry-backoff = 2.0",
    ])
    func valuesAreComparedAsTheyAreWritten(line: String) throws {
        func hash(_ text: String) throws -> Int? {
            try ConfigReader.read(Array(text.utf8), file: "t").contents?.defaults
        }
        let own = try #require(try hash("[defaults]\n\(line)\n"))
        #expect(try hash("\n\n[defaults]\n  \(line) # x\n") == own)
        #expect(try hash("[defaults]\ntimeout = \"1h\"\n\(line)\n") != own)
        #expect(try hash("") != own)
    }

    // MARK: - Where values come from

    @Test func eachValueHasItsPlace() throws {
        try folder.replace(with: [
            "main":
                "[defaults]\nnice = 3\ntimeout = \"1h\"\nenvironment = { A = \"1\", B = \"1\" }\non = [\"x\"]\n",
            "1": "[defaults]\ntimeout = \"2h\"\n\n[defaults.environment]\nB = \"2\"\n"
                + Self.job("a", "retries = 2\nenvironment.C = \"3\""),
            "2": Self.job("b", "fleet = \"one\"\nenvironment = \"none\""),
        ])
        func places(_ job: String) throws -> [String: String] {
            let name = try #require(Job.Name(job))
            let origins = try #require(
                try ConfigReader.origins(of: name, path: folder.main, ownerUID: geteuid()))
            return Dictionary(
                uniqueKeysWithValues: origins.map { origin in
                    guard let place = origin.place else {
                        return (origin.key, "built in \(origin.standard ?? "")")
                    }
                    let file = place.file.dropFirst(folder.path.utf8.count + 1)
                    return (origin.key, "\(place.source) \(file):\(place.line)")
                })
        }
        let a = try places("a")
        #expect(a["nice"] == "defaults timerd.toml:2" && a["timeout"] == "defaults jobs.d/1.toml:2")
        #expect(a["environment.A"] == "defaults timerd.toml:4")
        #expect(a["environment.B"] == "defaults jobs.d/1.toml:5")
        #expect(a["environment.C"] == "job jobs.d/1.toml:10" && a["environment"] == nil)
        #expect(a["retries"] == "job jobs.d/1.toml:9" && a["shell"] == "job jobs.d/1.toml:7")
        #expect(a["retry-delay"]?.hasPrefix("built in \"") == true && a["user"] == "built in ")
        // What no job has that is not of a fleet, and what was not written and is no default.
        #expect(a["on"] == nil && a["command"] == nil)
        let b = try places("b")
        #expect(b["on"] == "defaults timerd.toml:5" && b["environment"] == "job jobs.d/2.toml:5")
        #expect(b["environment.A"] == nil)
        let none = try ConfigReader.origins(
            of: try #require(Job.Name("x")), path: folder.main, ownerUID: geteuid())
        #expect(none == nil)
    }
}

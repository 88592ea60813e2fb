// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerConfig

/// The table `[fleet]`, and the keys of jobs that a fleet shares.
@Suite struct FleetKeysTests {
    private func read(_ text: String) throws -> ConfigReading {
        try ConfigReader.read(Array(text.utf8), file: "t.toml")
    }

    private static let fleet = "[fleet]\nname = \"prod\"\netcd = [\"https://10.0.0.1:2379\"]\n"

    @Test func theTableIsRead_withItsDefaults() throws {
        let least = try read(Self.fleet)
        #expect(least.errors.isEmpty)
        var expected = FleetSettings()
        expected.name = "prod"
        expected.etcd = ["https://10.0.0.1:2379"]
        #expect(least.settings.fleet == expected)
        #expect(expected.lease == .seconds(10) && expected.clockSkewMax == .seconds(1))
        let most = try read(
            """
            [fleet]
            name = "prod"
            machine = "web1"
            labels = ["db", "eu"]
            etcd = ["https://etcd1:2379", "https://[::1]:2379/"]
            ca = "/etc/ca.pem"
            certificate = "/etc/c.pem"
            key = "/etc/k.pem"
            user = "timerd"
            password-file = "/etc/password"
            lease = "5s"
            clock-skew-max = "500ms"
            """)
        #expect(most.errors.isEmpty)
        let fleet = try #require(most.settings.fleet)
        #expect(fleet.machine?.description == "web1" && fleet.labels == ["db", "eu"])
        #expect(fleet.etcd.count == 2 && fleet.ca == "/etc/ca.pem" && fleet.key == "/etc/k.pem")
        #expect(fleet.certificate == "/etc/c.pem" && fleet.user == "timerd")
        #expect(fleet.passwordFile == "/etc/password" && fleet.lease == .seconds(5))
        #expect(fleet.clockSkewMax == .milliseconds(500))
        #expect(try read("").settings.fleet == nil)
    }

    @Test(
        arguments: [
            ("[fleet]\n", "1:2: [fleet]: name, the name of the fleet, is missing"),
            ("[fleet]\nname = \"a\"\n", "1:2: [fleet]: etcd is missing"),
            ("[fleet]\nname = \"a/b\"\n", "2:8: [fleet]: name: \"a/b\" is not a name"),
            ("[fleet]\nnames = \"a\"\n", "unknown key \"names\" (did you mean \"name\"?)"),
            ("[fleet]\netcd = \"x\"\n", "2:8: [fleet]: etcd: must be an array such as"),
            ("[fleet]\netcd = []\n", "2:8: [fleet]: etcd: has 0 addresses; 1 to 16"),
            ("[fleet]\netcd = [\"etcd:2379\"]\n", "2:9: [fleet]: etcd: is not an address"),
            ("[fleet]\netcd = [\"https://etcd\"]\n", "etcd: is not an address"),
            ("[fleet]\netcd = [\"https://:2379\"]\n", "etcd: is not an address"),
            ("[fleet]\netcd = [\"https://a:0\"]\n", "etcd: is not an address"),
            ("[fleet]\netcd = [\"https://a@b:1\"]\n", "etcd: is not an address"),
            ("[fleet]\netcd = [\"https://a:1/x\"]\n", "etcd: is not an address"),
            ("[fleet]\nmachine = \"-\"\n", "machine: the name of a machine begins with a letter"),
            ("[fleet]\nlabels = [\"a b\"]\n", "labels: \"a b\" is not a label"),
            ("[fleet]\nca = \"ca.pem\"\n", "ca: is not an absolute path"),
            ("[fleet]\nlease = \"2s\"\n", "lease: is out of range; from 3 s to 10 min"),
            ("[fleet]\nlease = \"3500ms\"\n", "lease: must be whole seconds"),
            ("[fleet]\nclock-skew-max = \"0s\"\n", "clock-skew-max: is out of range; from 100 ms"),
            (fleet + "key = \"/k\"\n", "1:2: [fleet]: certificate and key go together"),
            (fleet + "user = \"u\"\n", "1:2: [fleet]: user and password-file go together"),
            (
                "[fleet]\nname = \"a\"\nca = \"/c\"\netcd = [\"http://127.0.0.1:2379\"]\n",
                "1:2: [fleet]: certificates need addresses with https://"
            ),
        ])
    func whatIsWrongInTheTableIsTold(text: String, fault: String) throws {
        let errors = try read(text).errors.map(\.description)
        #expect(errors.count == 1)
        #expect(errors.first?.contains(fault) == true, "\(errors)")
    }

    @Test func aJobOfAFleetIsRead() throws {
        let reading = try read(
            Self.fleet + """
                [job.a]
                shell = "x"
                every = "1h"
                fleet = "one"
                [job.b]
                shell = "x"
                calendar = "daily"
                timezone = "UTC"
                fleet = "one"
                on = ["db"]
                prefer = ["web2", "web1"]
                takeover-delay = "500ms"
                on-lost = "retry"
                concurrency = "allow"
                [job.c]
                shell = "x"
                every = "1h"
                """)
        #expect(reading.errors.isEmpty, "\(reading.errors)")
        let jobs = reading.jobSet.jobs
        #expect(jobs[0].fleet == FleetPolicy() && jobs[2].fleet == nil)
        let fleet = try #require(jobs[1].fleet)
        #expect(fleet.labels == ["db"] && fleet.takeoverDelay == .milliseconds(500))
        #expect(fleet.prefer.map(\.description) == ["web2", "web1"] && fleet.onLost == .retry)
        // The fleet does not count runs on several machines.
        #expect(jobs[1].policy.concurrency == .allow && jobs[1].policy.concurrencyMax == nil)
    }

    @Test func defaultsThatAFleetCannotHaveDoNotApplyToItsJobs() throws {
        let reading = try read(
            Self.fleet + """
                [defaults]
                accuracy = "1min"
                random-delay = "1min"
                random-offset = "1min"
                on-resume = "restart"
                concurrency = "queue"
                paused = true
                count = "wall"
                from = "end"
                first = "1s"
                run-environment = ["RUN_A"]
                on = ["db"]
                [job.a]
                shell = "x"
                every = "1h"
                fleet = "one"
                [job.b]
                shell = "x"
                every = "1h"
                """)
        #expect(reading.errors.isEmpty, "\(reading.errors)")
        let (shared, local) = (reading.jobSet.jobs[0], reading.jobSet.jobs[1])
        #expect(shared.policy == Policy() && !shared.paused && shared.count == .wall)
        #expect(shared.from == .start && shared.first == nil)
        #expect(shared.execution.runVariables.isEmpty && shared.fleet?.labels == ["db"])
        #expect(local.policy != Policy() && local.paused && local.fleet == nil)
    }

    @Test(arguments: [
        ("wall", TimeBasis.wall), ("active", .active), ("uptime", .active), ("boottime", .active),
    ])
    func aFleetCountsActiveTimeOrAllTime(word: String, basis: TimeBasis) throws {
        func job(_ defaults: String, _ keys: String) throws -> Job? {
            let job = "[job.a]\nshell = \"x\"\nevery = \"1h\"\nfleet = \"one\"\n"
            return try read(Self.fleet + defaults + job + keys).jobSet.jobs.first
        }
        let line = "count = \"\(word)\"\n"
        // What a fleet cannot count is refused for the job itself, and is no default for it.
        #expect(try job("", line)?.count == (basis.rawValue == word ? basis : nil))
        #expect(try job("[defaults]\n" + line, "")?.count == basis)
    }

    @Test(
        arguments: [
            ("fleet = \"all\"", "fleet: unknown value \"all\"; one of \"one\", \"each\""),
            ("fleet = \"one\"\nafter = \"1h\"", "after does not go with fleet = \"one\": it needs"),
            ("fleet = \"one\"\nfirst = \"1h\"", "first does not go with fleet = \"one\""),
            ("fleet = \"one\"\nfrom = \"end\"", "from: a job of a fleet counts"),
            ("fleet = \"one\"\ncount = \"uptime\"", "count: in a fleet it is \"active\""),
            ("fleet = \"one\"\ncount = \"boottime\"", "or \"wall\", all time"),
            ("fleet = \"one\"\nconcurrency = \"queue\"", "it is \"forbid\" or \"allow\""),
            ("fleet = \"one\"\nconcurrency = \"replace\"", "it is \"forbid\" or \"allow\""),
            ("fleet = \"one\"\non-resume = \"restart\"", "it is \"keep-remaining\" for this"),
            ("fleet = \"one\"\npaused = false", "paused does not go with fleet = \"one\""),
            ("fleet = \"one\"\nrandom-delay = \"1s\"", "random-delay does not go with"),
            ("fleet = \"one\"\nstale-after = \"1d\"", "stale-after does not go with"),
            ("fleet = \"one\"\nrun-environment = [\"RUN_A\"]", "run-environment does not go with"),
            ("fleet = \"one\"\nrun-arguments = [\"a\"]", "run-arguments does not go with"),
            ("fleet = \"one\"\nrenamed-from = \"x\"", "renamed-from does not go with"),
            ("fleet = \"one\"\ntakeover-delay = \"9ms\"", "takeover-delay: is shorter than 100 ms"),
            ("fleet = \"one\"\nprefer = [\"a\", \"a\"]", "prefer: \"a\" is there twice"),
            ("on = [\"db\"]", "on can only be used with fleet"),
            ("on-lost = \"retry\"", "on-lost can only be used with fleet"),
        ])
    func whatAJobOfAFleetCannotHaveIsRefused(keys: String, fault: String) throws {
        let text = Self.fleet + "[job.j]\nshell = \"x\"\n" + keys
        let every = keys.contains("after = \"1h\"") ? "" : "\nevery = \"1h\""
        let errors = try read(text + every).errors.map(\.description)
        #expect(errors.count == 1, "\(errors)")
        #expect(errors.first?.contains(fault) == true, "\(errors)")
    }

    @Test(
        arguments: [
            ("calendar = \"daily\"", "7:9: job \"j\": timezone is missing"),
            ("cron = \"0 3 * * *\"", "7:9: job \"j\": timezone is missing"),
            ("calendar = [\"daily UTC\", \"weekly\"]", "7:9: job \"j\": timezone is missing"),
            ("cron = \"@reboot\"\ntimezone = \"UTC\"", "@reboot does not go with fleet"),
            ("calendar = \"*:*:0.0005 UTC\"", "a calendar event has at most milliseconds"),
            ("calendar = \"daily UTC\"", nil), ("calendar = \"*:*:0.005 UTC\"", nil),
            ("cron = \"0 3 * * *\"\ntimezone = \"UTC\"", nil),
        ])
    func schedulesMustMeanTheSameOnAllMachines(keys: String, fault: String?) throws {
        let text = Self.fleet + "[job.j]\nshell = \"x\"\n\nfleet = \"one\"\n" + keys
        let errors = try read(text).errors.map(\.description)
        #expect(errors.isEmpty == (fault == nil), "\(errors)")
        if let fault { #expect(errors.first?.contains(fault) == true, "\(errors)") }
    }

    @Test func eachMachineHasAJobOfItsOwnName() throws {
        let jobs = try read(
            """
            [fleet]
            name = "prod"
            machine = "web1"
            etcd = ["https://10.0.0.1:2379"]
            [job.backup]
            shell = "x"
            every = "1h"
            fleet = "each"
            on = ["db"]
            [job.report]
            shell = "x"
            every = "1h"
            fleet = "one"
            """
        ).jobSet.jobs
        #expect(jobs.map(\.name.description) == ["backup@web1", "report"])
        #expect(jobs[0].fleet?.template == Job.Name("backup") && jobs[0].fleet?.labels == ["db"])
        #expect(jobs[1].fleet?.template == nil)
    }

    @Test(
        arguments: [
            (
                "prefer = [\"web2\"]",
                "prefer does not go with fleet = \"each\": each machine runs it"
            ),
            ("on-lost = \"retry\"", "on-lost does not go with fleet = \"each\""),
            ("on-isolation = \"stop\"", "on-isolation does not go with fleet = \"each\""),
            ("takeover-delay = \"1s\"", "takeover-delay does not go with fleet = \"each\""),
            ("paused = true", "paused does not go with fleet = \"each\""),
            (
                "[job.\"j@web1\"]\nshell = \"x\"\nevery = \"1h\"",
                "it is \"j@web1\", which is another job"
            ),
        ])
    func whatAJobOfEachMachineCannotHaveIsRefused(keys: String, fault: String) throws {
        let text =
            Self.fleet
            + "machine = \"web1\"\n[job.j]\nshell = \"x\"\nevery = \"1h\"\nfleet = \"each\"\n"
            + keys
        let errors = try read(text).errors.map(\.description)
        #expect(errors.count == 1, "\(errors)")
        #expect(errors.first?.contains(fault) == true, "\(errors)")
    }

    @Test func aNameThatIsTooLongWithItsMachineIsRefused() throws {
        let name = String(repeating: "n", count: 60)
        let text =
            Self.fleet
            + "machine = \"web1\"\n[job.\(name)]\nshell = \"x\"\nevery = \"1h\"\nfleet = \"each\"\n"
        let reading = try read(text)
        #expect(reading.errors.count == 1 && reading.jobSet.jobs.isEmpty)
        #expect(reading.errors.first?.message.contains("it is too long") == true)
    }

    @Test func aJobOfAFleetNeedsTheTable() throws {
        let job = "[job.j]\nshell = \"x\"\nevery = \"1h\"\nfleet = \"one\"\n"
        let errors = try read(job).errors.map(\.description)
        #expect(errors.count == 1)
        #expect(errors[0].contains("4:9: job \"j\": fleet: there is no table [fleet]; add it"))
        #expect(try read(job).jobSet.jobs.isEmpty)
        // The error of the table is enough.
        #expect(try read("[fleet]\n" + job).errors.count == 1)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOHTTP1
import ProjectFiles
import Testing
import TimerControl
import TimerCore
import TimerFleet

@testable import TimerAPI
@testable import TimerDaemon
@testable import TimerRecording

@Suite struct MetricsTests {
    private static let now = Now(
        wall: WallInstant(secondsSinceEpoch: 1_795_000_000), awake: AwakeInstant(nanoseconds: 1),
        boot: BootInstant(nanoseconds: 1), bootID: BootID("0123456789abcdef0123456789abcdef")!)

    func job(_ name: String, _ change: (inout Job) -> Void = { _ in }) -> Job {
        var job = Job(
            name: Job.Name(name)!, command: .shell("true"), schedule: .every(.seconds(60)))
        change(&job)
        return job
    }

    /// A fleet of two machines, of which the other one is drained and has another definition of a job.
    private static let fleet: FleetMeasures = {
        var status = FleetStatus()
        (status.isConnected, status.mayStart) = (true, true)
        status.machines = [("web1", true), ("web2", false)].map { name, isFit in
            FleetStatus.Machine(
                name: MachineName(name)!,
                value: MemberValue(
                    incarnation: Incarnation(boot: .unknown, number: 1), labels: [],
                    definitions: [:], isFit: isFit, skew: -20...250, version: "0.1.0"),
                drifted: isFit ? [] : [Job.Name("report")!])
        }
        return FleetMeasures(fleet: "prod", machine: MachineName("web1")!, status: status)
    }()

    /// A page of these jobs, of which one run each has ended if `hasRun`.
    private func page(
        _ jobs: [Job], max: Int = 1000, hasRun: Bool = true, fleet: FleetMeasures? = fleet
    ) -> MetricsPage {
        let past = RecoveredState(
            instance: 1,
            lastRuns: !hasRun
                ? [:]
                : Dictionary(
                    uniqueKeysWithValues: jobs.map { job in
                        let firing = Firing.ID(job: job.name, scheduled: Self.now.wall)
                        let summary = RunSummary(
                            id: Run.ID(firing: firing), began: Self.now.wall, ended: Self.now.wall,
                            outcome: .exited(0), usage: RunUsage(elapsed: .milliseconds(1500)))
                        return (job.name, summary)
                    }))
        let (agenda, _) = Agenda.load(JobSet(jobs), past, concurrentRunsMax: 64, at: Self.now)
        var states = StateCounts()
        _ = agenda.countStates(from: 0, count: .max, into: &states)
        let measures = Loop.Measures(
            at: Self.now, since: Self.now.wall,
            jobs: agenda.measures(from: 0, count: max, at: Self.now),
            omitted: Swift.max(0, jobs.count - max), states: states, counts: agenda.counts,
            live: 0, liveMax: 64, waitingForCapacity: 0, waitingForSlots: 0, waitingForCondition: 0,
            isHeld: false, rejected: 0,
            isConfigAccepted: true,
            configAccepted: Self.now.wall)
        return MetricsPage(
            measures, ProcessMeasures(), Meters(), StoreMeter.Reading(), fleet: fleet,
            version: "0.1.0")
    }

    private func lines(_ page: MetricsPage, _ format: MetricsFormat = .text) -> [String] {
        String(decoding: page.text(format), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    // MARK: - Numbers and labels

    @Test(
        arguments: [
            (.init(0), "0"), (.init(17), "17"), (.init(-3), "-3"), (.init(true), "1"),
            (.init(UInt64.max), "9223372036854775807"), (.init(Duration.zero), "0"),
            (.init(Duration.seconds(90)), "90"), (.init(Duration.nanoseconds(1)), "0.000000001"),
            (.init(Duration.milliseconds(1500)), "1.5"),
            (.init(Duration.milliseconds(-1500)), "-1.5"),
            (.init(Duration.seconds(100) + .nanoseconds(10)), "100.00000001"),
            (
                .init(WallInstant(microsecondsSinceEpoch: 1_795_371_435_625_228)),
                "1795371435.625228"
            ),
            (.init(WallInstant(secondsSinceEpoch: 1_795_371_430)), "1795371430"),
        ] as [(MetricsText.Number, String)])
    func aNumberIsWrittenExactly(number: MetricsText.Number, text: String) {
        var metrics = MetricsText(.text)
        metrics.begin("x", .gauge, "X.")
        metrics.write(.none, number)
        #expect(String(decoding: metrics.bytes, as: UTF8.self).hasSuffix("timerd_x \(text)\n"))
    }

    /// No label value can begin a line, or a label, of its own.
    @Test func aHostileLabelIsEscaped() {
        var metrics = MetricsText(.text)
        metrics.begin("x", .gauge, "A \\ and a\nline.")
        metrics.write(
            .init([("a", "1\"} 1\ntimerd_y{b=\"\\"), ("ü", "\u{202e}\u{1b}[31m")]), .init(1))
        #expect(
            String(decoding: metrics.bytes, as: UTF8.self) == """
                # HELP timerd_x A \\\\ and a\\nline.
                # TYPE timerd_x gauge
                timerd_x{a="1\\"} 1\\ntimerd_y{b=\\"\\\\",ü="\u{202e}\u{1b}[31m"} 1

                """)
    }

    @Test func aHistogramAddsUp() {
        var histogram = Histogram(bounds: [.milliseconds(500), .seconds(1), .seconds(60)])
        for value in [100, 700, 800, 90_000] { histogram.add(.milliseconds(value)) }
        var metrics = MetricsText(.text)
        metrics.begin("x_seconds", .histogram, "X.")
        metrics.write(.init("name", "a"), histogram)
        #expect(
            String(decoding: metrics.bytes, as: UTF8.self) == """
                # HELP timerd_x_seconds X.
                # TYPE timerd_x_seconds histogram
                timerd_x_seconds_bucket{name="a",le="0.5"} 1
                timerd_x_seconds_bucket{name="a",le="1.0"} 3
                timerd_x_seconds_bucket{name="a",le="60.0"} 3
                timerd_x_seconds_bucket{name="a",le="+Inf"} 4
                timerd_x_seconds_sum{name="a"} 91.6
                timerd_x_seconds_count{name="a"} 4

                """)
    }

    // MARK: - The page

    private static let hostileNames = [
        "a", "_", "0", "A.b-c@d", String(repeating: "x", count: 64), "job", "name", "timerd",
        "a-", "NaN", "Inf", "e1",
    ]

    private var hostileJobs: [Job] {
        Self.hostileNames.map { name in
            job(name) { job in
                job.description = "}\n# TYPE evil counter"
                job.hasDurationHistogram = true
            }
        }
    }

    /// By the rules of the formats: each family is declared once, before its samples, which follow each other, and no
    /// series comes twice.
    @Test(arguments: [MetricsFormat.text, .openMetrics])
    func eachFamilyIsDeclaredOnce_andNoSeriesComesTwice(format: MetricsFormat) throws {
        var declared: [String: String] = [:]
        var helped: Set<String> = []
        var current = ""
        var series: Set<String> = []
        let text = lines(page(hostileJobs), format)
        if format == .openMetrics { #expect(text.last == "# EOF") }
        for line in text where line != "# EOF" {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            if words[0] == "#" {
                #expect(["HELP", "TYPE"].contains(words[1]))
                #expect(words[2].wholeMatch(of: /timerd_[a-z][a-z_]*/) != nil)
                if words[1] == "HELP" {
                    #expect(helped.insert(words[2]).inserted, "\(line)")
                    #expect(words[3].hasSuffix("."), "\(line)")
                } else {
                    #expect(declared.updateValue(words[3], forKey: words[2]) == nil, "\(line)")
                    current = words[2]
                }
                continue
            }
            let sample = try #require(
                line.wholeMatch(
                    of:
                        /([a-z_]+)(\{[a-z]+="(?:[^"\\]|\\.)*"(?:,[a-z]+="(?:[^"\\]|\\.)*")*\})? (-?[0-9.]+)/
                ), "\(line)")
            #expect(series.insert("\(sample.1)\(sample.2 ?? "")").inserted, "\(line)")
            let endings: [String]
            switch (declared[current], format) {
            case ("counter", .openMetrics): endings = ["_total"]
            case ("info", _): endings = ["_info"]
            case ("histogram", _): endings = ["_bucket", "_sum", "_count"]
            default: endings = [""]
            }
            #expect(endings.contains { "\(current)\($0)" == sample.1 }, "\(line)")
            #expect(!line.contains("job=\""), "Prometheus sets this label itself")
        }
        #expect(Set(declared.keys) == helped)
    }

    /// Prometheus' rules for names: base units, and `_total` for counters and nothing else.
    @Test func namesFollowTheRules() throws {
        for line in lines(page(hostileJobs)) where line.hasPrefix("# TYPE") {
            let words = line.split(separator: " ").map(String.init)
            #expect((words[3] == "counter") == words[2].hasSuffix("_total"), "\(line)")
            for unit in ["_ms", "_usec", "milliseconds", "minutes", "kilobytes"] {
                #expect(!words[2].contains(unit), "\(line)")
            }
        }
    }

    @Test func aJobHasAtMost31Series_andOnesThatAreTooManyHaveNone() {
        let jobs = (0..<1500).map { job("j\($0)") }
        let text = lines(page(jobs))
        let ofJobs = text.filter { $0.contains("name=\"") }
        #expect(ofJobs.count <= 31 * 1000)
        #expect(ofJobs.count { $0.contains("name=\"j7\"") } <= 31)
        #expect(ofJobs.allSatisfy { !$0.contains("name=\"j1000\"") })
        #expect(text.contains("timerd_metrics_jobs_omitted 500"))
        #expect(text.contains("timerd_jobs{state=\"armed\"} 1500"))
        let none = lines(page(jobs, max: 0))
        #expect(none.allSatisfy { !$0.contains("timerd_job_") })
        #expect(none.contains("timerd_metrics_jobs_omitted 1500"))
    }

    @Test func aFleetHasSeries_andAMachineWithoutOneHasNone() {
        let text = lines(page([])).filter { $0.hasPrefix("timerd_fleet_") }
        #expect(
            text == [
                "timerd_fleet_info{fleet=\"prod\",machine=\"web1\"} 1", "timerd_fleet_connected 1",
                "timerd_fleet_may_start 1", "timerd_fleet_drained 0", "timerd_fleet_held 0",
                "timerd_fleet_machines{state=\"fit\"} 1",
                "timerd_fleet_machines{state=\"unfit\"} 1",
                "timerd_fleet_jobs_drifted 1",
                "timerd_fleet_clock_skew_seconds{bound=\"min\"} -0.02",
                "timerd_fleet_clock_skew_seconds{bound=\"max\"} 0.25",
            ])
        #expect(lines(page([], fleet: nil)).allSatisfy { !$0.contains("fleet") })
    }

    @Test func whatIsNotKnownIsLeftOut() {
        let text = lines(page([job("new")], hasRun: false))
        #expect(text.contains { $0.hasPrefix("timerd_job_runs_total{name=\"new\",") })
        #expect(!text.contains { $0.hasPrefix("timerd_job_last_") })
        #expect(!text.contains { $0.hasPrefix("timerd_job_pause_start") })
        #expect(text.contains("timerd_job_interval_seconds{name=\"new\"} 60"))
    }

    @Test func theDocumentationHasEachFamily_andNoOther() throws {
        let written = Set(
            lines(page(hostileJobs)).filter { $0.hasPrefix("# TYPE") }
                .map { String($0.split(separator: " ")[2]) })
        let document = try String(
            contentsOf: Project.url(of: "docs/METRICS.md"), encoding: .utf8)
        let documented = Set(
            document.split(separator: "\n").compactMap { line in
                line.firstMatch(of: /^\| `(timerd_[a-z_]+)[`{]/).map { String($0.1) }
            })
        #expect(written.subtracting(documented) == [])
        #expect(documented.subtracting(written) == [])
    }

    // MARK: - Asking

    // MARK: - Gathering
}

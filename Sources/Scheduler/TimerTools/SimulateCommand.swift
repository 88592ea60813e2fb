// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import HostQueues
import TimerConfig
import TimerControl
import TimerCore
import TimerDaemon
import TimerZones

/// `timerd simulate`: shows what a configuration would do, without running anything.
package struct SimulateCommand: ParsableCommand {
    package init() {}

    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Show when the jobs of a configuration would run; nothing is started.",
        discussion: """
            The daemon's own scheduling code runs through the time in between as fast as it can. A time <t> is \
            such as 18:00, tomorrow, "fri 18:00", "2027-03-28 00:00", +2h or 2027-03-28T00:00:00Z; times other than \
            that of --from are relative to that of --from, and the second of two is relative to the first.
            """)

    @OptionGroup var config: ConfigOption

    @Option(
        parsing: .unconditional, help: ArgumentHelp("From when (default: now).", valueName: "t"))
    var from: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Until when (default: a day later).", valueName: "t"))
    var to: String?

    @Option(help: ArgumentHelp("Pause a job for a while.", valueName: "job@t..t"))
    var pause: [String] = []

    @Option(help: ArgumentHelp("Suspend the machine.", valueName: "t..t"))
    var suspend: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            Restart the machine, which is off for a minute; or, with <t>..<t>, from the first <t> to the second.
            """, valueName: "t"))
    var reboot: [String] = []

    @Option(
        help: ArgumentHelp(
            "Set the wall clock forward, or back with <t>=-<span>.", valueName: "t=+span"))
    var step: [String] = []

    @Option(
        help: ArgumentHelp(
            "How long runs take, or with <job>=<span> those of one job (default: no time).",
            valueName: "span"))
    var runTime: [String] = []

    @Option(help: ArgumentHelp("Let all runs of a job fail.", valueName: "job"))
    var fails: [String] = []

    @Flag(help: "Print JSON, one line for each run.")
    var json = false

    func run() throws {
        let zone = (try? ZoneFiles().local()) ?? .utc
        let now = try read { () throws(Clocks.Failure) in try Clocks() }.now().wall
        let times = Times(parser: TimeParser(now: now))
        let start = try from.map { try times.instant($0, "--from", .any) } ?? now
        let end =
            try to.map { try times.from(start).instant($0, "--to", .future) }
            ?? start + .seconds(86_400)
        let reading = try read { () throws(ConfigError) in
            try ConfigReader.load(
                path: config.config, ownerUID: geteuid(), seed: MachineID.seed)
        }
        for error in reading.errors { Output.complain("\(error)") }
        let known = Set(reading.jobSet.jobs.map(\.name))
        let faults = try Faults(self, times.from(start), known)
        let report = SimulationReport(zone: zone, isJSON: json)
        var simulation = Simulation(
            reading.jobSet, from: start, concurrentRunsMax: reading.settings.maxConcurrent,
            seed: MachineID.seed, runTime: faults.runTime, fails: faults.fails
        ) { report.append($0) }
        simulation.run(until: end, faults: faults.list)
        report.finish(reading.jobSet, from: start, to: end)
    }

    private func read<Value, Failure: Error & CustomStringConvertible>(
        _ body: () throws(Failure) -> Value
    ) throws -> Value {
        do throws(Failure) { return try body() } catch {
            Output.complain("\(error)")
            throw ExitCode(1)
        }
    }
}

/// Parses times as people write them, with errors that name the option.
private struct Times {
    let parser: TimeParser

    /// The same, with times relative to another instant.
    func from(_ start: WallInstant) -> Self { Times(parser: parser.relative(to: start)) }

    func instant(
        _ text: some StringProtocol, _ option: String, _ sense: TimeParser.Sense
    ) throws -> WallInstant {
        do throws(TimeParserError) { return try parser.parse(String(text), as: sense) } catch {
            throw ValidationError(error.text(option: option, value: String(text)))
        }
    }

    /// Parses both ends of `T..T`.
    func range(_ text: String, _ option: String) throws -> (from: WallInstant, to: WallInstant) {
        guard let dots = text.firstRange(of: "..") else {
            throw ValidationError("\(option) \"\(text)\": must be T..T, the second after the first")
        }
        let start = try instant(text[..<dots.lowerBound], option, .nowOrFuture)
        return (start, try from(start).instant(text[dots.upperBound...], option, .future))
    }

    func span(_ text: String, _ option: String) throws -> Duration {
        do throws(TimeParserError) {
            return try TimeParser.span(
                text, in: .zero...Duration.microseconds(CommandBody.forUsecMax))
        } catch { throw ValidationError(error.text(option: option, value: text)) }
    }
}

/// The simulated events that the options request, and how the simulated runs end.
private struct Faults {
    var list: [(at: WallInstant, fault: Simulation.SimulatedEvent)] = []
    var runTime: @Sendable (Job.Name) -> Duration
    var fails: Set<Job.Name> = []

    init(
        _ given: SimulateCommand, _ times: Times, _ known: Set<Job.Name>
    ) throws {
        func job(_ text: some StringProtocol, _ option: String) throws -> Job.Name {
            guard let name = Job.Name(String(text)), known.contains(name) else {
                let near = nearestName(String(text), among: known.map(\.description))
                let hint = near.map { " (did you mean \"\($0)\"?)" } ?? ""
                throw ValidationError("\(option): no job is named \"\(text)\"\(hint)")
            }
            return name
        }
        var spans: [Job.Name: Duration] = [:]
        var plain = Duration.zero
        for text in given.runTime {
            let parts = text.split(separator: "=", maxSplits: 1)
            if parts.count == 2 {
                spans[try job(parts[0], "--run-time")] = try times.span(
                    String(parts[1]), "--run-time")
            } else {
                plain = try times.span(text, "--run-time")
            }
        }
        runTime = { [spans, plain] in spans[$0] ?? plain }
        for text in given.fails { fails.insert(try job(text, "--fails")) }
        for text in given.pause {
            guard let at = text.firstIndex(of: "@") else {
                throw ValidationError("--pause \"\(text)\": must be JOB@T..T")
            }
            let name = try job(text[..<at], "--pause")
            let range = try times.range(String(text[text.index(after: at)...]), "--pause")
            list += [(range.from, .pause(name)), (range.to, .resume(name))]
        }
        for text in given.suspend {
            let range = try times.range(text, "--suspend")
            list.append((range.from, .sleep(range.to - range.from)))
        }
        for text in given.reboot {
            if text.contains("..") {
                let range = try times.range(text, "--reboot")
                list.append((range.from, .reboot(range.to - range.from)))
            } else {
                let at = try times.instant(text, "--reboot", .nowOrFuture)
                list.append((at, .reboot(.seconds(60))))
            }
        }
        for text in given.step { list.append(try Self.step(text, times)) }
    }

    private static func step(
        _ text: String, _ times: Times
    ) throws -> (at: WallInstant, fault: Simulation.SimulatedEvent) {
        guard let equal = text.lastIndex(of: "=") else {
            throw ValidationError("--step \"\(text)\": must be T=+SPAN or T=-SPAN")
        }
        let at = try times.instant(text[..<equal], "--step", .nowOrFuture)
        let rest = text[text.index(after: equal)...]
        guard let sign = rest.first, sign == "+" || sign == "-",
            let next = rest.dropFirst().first, next != "+", next != "-"
        else {
            throw ValidationError("--step \"\(text)\": must be T=+SPAN or T=-SPAN")
        }
        let span = try times.span(String(rest.dropFirst()), "--step")
        return (at, .step(sign == "-" ? .zero - span : span))
    }
}

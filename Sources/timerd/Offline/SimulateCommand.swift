// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerConfig
import TimerCore
import TimerZones

/// `timerd simulate`: what a configuration would do, without doing it.
struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Show when the jobs of a configuration would run; nothing is started.",
        discussion: """
            The daemon's own scheduling code runs through the time in between as fast as it can. An instant <t> is \
            one of RFC 3339, or the next time of a calendar event such as "2027-03-28 00:00", by the \
            machine's clock.
            """)

    @OptionGroup var config: ConfigOption

    @Option(help: ArgumentHelp("From when (default: now).", valueName: "t"))
    var from: String?

    @Option(help: ArgumentHelp("Until when (default: a day later).", valueName: "t"))
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
        let times = Times(zone: zone)
        let now = try read { () throws(Clocks.Failure) in try Clocks() }.now().wall
        let start = try times.instant(from, "--from", after: now) ?? now
        let end = try times.instant(to, "--to", after: start) ?? start + .seconds(86_400)
        guard end > start else { throw ValidationError("--to is not after --from") }
        let reading = try read { () throws(ConfigError) in
            try ConfigReader.load(
                path: config.config, ownerUID: geteuid(), seed: MachineID.seed)
        }
        for error in reading.errors { Output.complain("\(error)") }
        let known = Set(reading.roster.jobs.map(\.name))
        let faults = try Faults(self, times, start, known)
        let report = SimulationReport(zone: zone, isJSON: json)
        var simulation = Simulation(
            reading.roster, from: start, concurrentRunsMax: reading.settings.maxConcurrent,
            seed: MachineID.seed, runTime: faults.runTime, fails: faults.fails
        ) { report.take($0) }
        simulation.run(until: end, faults: faults.list)
        report.finish(reading.roster, from: start, to: end)
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

/// Reads instants as people write them.
private struct Times {
    let zone: ZoneRules

    func instant(_ text: String?, _ option: String, after start: WallInstant) throws -> WallInstant?
    {
        guard let text else { return nil }
        if let instant = WallInstant(rfc3339: text) { return instant }
        let spec: CalendarSpec
        do throws(ScheduleError) { spec = try CalendarSpec(text) } catch {
            throw ValidationError(
                "\(option) \"\(text)\": no instant such as 2027-03-28T00:00:00Z, nor a calendar event: "
                    + "\(error)")
        }
        let past = WallInstant(secondsSinceEpoch: 0)
        let before = start - .microseconds(1)
        guard let next = spec.next(after: before, in: zone) ?? spec.next(after: past, in: zone)
        else {
            throw ValidationError("\(option) \"\(text)\" never comes")
        }
        return next
    }

    /// Both ends of `T..T`.
    func range(
        _ text: String, _ option: String, after start: WallInstant
    ) throws -> (from: WallInstant, to: WallInstant) {
        guard let dots = text.firstRange(of: ".."),
            let from = try instant(String(text[..<dots.lowerBound]), option, after: start),
            let to = try instant(String(text[dots.upperBound...]), option, after: from), to > from
        else {
            throw ValidationError("\(option) \"\(text)\": must be T..T, the second after the first")
        }
        return (from, to)
    }

    func span(_ text: String, _ option: String) throws -> Duration {
        do throws(TimeSpanError) {
            if let span = try TimeSpan.parse(text) { return span }
        } catch {
            throw ValidationError("\(option) \"\(text)\": \(error)")
        }
        throw ValidationError("\(option) \"\(text)\" never ends")
    }
}

/// What the options order.
private struct Faults {
    var list: [(at: WallInstant, fault: Simulation.Fault)] = []
    var runTime: @Sendable (Job.Name) -> Duration
    var fails: Set<Job.Name> = []

    init(
        _ given: SimulateCommand, _ times: Times, _ start: WallInstant, _ known: Set<Job.Name>
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
            let range = try times.range(
                String(text[text.index(after: at)...]), "--pause", after: start)
            list += [(range.from, .pause(name)), (range.to, .resume(name))]
        }
        for text in given.suspend {
            let range = try times.range(text, "--suspend", after: start)
            list.append((range.from, .sleep(range.to - range.from)))
        }
        for text in given.reboot {
            if text.contains("..") {
                let range = try times.range(text, "--reboot", after: start)
                list.append((range.from, .reboot(range.to - range.from)))
            } else if let at = try times.instant(text, "--reboot", after: start) {
                list.append((at, .reboot(.seconds(60))))
            }
        }
        for text in given.step { list.append(try Self.step(text, times, start)) }
    }

    private static func step(
        _ text: String, _ times: Times, _ start: WallInstant
    ) throws -> (at: WallInstant, fault: Simulation.Fault) {
        guard let equal = text.lastIndex(of: "="),
            let at = try times.instant(String(text[..<equal]), "--step", after: start)
        else { throw ValidationError("--step \"\(text)\": must be T=+SPAN or T=-SPAN") }
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

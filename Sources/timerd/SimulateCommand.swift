// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import TimerConfig
import TimerCore
import TimerZones

/// `timerd simulate`: what a configuration would do, without doing it.
struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Say when the jobs of a configuration would fire; nothing is run.",
        discussion: """
            The daemon's own agenda is taken through the time in between as fast as it goes. An instant T is \
            one of RFC 3339, or the next time of a calendar event such as "2027-03-28 00:00", by the \
            machine's clock.
            """)

    @Option(
        help: "The configuration file; files in jobs.d beside it are read as well.",
        completion: .file(extensions: ["toml"]))
    var config: String = Standard.config

    @Option(help: "From when (default: now).")
    var from: String?

    @Option(help: "Until when (default: a day later).")
    var to: String?

    @Option(help: ArgumentHelp("Pause a job for a while.", valueName: "JOB@T..T"))
    var pause: [String] = []

    @Option(help: ArgumentHelp("Have the machine sleep.", valueName: "T..T"))
    var suspend: [String] = []

    @Option(
        help: ArgumentHelp(
            "Restart the machine, which is off for a minute, or from the first T to the second.",
            valueName: "T or T..T"))
    var reboot: [String] = []

    @Option(help: ArgumentHelp("Set the calendar clock.", valueName: "T=+SPAN or T=-SPAN"))
    var step: [String] = []

    @Option(help: ArgumentHelp("How long runs take (default: no time).", valueName: "[JOB=]SPAN"))
    var runTime: [String] = []

    @Option(help: ArgumentHelp("Have all runs of a job fail.", valueName: "JOB"))
    var fails: [String] = []

    @Flag(help: "Print JSON, one line for each firing.")
    var json = false

    func run() throws {
        let zone = (try? ZoneFiles().local()) ?? .utc
        let times = Times(zone: zone)
        let now = try read { () throws(Clocks.Failure) in try Clocks() }.now().wall
        let start = try times.instant(from, "--from", after: now) ?? now
        let end = try times.instant(to, "--to", after: start) ?? start + .seconds(86_400)
        guard end > start else { throw ValidationError("--to is not after --from") }
        let reading = try read { () throws(ConfigError) in
            try ConfigReader.load(path: config, ownerUID: geteuid())
        }
        for error in reading.errors { Output.complain("\(error)") }
        let known = Set(reading.roster.jobs.map(\.name))
        let faults = try Faults(self, times, start, known)
        let report = Report(zone: zone, isJSON: json)
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
        _ command: SimulateCommand, _ times: Times, _ start: WallInstant, _ known: Set<Job.Name>
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
        for text in command.runTime {
            let parts = text.split(separator: "=", maxSplits: 1)
            if parts.count == 2 {
                spans[try job(parts[0], "--run-time")] = try times.span(
                    String(parts[1]), "--run-time")
            } else {
                plain = try times.span(text, "--run-time")
            }
        }
        runTime = { [spans, plain] in spans[$0] ?? plain }
        for text in command.fails { fails.insert(try job(text, "--fails")) }
        for text in command.pause {
            guard let at = text.firstIndex(of: "@") else {
                throw ValidationError("--pause \"\(text)\": must be JOB@T..T")
            }
            let name = try job(text[..<at], "--pause")
            let range = try times.range(
                String(text[text.index(after: at)...]), "--pause", after: start)
            list += [(range.from, .pause(name)), (range.to, .resume(name))]
        }
        for text in command.suspend {
            let range = try times.range(text, "--suspend", after: start)
            list.append((range.from, .sleep(range.to - range.from)))
        }
        for text in command.reboot {
            if text.contains("..") {
                let range = try times.range(text, "--reboot", after: start)
                list.append((range.from, .reboot(range.to - range.from)))
            } else if let at = try times.instant(text, "--reboot", after: start) {
                list.append((at, .reboot(.seconds(60))))
            }
        }
        for text in command.step { list.append(try Self.step(text, times, start)) }
    }

    private static func step(
        _ text: String, _ times: Times, _ start: WallInstant
    ) throws -> (at: WallInstant, fault: Simulation.Fault) {
        guard let equal = text.lastIndex(of: "="),
            let at = try times.instant(String(text[..<equal]), "--step", after: start)
        else { throw ValidationError("--step \"\(text)\": must be T=+SPAN or T=-SPAN") }
        let rest = text[text.index(after: equal)...]
        guard let sign = rest.first, sign == "+" || sign == "-" else {
            throw ValidationError("--step \"\(text)\": must be T=+SPAN or T=-SPAN")
        }
        let span = try times.span(String(rest.dropFirst()), "--step")
        return (at, .step(sign == "-" ? .zero - span : span))
    }
}

/// What the simulation tells, as lines of text or JSON, and the sums at the end.
private final class Report {
    private let zone: ZoneRules
    private let isJSON: Bool
    private var output = Output()
    private var fired: [Job.Name: Int] = [:]
    private var letGo: [Job.Name: Int] = [:]

    init(zone: ZoneRules, isJSON: Bool) {
        self.zone = zone
        self.isJSON = isJSON
    }

    private struct Row: Encodable {
        var at: String
        var event: String
        var job: String?
        var scheduled: String?
        var missed: Int?
        var attempt: Int?
        var reason: String?
    }

    func take(_ line: Simulation.Line) {
        switch line {
        case .fault(let fault, let at): write(at, job: nil, Self.words(for: fault), event: "fault")
        case .told(.fired(let run, _, _), let at):
            fired[run.id.firing.job, default: 0] += 1
            let missed = run.firing.missed
            write(
                at, job: run.id.firing.job,
                "fires" + (missed > 0 ? ", \(missed) missed before it" : ""), event: "fired",
                scheduled: run.id.firing.scheduled, missed: missed)
        case .told(.skipped(let firing, let reason), let at):
            letGo[firing.id.job, default: 0] += firing.missed + 1
            let count = firing.missed + 1
            write(
                at, job: firing.id.job,
                "\(count == 1 ? "is" : "\(count) firings are") let go (\(reason.word))",
                event: "skipped", scheduled: firing.id.scheduled, missed: firing.missed,
                reason: reason.word)
        case .told(.retrying(let run, let delay, _), let at):
            write(
                at, job: run.firing.job,
                "failed; attempt \(run.attempt) follows in \(TimeSpan.text(delay))",
                event: "retrying", scheduled: run.firing.scheduled, attempt: run.attempt)
        case .told(.held(let run, _), let at):
            write(at, job: run.id.firing.job, "waits for its last run", event: "held")
        case .told(.clockStepped(_, let isCorrection), let at):
            if isCorrection {
                write(at, job: nil, "the new time counts from here on", event: "correction")
            }
        case .told: break
        }
    }

    private static func words(for fault: Simulation.Fault) -> String {
        switch fault {
        case .pause(let job): "\(job) is paused"
        case .resume(let job): "\(job) is resumed"
        case .sleep(let span): "the machine sleeps for \(TimeSpan.text(span))"
        case .step(let span):
            span < .zero
                ? "the clock is set back by \(TimeSpan.text(.zero - span))"
                : "the clock is set forward by \(TimeSpan.text(span))"
        case .reboot(let span): "the machine goes down for \(TimeSpan.text(span))"
        }
    }

    private func write(
        _ at: WallInstant, job: Job.Name?, _ words: String, event: String,
        scheduled: WallInstant? = nil, missed: Int? = nil, attempt: Int? = nil,
        reason: String? = nil
    ) {
        guard !isJSON else {
            let row = Row(
                at: at.rfc3339, event: event, job: job?.description,
                scheduled: scheduled?.rfc3339, missed: missed, attempt: attempt, reason: reason)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            if let data = try? encoder.encode(row) { output.write(data) }
            return
        }
        output.write(local(at))
        output.write(job.map { "  \($0)  \(words)\n" } ?? "  -- \(words)\n")
    }

    /// `2027-03-28 03:00:00 +02:00`, with a fraction only where there is one.
    private func local(_ instant: WallInstant) -> String {
        let offset = zone.offset(at: instant)
        let text = (instant + .seconds(offset)).rfc3339
        let minutes = abs(offset) / 60
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        var line = String(text.dropLast())
        if let place = line.firstIndex(of: "T") { line.replaceSubrange(place...place, with: " ") }
        return line + (offset < 0 ? " -" : " +") + two(minutes / 60) + ":" + two(minutes % 60)
    }

    func finish(_ roster: Roster, from start: WallInstant, to end: WallInstant) {
        if !isJSON {
            output.write("\n\(local(start)) to \(local(end)):\n")
            for job in roster.jobs {
                let dropped = letGo[job.name].map { ", \($0) let go" } ?? ""
                output.write("  \(job.name): \(fired[job.name] ?? 0) firings\(dropped)\n")
            }
        }
        output.flush()
    }
}

/// Standard output in large pieces.
private struct Output {
    private var bytes: [UInt8] = []

    mutating func write(_ text: String) {
        bytes += text.utf8
        if bytes.count > 1 << 16 { flush() }
    }

    mutating func write(_ line: Data) {
        bytes += line
        bytes.append(UInt8(ascii: "\n"))
        if bytes.count > 1 << 16 { flush() }
    }

    mutating func flush() {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            // Nobody reads on: `timerd simulate | head`.
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        bytes.removeAll(keepingCapacity: true)
    }

    static func complain(_ message: String) {
        let line = Array((message + "\n").utf8)
        _ = Glibc.write(STDERR_FILENO, line, line.count)
    }
}

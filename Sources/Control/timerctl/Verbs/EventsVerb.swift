// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl
import TimerCore

struct EventsVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "What happened to the jobs since the daemon started: each event of its journal.",
        discussion: """
            The daemon keeps the last \(EventQuery.kept) events, whatever its log level and the key log of jobs are. \
            The output of jobs is not among them: see timerctl log. With --json, each event is a line of JSON.
            """)
    static let reading = Reading.all

    /// How long to wait before asking again, in microseconds.
    private static let pause: UInt32 = 500_000
    private static let linesShown = 20

    @OptionGroup var connection: Connection

    @Flag(
        name: .shortAndLong,
        help: "Follow the events, over restarts of the daemon, until interrupted.")
    var follow = false

    @Option(
        name: [.customShort("n"), .customLong("lines")],
        help: ArgumentHelp(
            "How many of the last events to show first, from 0 to \(EventQuery.kept) (default: \(Self.linesShown)).",
            valueName: "count"))
    var lines: Int?

    @Option(
        help: ArgumentHelp("Only events of this job.", valueName: "job"),
        completion: .jobNames, transform: JobArgument.name)
    var job: Job.Name?

    func validate() throws {
        guard (0...EventQuery.kept).contains(lines ?? Self.linesShown) else {
            throw ValidationError("-n: from 0 to \(EventQuery.kept)")
        }
    }

    func run() throws {
        let printer = EventPrinter(isJSON: connection.json, screen: connection.screen)
        var reader = EventReader(job: job, lines: lines ?? Self.linesShown, follows: follow)
        repeat {
            do throws(Connection.Failure) {
                try read(&reader, printer)
            } catch {
                // A daemon that is away is waited for, once it was there.
                guard follow, reader.hasBegun, !error.isUnknown, error != Connection.unexpected
                else { throw error.exit }
                reader.noteAway(error.message).map { printer.note($0) }
            }
            if follow, !reader.resumesAtOnce { usleep(Self.pause) }
        } while follow
    }

    /// Reads one stream until it ends, and remembers where the next one must continue.
    private func read(
        _ reader: inout EventReader, _ printer: EventPrinter
    ) throws(Connection.Failure) {
        let client = connection.client
        try connection.expectRunning(client)
        var state = reader
        defer { reader = state }
        let end: ControlClient.StreamEnd
        do throws(ControlClient.Failure) {
            end = try client.stream(.events(state.query)) { message in
                for item in state.handle(message) { printer.print(item) }
                return !state.isFaulty && !state.resumesAtOnce
            }
        } catch {
            throw Connection.Failure(error)
        }
        if case .refused(let reply) = end { throw Connection.Failure(refusal: reply) }
        guard !state.isFaulty else { throw Connection.unexpected }
    }
}

/// What `timerctl events` shows, one after the other.
enum EventItem: Hashable {
    case event(EventStatus)
    case gap(EventsGap)
    case note(String)
}

/// How far the events were read, over the ends of connections and of the daemon.
struct EventReader {
    private let job: Job.Name?
    private let follows: Bool
    private var start: EventQuery.Start
    private var instance: String?
    private var isAway = false
    /// Whether a message had another form than this version knows.
    private(set) var isFaulty = false
    /// Whether another stream is to be asked for at once: the daemon is another one, and the number was not of it.
    private(set) var resumesAtOnce = false

    init(job: Job.Name?, lines: Int, follows: Bool) {
        self.job = job
        self.follows = follows
        start = .last(lines)
    }

    /// Whether a daemon has answered, so that a lost connection is worth another attempt.
    var hasBegun: Bool { instance != nil }

    /// The query for the next stream: behind what was shown.
    var query: EventQuery { EventQuery(start: start, job: job, follows: follows) }

    /// What there is to be shown of a message.
    mutating func handle(_ message: ServerSentEvent) -> [EventItem] {
        resumesAtOnce = false
        do {
            switch message.event {
            case "hello":
                return handle(try ControlJSON.decode(EventsHello.self, from: message.data))
            case "gap":
                let gap = try ControlJSON.decode(EventsGap.self, from: message.data)
                start = .after(gap.nextNumber - 1)
                return [.gap(gap)]
            case "events":
                let frame = try ControlJSON.decode(EventLines.self, from: message.data)
                if let last = frame.events.last { start = .after(last.number) }
                return frame.events.map { .event($0) }
            // A later version of the daemon may send other messages.
            default: return []
            }
        } catch {
            isFaulty = true
            return []
        }
    }

    private mutating func handle(_ hello: EventsHello) -> [EventItem] {
        isAway = false
        defer { instance = hello.instance }
        guard let instance, instance != hello.instance else {
            // Those that come next are behind this one, also for a job that had none lately.
            if case .last(0) = start { start = .after(hello.number) }
            return []
        }
        start = .after(0)
        resumesAtOnce = true
        return [.note("timerd was restarted; the journal has what happened between")]
    }

    /// The daemon does not answer.
    /// - Returns: what is to be said of it; nil if that was said.
    mutating func noteAway(_ why: String) -> String? {
        resumesAtOnce = false
        defer { isAway = true }
        return isAway ? nil : "timerd does not answer; waiting for it: \(why)"
    }
}

/// What is read of a message with events.
private struct EventLines: Decodable {
    var events: [EventStatus]
}

/// Prints the events of `timerctl events`, as text or as JSON.
struct EventPrinter {
    var isJSON: Bool
    /// Where it is shown.
    var screen = Screen()
    var put: (String) -> Void = { Terminal.put($0 + "\n") }
    var say: (String) -> Void = { Terminal.complain("timerctl: \($0)") }

    func print(_ item: EventItem, now: WallInstant = Terminal.now) {
        switch item {
        case .event(let event):
            guard isJSON else {
                return put(Text.event(event, on: screen, now: now).joined(separator: "\n"))
            }
            put(line(event))
        case .gap(let gap):
            guard isJSON else {
                let count = gap.nextNumber > gap.after ? gap.nextNumber - gap.after - 1 : 0
                return note(
                    count > 0
                        ? "\(plural(Int(clamping: count), "event")) missing here: they came faster than "
                            + "they were read, or were too long ago; the journal has them"
                        : "the daemon has no event \(gap.after); it continues with \(gap.nextNumber)"
                )
            }
            put(line(gap))
        case .note(let what): note(what)
        }
    }

    func note(_ what: String) {
        if isJSON { say(what) } else { put("(\(Printable.text(what)))") }
    }

    private func line(_ value: some Encodable) -> String {
        Printable.json(String(decoding: (try? ControlJSON.encode(value)) ?? [], as: UTF8.self))
    }
}

extension Text {
    static func event(
        _ event: EventStatus, on screen: Screen = Screen(), now: WallInstant
    ) -> [String] {
        let level = event.level.padding(8)
        return screen.lines(
            Printable.text(event.message), after: "\(day(event.time, now)) \(level) ")
    }
}

extension String {
    /// The text with spaces behind it, as wide as this.
    fileprivate func padding(_ width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}

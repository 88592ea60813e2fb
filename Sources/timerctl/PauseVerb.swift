// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore
import TimerZones

struct PauseVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pause jobs without losing any of their elapsed time.",
        discussion: """
            Without --for and --until a job stays paused until it is resumed. The pause survives restarts of the \
            daemon and of the machine, and reloads of the configuration. If a job is already paused, the given \
            options change its pause, and the others stay as they are.
            """)

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobsArgument

    @Option(name: .customLong("for"), help: "How long: a time span such as 2h 30min.")
    var span: String?

    @Option(
        help: """
            Until when: an instant (RFC 3339), or the next time of a calendar event such as 18:00 or \
            "Mon 08:00", by this machine's clock.
            """)
    var until: String?

    @Option(help: "Why it is paused; shown by show and why.")
    var note: String?

    @Flag(help: "Suspend its active runs as well, and their timeouts.")
    var withRun = false

    func validate() throws {
        if span != nil, until != nil {
            throw ValidationError("--for and --until exclude each other")
        }
    }

    func run() throws {
        let body = OrderBody(
            note: note, until: try until.map { try instant($0).rfc3339 },
            forUsec: try span.map { try microseconds($0) }, withRun: withRun ? true : nil)
        try connection.order(.pause, argument.selection, body, done: "paused")
    }

    private func microseconds(_ text: String) throws -> Int64 {
        let span: Duration?
        do throws(TimeSpanError) { span = try TimeSpan.parse(text) } catch {
            throw Connection.fail(2, "--for \"\(text)\": \(error)")
        }
        guard let span, (1...OrderBody.forUsecMax).contains(span.wholeMicroseconds) else {
            throw Connection.fail(
                2,
                "--for \"\(text)\": must be from 1us to 100 years; leave out --for for a pause without an end"
            )
        }
        return span.wholeMicroseconds
    }

    private func instant(_ text: String) throws -> WallInstant {
        if let instant = WallInstant(rfc3339: text) { return instant }
        let spec: CalendarSpec
        do throws(ScheduleError) { spec = try CalendarSpec(text) } catch {
            throw Connection.fail(
                2,
                "--until \"\(text)\": neither an instant such as 2026-12-24T18:00:00Z nor a calendar event: "
                    + "\(error)")
        }
        let zone: ZoneRules
        do throws(ZoneFiles.Failure) {
            let files = ZoneFiles()
            if let name = spec.zoneName {
                zone = try files.rules(named: name)
            } else {
                zone = try files.local()
            }
        } catch {
            throw Connection.fail(2, "--until: \(error)")
        }
        guard let next = spec.next(after: Terminal.now, in: zone) else {
            throw Connection.fail(2, "--until \"\(text)\" never comes")
        }
        return next
    }
}

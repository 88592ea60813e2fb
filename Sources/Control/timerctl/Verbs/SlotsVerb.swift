// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

struct SlotsVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "slots", abstract: "Who holds the slots, and which runs wait for them.",
        discussion: """
            A slot limits how many runs of several jobs are active at the same time: a table [slot.NAME] of the \
            configuration, and `slots` of the jobs.
            """)
    static let reading = Reading.all

    @OptionGroup var connection: Connection

    func run() throws {
        let reply = try connection.ask(ControlRequest.slots, for: SlotsReply.self)
        try connection.show(reply) {
            Text.slots(reply, on: connection.screen)
        }
    }
}

extension Text {
    /// How many holders and waiting runs of a slot are named.
    private static let namedMax = 3

    /// The lines of `timerctl slots`.
    static func slots(_ reply: SlotsReply, on screen: Screen = Screen()) -> String {
        guard !reply.slots.isEmpty else {
            return
                "no slots; a table such as [slot.disk] in the configuration makes one (timerd.toml(5))"
        }
        let rows = reply.slots.map { slot in
            let isFull = slot.taken >= slot.max
            return [
                .init(slot.slot), .init("\(slot.taken) of \(slot.max)", isFull ? .waiting : .plain),
                .init(named(slot.holders.map(holder))),
                .init(named(slot.waiting.map { Run.ID($0)?.firing.job.description ?? $0 })),
            ] as [TextTable.Cell]
        }
        let columns: [TextTable.Column] = [
            .init("SLOT", .ownLine, least: 16), .init("TAKEN"), .init("HELD BY", .wrap, least: 16),
            .init("WAITING", .wrap, least: 12),
        ]
        return TextTable(columns, rows).fitted(to: screen.columns).lines(color: screen.hasColor)
            .joined(separator: "\n")
    }

    private static func holder(_ one: SlotHolder) -> String {
        let weight = one.weight == 1 ? "" : " (\(one.weight))"
        let since = one.began.map { " since \(instant($0))" } ?? ""
        return one.job + weight + since
    }

    /// The first ones, and how many others there are.
    private static func named(_ all: [String]) -> String {
        guard !all.isEmpty else { return "-" }
        let more = all.count - namedMax
        return all.prefix(namedMax).joined(separator: ", ") + (more > 0 ? ", and \(more) more" : "")
    }
}

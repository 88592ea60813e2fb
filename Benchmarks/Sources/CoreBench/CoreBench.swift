// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Workload

/// `CoreBench next EXPRESSIONS ZONE...`, `CoreBench zones EXPRESSIONS` and `CoreBench agenda`.
@main
struct CoreBench {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            switch arguments.first {
            case "next" where arguments.count >= 3:
                let expressions = try Expression.read(arguments[1])
                for zone in arguments[2...] {
                    try NextCase(expressions: expressions, zone: zone).run()
                }
            case "zones" where arguments.count == 2:
                try everyZone(try Expression.read(arguments[1]))
            case "agenda": try AgendaCase().run()
            default:
                throw Failure(
                    "usage: CoreBench next EXPRESSIONS ZONE... | zones EXPRESSIONS | agenda")
            }
        } catch {
            fail("CoreBench", error)
        }
    }

    /// The slowest call over all zones of this machine.
    private static func everyZone(_ expressions: [Expression]) throws {
        var slowest = (ns: 0.0, text: "", zone: "")
        let zones = try Timetable.zoneNames()
        for zone in zones {
            let found = try NextCase(expressions: expressions, zone: zone, steps: 100).slowest()
            if found.ns > slowest.ns { slowest = (found.ns, found.text, zone) }
        }
        report([
            ("case", "next"), ("who", "timerd"), ("class", "slowest"), ("zones", zones.count),
            ("zone", slowest.zone), ("expression", slowest.text), ("worst_ns", slowest.ns),
        ])
    }
}

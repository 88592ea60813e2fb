// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import SeededRandom
import Synchronization
import Testing
import TimerControl
import TimerCore

/// The end of a campaign: what the jobs wrote, compared with the guarantees.
extension KillCampaign {
    func check() {
        let lines = ((try? String(contentsOfFile: stamps, encoding: .utf8)) ?? "")
            .split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        var begun: Set<String> = []
        for line in lines where line.count == 2 && line[1] == "begin" {
            #expect(begun.insert(line[0]).inserted, "\(line[0]) was begun twice")
        }
        #expect(lines.allSatisfy { $0.count == 2 }, "a torn line")
        checkOverlap(lines)
        checkSlots(begun)
        #expect(counted >= least, "\(least - counted) s lost in \(kills) kills")
        #expect(counted <= most, "\(counted - most) s gained")
        checkOrphans()
        print("kills \(kills), runs \(begun.count), slots on record \(outcomes.count)")
    }

    /// `concurrency = "forbid"`: the next run starts when the last one has ended. A run that was
    /// killed from outside has written no end, so only starts while another run is known to be
    /// active are checked.
    private func checkOverlap(_ lines: [[String]]) {
        var running: String?
        var ended: Set<String> = []
        let withEnd = Set(lines.filter { $0[1] == "end" }.map { $0[0] })
        for line in lines where line[0].hasPrefix("slow:") {
            if line[1] == "end" {
                ended.insert(line[0])
                if running == line[0] { running = nil }
            } else {
                if let running, withEnd.contains(running) {
                    Issue.record("\(line[0]) began while \(running) was running")
                }
                running = line[0]
            }
        }
    }

    /// Each second has its run: it was started, or the log says why it was not.
    private func checkSlots(_ begun: Set<String>) {
        func second(_ run: String) -> Int? {
            let instant = run.split(separator: ":").dropFirst().first.map(String.init) ?? ""
            let parser = DateFormatter()
            parser.locale = Locale(identifier: "en_US_POSIX")
            parser.timeZone = TimeZone(identifier: "UTC")
            parser.dateFormat = "yyyyMMdd'T'HHmmss.SSSSSS'Z'"
            return parser.date(from: instant).map { Int($0.timeIntervalSince1970.rounded()) }
        }
        let runs = begun.filter { $0.hasPrefix("slot:") }
        let seconds = Set(runs.compactMap(second))
        #expect(seconds.count == runs.count, "a slot was run twice")
        let recorded = Set(
            outcomes.flatMap { run in
                second(run).map { Array($0...$0 + (standsFor[run] ?? 0)) } ?? []
            })
        guard let first = seconds.min(), let last = seconds.max() else {
            Issue.record("no slot was run")
            return
        }
        let missing = (first...last).filter { !seconds.contains($0) && !recorded.contains($0) }
        #expect(missing.isEmpty, "\(missing.count) of \(last - first + 1) slots are not on record")
        for second in missing { print("missing: \(second)\n\(log(around: second))") }
    }

    /// The log of the daemons from one second before this second to three seconds after it.
    func log(around second: Int) -> String {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.dateFormat = "HH:mm:ss"
        let times = (second - 1...second + 3).map {
            format.string(from: Date(timeIntervalSince1970: Double($0)))
        }
        return daemon.log.split(separator: "\n")
            .filter { line in times.contains { line.contains($0) } }.joined(separator: "\n")
    }

    /// When both have stopped, none of their processes is left. A runner whose scheduler was killed
    /// ends after a minute.
    private func checkOrphans() {
        let deadline = LiveDaemon.now() + 90
        var left: [pid_t] = []
        repeat { left = processes() } while !left.isEmpty && LiveDaemon.now() < deadline
        #expect(left.isEmpty, "processes are left: \(left)")
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// What is known from outside about the holds of the machine during a campaign. All times are of the wall
/// clock, in seconds.
struct HoldRecord {
    /// When the hold was requested that is in force, and when it was known to be.
    var current: (asked: Double, known: Double)?
    /// From when until when the machine was certainly held.
    private(set) var spans: [ClosedRange<Double>] = []
    /// How long it was held at most, and at least.
    private(set) var most = 0.0
    private(set) var least = 0.0

    var isHeld: Bool { current != nil }

    mutating func begin(asked: Double, known: Double) { current = (asked, known) }

    mutating func end(asked: Double, known: Double) {
        guard let begin = current else { return }
        current = nil
        most += known - begin.asked
        guard asked > begin.known else { return }
        least += asked - begin.known
        spans.append(begin.known...asked)
    }
}

/// Holds and releases of the machine, while both processes are killed.
extension KillCampaign {
    private static var now: Double { Date().timeIntervalSince1970 }

    /// A hold or a release whose answer is awaited.
    struct PendingHold {
        let isHold: Bool
        let asked: Double
        let answer: PendingAnswer
    }

    /// Holds the machine or releases it, from another thread.
    func toggleHold() -> PendingHold {
        let isHold = !holds.isHeld
        let answer = PendingAnswer(note: nil)
        let request: ControlRequest = isHold ? .hold(CommandBody()) : .release
        let socket = daemon.socket
        let asked = Self.now
        DispatchQueue.global().async {
            let reply = try? ControlClient(path: socket).send(request)
            answer.set(reply?.status == 200)
        }
        return PendingHold(isHold: isHold, asked: asked, answer: answer)
    }

    /// An acknowledged command applies after any kill; one without an answer does, or does not.
    func settle(_ pending: PendingHold) throws {
        let isAcknowledged = pending.answer.wait()
        let reply = try daemon.ask(.list)
        let isHeld =
            try ControlJSON.decode(JobTable.self, from: Array(reply.text.utf8)).hold != nil
        if isAcknowledged {
            #expect(isHeld == pending.isHold, "an acknowledged hold or release is lost")
        }
        guard isHeld == pending.isHold else { return }
        if isHeld {
            holds.begin(asked: pending.asked, known: Self.now)
        } else {
            holds.end(asked: pending.asked, known: Self.now)
        }
    }

    /// No run was due in a hold, no time counted in it, and nothing ran twice.
    func checkHolds() {
        let lines = ((try? String(contentsOfFile: stamps, encoding: .utf8)) ?? "")
            .split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        let begun = lines.filter { $0.count == 2 && $0[1] == "begin" }.map { $0[0] }
        #expect(Set(begun).count == begun.count, "a run was begun twice")
        for run in begun {
            guard let due = Run.ID(run)?.firing.scheduled else { continue }
            let second = Double(due.microsecondsSinceEpoch) / 1e6
            let span = holds.spans.first { $0.contains(second) }
            #expect(span == nil, "\(run) was due in a hold")
        }
        #expect(!begun.isEmpty && !holds.spans.isEmpty)
        #expect(counted >= least - holds.most, "\(least - holds.most - counted) s lost")
        #expect(counted <= most - holds.least, "\(counted - most + holds.least) s gained")
        print("kills \(kills), holds \(holds.spans.count), runs \(begun.count)")
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import Testing

@testable import TimerCore

/// Random commands in any order from any state, compared with a model that was written from the
/// definitions only.
@Suite struct SequenceTests {
    /// One job as the manual describes it: a phase, a number and a few rules.
    private struct Model {
        var phase = "armed"
        var accrued: Int64 = 0
        var target: Int64
        let span: Int64
        let first: Int64
        let isOnce: Bool
        var fired = 0
        var missed = 0

        mutating func pass(_ span: Int64) { if phase == "armed" { accrued += span } }

        /// Handles the expiry of the timer.
        mutating func ring() {
            guard phase == "armed", accrued >= target else { return }
            fired += 1
            if isOnce {
                phase = "finished"
                accrued = 0
                return
            }
            accrued -= target
            while accrued >= span {
                accrued -= span
                missed += 1
            }
            target = span
        }

        mutating func obey(_ verb: JobCommand.Verb) {
            switch (verb, phase) {
            case (.pause, "armed"): phase = "paused"
            case (.resume, "paused"): phase = "armed"
            case (.start, "stopped"), (.start, "finished"):
                phase = "armed"
                accrued = 0
                target = isOnce ? span : first
            case (.stop, "armed"), (.stop, "paused"), (.stop, "finished"):
                phase = "stopped"
                accrued = 0
            default: break
            }
        }
    }

    /// 300 000 sequences by default, of one to six steps each. Each sequence starts in the state
    /// in which the one before it ended.
    @Test func randomSequencesAgreeWithTheModel() {
        let cases =
            ProcessInfo.processInfo.environment["TIMERD_TEST_CASES"].flatMap { Int($0) }
            ?? 300_000
        var random = SeededRandom()
        var total = 0
        while total < cases { total += sequences(min(10_000, cases - total), &random) }
        print("sequences: \(total)")
    }

    private func sequences(_ count: Int, _ random: inout SeededRandom) -> Int {
        let span = Int64(1 + random.int(below: 20)) * 1_000_000
        let first = Int64(random.int(below: 30)) * 1_000_000
        let isOnce = random.int(below: 4) == 0
        let job =
            isOnce
            ? Job.after(.nanoseconds(span), "j")
            : Job.every(.nanoseconds(span), "j", first: .nanoseconds(first))
        var model = Model(target: isOnce ? span : first, span: span, first: first, isOnce: isOnce)
        var now = World().now
        var (agenda, actions) = Agenda.load(
            JobSet([job]), RecoveredState(instance: 1), concurrentRunsMax: 4, at: now)
        var timer: AwakeInstant?
        var fired = 0
        var missed = 0
        var live: [Run.ID] = []
        func take(_ actions: [Action]) {
            for action in actions {
                switch action {
                case .arm(_, let instant): timer = instant
                case .disarm: timer = nil
                case .begin(let runs, _, _):
                    for run in runs {
                        live.append(run.id)
                        fired += 1
                        missed += run.firing.missed
                    }
                default: break
                }
            }
        }
        take(actions)
        actions = []
        for _ in 0..<count {
            for _ in 0...random.int(below: 6) {
                let choice = random.int(below: 8)
                if choice < 4 {
                    let verb: JobCommand.Verb = [.pause, .resume, .start, .stop][choice]
                    take(
                        agenda.handle(.command(JobCommand(verb, "j", by: .configuration)), at: now))
                    model.obey(verb)
                } else {
                    let step = Int64(random.int(below: 8_000_000))
                    now.awake.nanoseconds += step
                    now.wall.microsecondsSinceEpoch += step / 1000
                    model.pass(step)
                }
                if let due = timer, due <= now.awake {
                    timer = nil
                    take(agenda.handle(.wake("j"), at: now))
                    for run in live {
                        take(agenda.handle(.ended(run, .exited(0), RunUsage()), at: now))
                    }
                    live = []
                }
                model.ring()
            }
            guard agrees(agenda, model, now, timer, fired: fired, missed: missed) else { break }
        }
        return count
    }

    private func agrees(
        _ agenda: Agenda, _ model: Model, _ now: Now, _ timer: AwakeInstant?, fired: Int,
        missed: Int
    ) -> Bool {
        guard let shown = agenda.snapshot(of: "j", at: now) else { return false }
        let expected =
            model.phase == "armed" ? now.awake.nanoseconds + model.target - model.accrued : nil
        let isSame =
            shown.phase.word == model.phase && shown.accrued == .nanoseconds(model.accrued)
            && timer?.nanoseconds == expected && fired == model.fired && missed == model.missed
            && agenda.isCounting == (model.phase == "armed")
        #expect(isSame, "\(shown) with \(String(describing: timer)) against \(model)")
        return isSame
    }

    @Test func aDueQueueBehavesLikeASortedList() {
        var random = SeededRandom()
        var queue = DueQueue<AwakeInstant>()
        var model: [Int: Int64] = [:]
        for _ in 0..<100_000 {
            let slot = random.int(below: 64)
            if random.int(below: 3) == 0 {
                queue.remove(slot)
                model[slot] = nil
            } else {
                let due = Int64(random.int(below: 100))
                queue.set(slot, due: AwakeInstant(nanoseconds: due))
                model[slot] = due
            }
            let first = model.min { ($0.value, $0.key) < ($1.value, $1.key) }
            #expect(queue.first?.slot == first?.key && queue.count == model.count)
            #expect(queue[slot]?.nanoseconds == model[slot])
        }
    }
}

@Suite struct TextTests {
    @Test(arguments: [
        ("backup:20261121T043852.000001Z:1", true), ("backup:20261121T043852.000001Z:0", false),
        ("backup:20261121T043852Z:1", false), ("-x:20261121T043852.000001Z:1", false),
        ("backup:20261321T043852.000001Z:1", false), ("backup:20261121T043852.000001Z:01", false),
    ])
    func readsARunsName(text: String, isOne: Bool) {
        let id = Run.ID(text)
        #expect((id != nil) == isOne)
        if let id { #expect(id.description == text) }
    }

    @Test(arguments: [
        RunOutcome.exited(0), .exited(255), .signalled("SIGKILL"), .timedOut, .replaced, .stopped,
        .spawnFailed(errno: "ENOENT", what: "exec a, b)"), .lost(.reboot), .lost(.daemon),
        .skipped(.exit(75)), .skipped(.condition("mounted /mnt/a (b)")),
    ])
    func readsAnOutcome(outcome: RunOutcome) {
        #expect(RunOutcome(outcome.description) == outcome)
    }

    @Test(arguments: [
        "", "exited()", "exited(x)", "lost(love)", "signalled()", "spawn-failed(x)", "skipped()",
        "skipped", "skipped(75)", "skipped(exit)", "skipped(exit x)", "skipped(condition )",
    ])
    func refusesATextThatIsNotAnOutcome(text: String) { #expect(RunOutcome(text) == nil) }

    @Test(arguments: ["a", "A-1.b_c@d", "_x", String(repeating: "x", count: 64)])
    func takesAName(text: String) { #expect(Job.Name(text)?.description == text) }

    @Test(arguments: [
        "", ".", "-a", "@a", "a b", "a/b", "ä", "a\n", String(repeating: "x", count: 65),
    ])
    func refusesAName(text: String) { #expect(Job.Name(text) == nil) }

    @Test func instantsAreWrittenAndReadBack() {
        var random = SeededRandom()
        for _ in 0..<10_000 {
            let instant = WallInstant(
                microsecondsSinceEpoch: Int64(random.next() % 250_000_000_000_000_000)
                    - 60_000_000_000_000_000)
            #expect(WallInstant(rfc3339: instant.rfc3339) == instant)
            #expect(WallInstant(basicISO8601: instant.basicISO8601) == instant)
        }
        #expect(WallInstant(secondsSinceEpoch: 951_782_400).rfc3339 == "2000-02-29T00:00:00Z")
        #expect(WallInstant(microsecondsSinceEpoch: -1).rfc3339 == "1969-12-31T23:59:59.999999Z")
    }

    @Test func aBootIDIsAUUID() {
        let text = "0123456789abcdef0000000000000001"
        #expect(BootID(text)?.description == text)
        #expect(BootID("01234567-89AB-cdef-0000-000000000001")?.description == text)
        #expect(BootID("0123") == nil && BootID(String(repeating: "g", count: 32)) == nil)
        #expect(BootID("+123456789abcdef0000000000000001") == nil)
    }
}

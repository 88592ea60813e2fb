// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerCore

@testable import TimerFleet

/// What the values of the store look like, and what is refused.
@Suite struct FleetValueTests {
    private static let job = Job.Name("report")!
    private static let web1 = MachineName("web1")!
    private static let boot = BootID("0123456789abcdef0123456789abcdef")!
    private static let inc = Incarnation(boot: boot, number: 7)
    private static let slot = WallInstant(secondsSinceEpoch: 1_793_491_200)
    private static var run: Run.ID { Run.ID(firing: Firing.ID(job: job, scheduled: slot)) }

    private static var fullJob: JobValue {
        JobValue(
            definition: "0af3",
            cursor: slot,
            pause: JobValue.Pause(since: slot, until: slot, by: "ops\n\"x\"", note: "ü\u{1}"),
            firings: 3, active: .seconds(9), accrued: .milliseconds(1), opened: .seconds(4),
            opening: 7, skips: 1,
            live: [
                JobValue.LiveRun(run: run, machine: web1, incarnation: inc, state: .began)
            ])
    }

    private static var fullRun: RunValue {
        var value = RunValue(
            machine: web1, incarnation: inc, nonce: "n1", state: .ended, after: slot, missed: 2,
            claimed: slot)
        value.fence = 99
        value.outcome = .exited(1)
        value.began = slot
        value.ended = slot
        return value
    }

    private func expectSame<Value: FleetValue>(_ value: Value) throws {
        #expect(try Value(text: value.text) == value, "\(value.text)")
    }

    @Test func eachValueIsReadAsItWasWritten() throws {
        try expectSame(IdentityValue(fleet: "f00d", cluster: "c", epoch: 1, adopted: Self.slot))
        try expectSame(ClockValue(time: .seconds(3), by: Self.web1))
        try expectSame(HoldValue(isHeld: false, time: .zero, by: "ops"))
        try expectSame(
            HoldValue(
                isHeld: true, time: .zero, since: Self.slot, released: Self.slot, by: "a",
                note: "b"))
        try expectSame(
            MemberValue(
                incarnation: Self.inc, labels: ["db", "a"], definitions: [Self.job: "0af3"],
                isFit: true, skew: -3...4, version: "1"))
        try expectSame(
            MemberValue(incarnation: Self.inc, definitions: [:], isFit: false, version: "1"))
        try expectSame(
            HoldValue(
                isHeld: false, time: .zero, since: Self.slot, released: Self.slot,
                earlier: .seconds(90), by: "a"))
        try expectSame(JobValue(definition: "", cursor: Self.slot))
        try expectSame(
            JobValue(
                definition: "d", cursor: Self.slot, basis: .wall, active: .seconds(9),
                opened: .seconds(1_793_491_200)))
        try expectSame(Self.fullJob)
        try expectSame(Self.fullRun)
        for state in RunValue.State.allCases where state != .ended && state != .skipped {
            try expectSame(
                RunValue(
                    machine: Self.web1, incarnation: Self.inc, nonce: "", state: state,
                    claimed: Self.slot))
        }
        for reason in SkipKind.allCases where SkipKind(stored: reason.stored) == reason {
            try expectSame(
                RunValue(
                    machine: Self.web1, incarnation: Self.inc, nonce: "", state: .skipped,
                    reason: reason, claimed: Self.slot))
        }
    }

    /// The words are fixed: older versions know no others.
    @Test func theStoreKeepsItsWordsForSkippedFirings() {
        let words: [SkipKind: String] = [
            .paused: "paused", .held: "held", .stillRunning: "overlap", .missed: "missed",
            .deadline: "deadline", .byOrder: "skip-next", .redefined: "redefined",
            .adopted: "adopted", .away: "away",
        ]
        for reason in SkipKind.allCases {
            let word = reason.stored
            #expect(SkipKind(stored: word).map { words[$0] } == word, "\(reason)")
        }
        for (reason, word) in words { #expect(SkipKind(stored: word) == reason) }
        #expect(SkipKind(stored: "still-running") == nil && SkipKind(stored: "by-order") == nil)
    }

    @Test func theTextIsTheSameForEqualValues() {
        #expect(
            JobValue(definition: "0af3", cursor: Self.slot).text
                == #"{"accrued_ns":0,"active_ns":0,"cursor_us":1793491200000000,"def":"0af3","#
                + #""firings":0,"live":[],"opening":0,"phase":"armed","skips":0}"#)
        #expect(
            JobValue(definition: "0af3", cursor: Self.slot, basis: .wall).text
                == #"{"accrued_ns":0,"active_ns":0,"count":"wall","cursor_us":1793491200000000,"#
                + #""def":"0af3","firings":0,"live":[],"opening":0,"phase":"armed","skips":0}"#)
        #expect(
            HoldValue(isHeld: true, time: .zero, since: Self.slot, earlier: .seconds(1), by: "a")
                .text
                == #"{"by":"a","earlier_ns":1000000000,"held":true,"since_us":1793491200000000,"#
                + #""t_ns":0}"#)
        #expect(
            ClockValue(time: .seconds(3), by: Self.web1).text
                == #"{"by":"web1","openings":0,"t_ns":3000000000}"#
        )
    }

    @Test(arguments: [
        ("", "at byte 0"), ("{", "a name is missing"), ("[]", "must be an object"),
        (#"{"openings":0,"t_ns":1}"#, "'by' is missing"),
        (#"{"by":"web1","openings":0,"t_ns":1,"more":1}"#, "unknown member 'more'"),
        (#"{"by":"web1","t_ns":1,"t_ns":1}"#, "appears twice"),
        (#"{"by":"web1","t_ns":-1}"#, "at least 0"),
        (#"{"by":"web1","t_ns":1.0}"#, "whole number"),
        (#"{"by":"web1","t_ns":1e3}"#, "whole number"),
        (#"{"by":"web1","t_ns":01}"#, "a comma or }"),
        (#"{"by":"web1","t_ns":-}"#, "a digit is missing"),
        (#"{"by":"web1","t_ns":9223372036854775808}"#, "whole number"),
        (#"{"by":"web1","t_ns":"1"}"#, "'t_ns' must be"),
        (#"{"by":"web1","t_ns":null}"#, "whole number"),
        (#"{"by":"we/b","openings":0,"t_ns":1}"#, "invalid value"),
        (#"{"by":1,"openings":0,"t_ns":1}"#, "must be a text"),
        (#"{"by":"web1","openings":0,"t_ns":1} x"#, "unexpected text"),
        (#"{"by":"web1","t_ns":[[[[[[[[1]]]]]]]]}"#, "8 nested values"),
        (#"{"by":"\ud800","t_ns":1}"#, "not UTF-8"), (#"{"by":"\x","t_ns":1}"#, "escape"),
        (#"{"by":"\u00"#, "a digit of"), (#"{"by":"web"#, "a text ends"), (#"{"by":"\"#, "escape"),
    ])
    func aTextThatIsNoClockIsRefused(text: String, says: String) {
        do {
            let value = try ClockValue(text: text)
            Issue.record("\(text) is read as \(value)")
        } catch {
            #expect(error.description.contains(says), "\(text): \(error)")
        }
    }

    /// Members that contradict each other.
    @Test func aValueThatContradictsItselfIsRefused() throws {
        let ended = Self.fullRun.text
        for (old, new) in [
            (#""state":"ended""#, #""state":"began""#), (#""outcome":"exited(1)","#, ""),
            (#""missed":2"#, #""missed":2,"reason":"paused""#),
            (#""state":"ended""#, #""state":"over""#), (#""nonce":"n1","#, ""),
        ] {
            let text = ended.replacing(old, with: new)
            #expect(text != ended, "\(old)")
            #expect(throws: FleetFault.self, "\(text)") { try RunValue(text: text) }
        }
        let paused = Self.fullJob.text
        for (old, new) in [
            (#""phase":"paused""#, #""phase":"armed""#), (#""skips":1"#, #""skips":-1"#),
            (#""firings":3"#, #""firings":9223372036854775807"#),
            (#""state":"began""#, #""state":"ended""#),
            (#""state":"began""#, #""state":"began","x":1"#),
            (#""by":"#, #""x":1,"by":"#), (#""def":"#, #""count":"uptime","def":"#),
            (#""def":"#, #""count":true,"def":"#), (#""def":"#, #""basis":"wall","def":"#),
        ] {
            let text = paused.replacing(old, with: new)
            #expect(text != paused, "\(old)")
            #expect(throws: FleetFault.self, "\(text)") { try JobValue(text: text) }
        }
    }

    @Test(arguments: [
        #"{"by":"a","earlier_ns":-1,"held":true,"t_ns":0}"#,
        #"{"by":"a","earlier_ns":"1","held":true,"t_ns":0}"#,
        #"{"by":"a","earlier_us":1,"held":true,"t_ns":0}"#,
    ])
    func aHoldThatCannotBeReadIsRefused(text: String) {
        #expect(throws: FleetFault.self) { try HoldValue(text: text) }
    }

    @Test func changedTextsNeverEndTheProcess() {
        var random = SeededRandom()
        var wall = Self.fullJob
        wall.basis = .wall
        let texts = [wall.text, Self.fullRun.text].map { Array($0.utf8) }
        var refused = 0
        for _ in 0..<20_000 {
            var bytes = texts[random.int(below: 2)]
            for _ in 0...random.int(below: 3) where !bytes.isEmpty {
                let place = random.int(below: bytes.count)
                switch random.int(below: 4) {
                case 0: bytes[place] = UInt8(random.int(below: 256))
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(bytes[random.int(below: bytes.count)], at: place)
                default: bytes.removeLast(bytes.count - place)
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            // What is accepted is written in one form only.
            if let job = try? JobValue(text: text) {
                #expect((try? JobValue(text: job.text)) == job)
            } else if let run = try? RunValue(text: text) {
                #expect((try? RunValue(text: run.text)) == run)
            } else {
                refused += 1
            }
        }
        #expect(refused > 5_000)
    }

    @Test func theLargestValueIsRead_andAHugeOneRefused() throws {
        var hold = HoldValue(isHeld: true, time: .zero, since: nil, earlier: .zero, by: "a")
        let rest = hold.text.utf8.count - 1
        hold.by = String(repeating: "x", count: FleetFields.bytesMax - rest)
        #expect(try HoldValue(text: hold.text) == hold)
        hold.by += "x"
        #expect(throws: FleetFault.self) { try HoldValue(text: hold.text) }
    }

    @Test(arguments: [
        (FleetKey.identity, "identity"), (.clock, "clock"), (.hold, "hold"),
        (.member(web1), "member/web1"), (.job(job), "job/report"),
        (.run(run), "run/report/20261101T000000.000000Z:1"),
    ])
    func keys(key: FleetKey, name: String) {
        #expect(key.path(in: "prod") == "/timerd/prod/\(name)")
        #expect(FleetKey(path: "/timerd/prod/\(name)", in: "prod") == key)
    }

    @Test(arguments: [
        "", "/timerd/prod", "/timerd/prod/", "/timerd/prod/clock/", "/timerd/prod/clocks",
        "/timerd/test/clock", "/timerd/prod/member", "/timerd/prod/member/", "clock",
        "/timerd/prod/member/a/b", "/timerd/prod/job/-", "/timerd/prod/run/report",
        "/timerd/prod/run/report/20261101T000000.000000Z:0",
        "/timerd/prod/run/report/20261101T000000Z:1", "/timerd/prod/run/report/x:1",
    ])
    func otherKeysAreRefused(path: String) {
        #expect(FleetKey(path: path, in: "prod") == nil)
    }

    @Test(arguments: [
        "", "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef:-1",
        "0123456789abcdef0123456789abcdef:01", "x:1", "0123456789abcdef0123456789abcdef:1:1",
    ])
    func otherIncarnationsAreRefused(text: String) {
        #expect(Incarnation(text) == nil)
        #expect(Incarnation(Self.inc.description) == Self.inc)
    }
}

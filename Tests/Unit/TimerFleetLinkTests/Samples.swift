// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import TimerCore
import TimerFleet

@testable import TimerFleetLink

/// Values of messages: all kinds of them, and random ones.
enum Samples {
    static let run = Run.ID("backup:20261121T043852.000000Z:2")!
    static let keys: [FleetKey] = [
        .identity, .clock, .hold, .member(MachineName("web1")!), .job(Job.Name("backup")!),
        .run(run),
    ]
    static let value = Versioned("{\"a\":\"ä\\n\"}", created: 7, modified: .max)
    static let reads: [FleetKey: Versioned<String>?] = [
        .clock: value, .hold: nil,
        .run(run): Versioned("", created: .min, modified: 0),
    ]
    static let transaction = FleetTransaction(
        compares: [
            .modified(.hold, 0), .lease(keys[3], LeaseID(-5)), .text(.identity, "{}\u{0}"),
        ],
        branches: [
            .init(
                compares: [.modified(keys[4], .max)],
                changes: [
                    .put(keys[4], "x", lease: nil), .put(keys[3], "", lease: LeaseID(1)),
                    .delete(keys[5]),
                ], reads: keys), .init(compares: [], changes: [], reads: []),
        ], reads: [.hold])

    static let requests: [FleetRequest] = [
        .hello(version: FleetWire.version, fleet: "prod"), .openLease(seconds: 1),
        .openLease(seconds: 86_400), .keepAlive(LeaseID(.min)), .endLease(LeaseID(9)),
        .load(number: .max), .send(0, FleetTransaction(branches: [])), .send(.max, transaction),
    ]

    static let answers: [FleetAnswer] = [
        FleetAnswer(cluster: "", revision: 0, branches: []),
        FleetAnswer(
            cluster: "cdf818194e3a8c32", revision: .max,
            branches: [.applied, .refused([:]), .refused(reads)]),
        FleetAnswer(cluster: "1", revision: 5, branches: [], reads: reads),
    ]

    static let reports: [FleetReport] =
        [
            .welcome(version: FleetWire.version), .refused("another timerd is connected"),
            .leased(LeaseID(1), sent: BootInstant(nanoseconds: .max)),
            .kept(LeaseID(2), sent: BootInstant(nanoseconds: 3)), .leaseLost(LeaseID(3)),
            .dated(
                endpoint: "https://10.0.0.1:2379", date: .max,
                sent: WallInstant(microsecondsSinceEpoch: -1)),
            .leaseUnanswered(LeaseID(4)), .leaseUnanswered(nil), .leaseEnded(LeaseID(5)),
            .values([]), .values([FleetEntry(keys[5], value), FleetEntry(.clock, value)]),
            .loaded(number: 1, cluster: "ab", revision: 9, log: nil),
            .loaded(
                number: 1, cluster: "ab", revision: 9,
                log: FleetLog(entries: (1 << 53) - 1, revision: 9)),
            .changed(number: .max, cluster: "ab", revision: 10, reads), .watchLost(number: 2),
            .unknown(-1), .status(FleetLinkStatus(isRunning: true)),
            .status(
                FleetLinkStatus(
                    isRunning: true, endpoint: "https://10.0.0.1:2379", cluster: "ab",
                    version: "3.4.23", problem: "no connection")), .alive,
        ] + answers.map { .answered(7, $0) }
}

extension SeededRandom {
    mutating func text() -> String {
        let scalars: [Unicode.Scalar] = ["a", "\u{0}", "ä", "\u{1f550}", "\"", "\n"]
        return String(
            String.UnicodeScalarView(
                (0..<int(below: 20)).map { _ in scalars[int(below: scalars.count)] }))
    }

    mutating func number() -> Int64 {
        [0, 1, -1, .max, .min, Int64(bitPattern: next())][int(below: 6)]
    }

    mutating func key() -> FleetKey {
        if int(below: 2) == 0 { return Samples.keys[int(below: Samples.keys.count)] }
        return int(below: 2) == 0
            ? .job(Job.Name("job\(int(below: 1000))")!)
            : .run(
                Run.ID(
                    firing: Firing.ID(
                        job: Job.Name("job\(int(below: 1000))")!,
                        scheduled: WallInstant(
                            microsecondsSinceEpoch: Int64(next() >> 12))),
                    attempt: 1 + int(below: 9)))
    }

    mutating func reads() -> FleetAnswer.Reads {
        var reads: FleetAnswer.Reads = [:]
        for _ in 0..<int(below: 5) {
            reads[key()] = .some(
                int(below: 3) == 0
                    ? nil : Versioned(text(), created: number(), modified: number()))
        }
        return reads
    }

    mutating func branch() -> FleetTransaction.Branch {
        var branch = FleetTransaction.Branch(compares: [], changes: [], reads: [])
        for _ in 0..<int(below: 4) {
            branch.compares.append(
                int(below: 2) == 0 ? .modified(key(), number()) : .text(key(), text()))
            branch.changes.append(
                int(below: 2) == 0
                    ? .delete(key())
                    : .put(key(), text(), lease: int(below: 2) == 0 ? nil : LeaseID(number() | 1)))
            branch.reads.append(key())
        }
        return branch
    }

    mutating func request() -> FleetRequest {
        guard int(below: 2) == 0 else {
            return Samples.requests[int(below: Samples.requests.count)]
        }
        let whole = branch()
        return .send(
            Int(number()),
            FleetTransaction(
                compares: whole.compares, branches: (0..<int(below: 5)).map { _ in branch() },
                reads: whole.reads))
    }

    mutating func report() -> FleetReport {
        switch int(below: 4) {
        case 0: return Samples.reports[int(below: Samples.reports.count)]
        case 1:
            return .changed(
                number: next(), cluster: text(), revision: number(), reads())
        case 2:
            return .values(
                (0..<int(below: 9)).map { _ in
                    FleetEntry(key(), Versioned(text(), created: number(), modified: number()))
                })
        default:
            return .answered(
                Int(number()),
                FleetAnswer(
                    cluster: text(), revision: number(),
                    branches: (0..<int(below: 9)).map { _ in
                        int(below: 2) == 0 ? .applied : .refused(reads())
                    }, reads: reads()))
        }
    }
}

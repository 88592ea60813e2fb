// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore
import TimerFleet

/// Who starts a job.
@Suite struct FleetRankTests {
    private static let job = Job.Name("report")!

    private static func member(
        _ labels: Set<String> = [], definition: String = "d", isFit: Bool = true
    ) -> MemberValue {
        MemberValue(
            incarnation: Incarnation(boot: .unknown, number: 1), labels: labels,
            definitions: [job: definition], isFit: isFit, version: "1")
    }

    private static func members(_ names: [String]) -> [MachineName: MemberValue] {
        Dictionary(uniqueKeysWithValues: names.map { (MachineName($0)!, member()) })
    }

    @Test func onlyMachinesThatMayStartItAreInTheOrder() {
        let members = [
            MachineName("fit")!: Self.member(["db", "x"]),
            MachineName("unfit")!: Self.member(["db"], isFit: false),
            MachineName("drifted")!: Self.member(["db"], definition: "e"),
            MachineName("unlabelled")!: Self.member(["x"]),
        ]
        let order = FleetRank.order(
            of: Self.job, definition: "d", labels: ["db"], among: members)
        #expect(order == [MachineName("fit")!])
        #expect(FleetRank.order(of: Job.Name("other")!, definition: "d", among: members).isEmpty)
        #expect(FleetRank.order(of: Self.job, definition: "d", among: [:]).isEmpty)
    }

    @Test func preferredMachinesComeFirst_inTheirOrder() {
        let members = Self.members(["a", "b", "c", "d"])
        let prefer = ["d", "x", "b"].map { MachineName($0)! }
        let order = FleetRank.order(
            of: Self.job, definition: "d", prefer: prefer, among: members)
        #expect(order.prefix(2) == [MachineName("d")!, MachineName("b")!])
        #expect(order.count == 4)
    }

    @Test func aMachineThatLeavesChangesNothingForTheJobsOfTheOthers() {
        let all = (1...5).map { MachineName("web\($0)")! }
        var owned: [MachineName: Int] = [:]
        for number in 0..<2000 {
            let job = Job.Name("job\(number)")!
            func order(_ machines: [MachineName]) -> [MachineName] {
                machines.sorted { _, _ in false }.isEmpty
                    ? []
                    : FleetRank.order(
                        of: job, definition: "d",
                        among: Dictionary(
                            uniqueKeysWithValues: machines.map { machine in
                                var member = Self.member()
                                member.definitions = [job: "d"]
                                return (machine, member)
                            }))
            }
            let full = order(all)
            owned[full[0], default: 0] += 1
            #expect(order(all.filter { $0 != full[2] }) == full.filter { $0 != full[2] })
        }
        for machine in all { #expect((300...500).contains(owned[machine] ?? 0), "\(owned)") }
    }
}

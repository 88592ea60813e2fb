// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import HostThreads
import Testing
import TimerCore

@testable import TimerDaemon

/// In which order long work is done, and when it yields.
@Suite struct PortionsTests {
    /// Work with a name. The test itself says what its portions lead to.
    private final class Work: LongWork {
        let name: String
        var restarts = 0

        init(_ name: String) { self.name = name }

        func advance(on loop: isolated Loop) -> PortionResult { .finished }
        func restart() { restarts += 1 }
    }

    private func instant(_ microseconds: Int) -> AwakeInstant {
        AwakeInstant(nanoseconds: 1_000_000_000) + .microseconds(microseconds)
    }

    private func portions(_ works: [(String, Portions.Kind)]) -> Portions {
        var portions = Portions()
        for (name, kind) in works { portions.add(Work(name), as: kind, at: instant(0)) }
        return portions
    }

    /// The names of the works whose portions are done in a turn in which each portion takes this long.
    private func turn(
        _ portions: inout Portions, portion: Int = 100, isReloading: Bool = false
    ) -> [String] {
        var names: [String] = []
        portions.beginTurn(at: instant(0))
        while names.count < 100,
            let (_, work) = portions.takeNext(
                at: instant(names.count * portion), isReloading: isReloading)
        {
            names.append((work as? Work)?.name ?? "")
        }
        return names
    }

    @Test func aTurnEndsAfterItsTime_andEachHasAPortionAtLeast() {
        var portions = portions([("list", .list)])
        #expect(turn(&portions).count == 5)
        #expect(turn(&portions, portion: 10_000) == ["list"])
        portions.finish(.list)
        #expect(turn(&portions).isEmpty)
    }

    @Test func kindsTakeTurns_andWorksOfAKindAreDoneOneAfterTheOther() {
        var portions = portions([("a", .list), ("b", .list), ("c", .preview), ("d", .timers)])
        #expect(turn(&portions, portion: 85) == ["d", "a", "c", "d", "a", "c"])
        portions.finish(.list)
        portions.finish(.timers)
        #expect(turn(&portions, portion: 125) == ["b", "c", "b", "c"])
    }

    @Test func oneTurnIsPlannedAtATime_whileThereIsWorkToDo() {
        var portions = portions([])
        #expect(plans(&portions) == false)
        portions.add(Work("a"), as: .list, at: instant(0))
        #expect(plans(&portions) && !plans(&portions))
        portions.beginTurn(at: instant(0))
        #expect(plans(&portions))
    }

    private func plans(_ portions: inout Portions, isReloading: Bool = false) -> Bool {
        portions.planTurn(isReloading: isReloading)
    }

    /// It would mix two configurations.
    @Test func aListWaitsDuringAReload_andOtherWorkDoesNot() {
        var portions = portions([("list", .list), ("measures", .measures)])
        #expect(!plans(&portions, isReloading: true))
        portions.add(Work("timers"), as: .timers, at: instant(0))
        #expect(turn(&portions, portion: 250, isReloading: true) == ["timers", "timers"])
        #expect(turn(&portions, portion: 170) == ["list", "measures", "timers"])
    }

    @Test func workThatIsHeldWaits_andSoDoesWorkOfItsKind() {
        var portions = portions([("a", .checkpoint), ("b", .checkpoint)])
        portions.hold(.checkpoint)
        #expect(turn(&portions).isEmpty && !plans(&portions))
        portions.release(.checkpoint)
        #expect(plans(&portions))
        #expect(turn(&portions, portion: 500) == ["a"])
        portions.hold(.checkpoint)
        portions.finish(.checkpoint)
        #expect(turn(&portions, portion: 500) == ["b"])
    }

    @Test func aReloadPausesAgainAndAgain() {
        let work = Int(ThreadThrottle.workTime / .microseconds(1))
        var portions = portions([("list", .list), ("reload", .reload)])
        #expect(portions.pause(before: .reload, at: instant(work - 1)) == nil)
        #expect(portions.pause(before: .reload, at: instant(work)) == ThreadThrottle.pauseTime)
        #expect(portions.pause(before: .list, at: instant(work)) == nil)
        portions.hold(.reload)
        portions.resume(.reload, at: instant(work + 1000))
        #expect(portions.pause(before: .reload, at: instant(2 * work + 999)) == nil)
        #expect(portions.pause(before: .reload, at: instant(2 * work + 1000)) != nil)
    }

    /// Only the first work of a kind has looked at jobs.
    @Test func whatHasBegunBeginsAgain() {
        var portions = Portions()
        let works = (0..<3).map { Work("\($0)") }
        portions.add(works[0], as: .list, at: instant(0))
        portions.add(works[1], as: .list, at: instant(0))
        portions.add(works[2], as: .measures, at: instant(0))
        portions.restart()
        #expect(works.map(\.restarts) == [1, 0, 1])
    }

    @Test(arguments: Portions.Kind.allCases)
    func onlyACommandAndAReloadDecideOnJobs(kind: Portions.Kind) {
        let portions = portions([("a", kind)])
        #expect(portions.isDeciding == (kind == .command || kind == .reload))
        #expect(portions.contains(kind))
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Makes a failing case smaller: it removes steps and jobs, resets policies to their defaults, and
/// rounds times, as long as the case fails in the same way.
struct Shrinker {
    private var best: Script
    private var fault: Fault
    private var tries = 0
    private let triesMax: Int
    private let judge: (Script) -> Fault?

    private init(
        best: Script, fault: Fault, triesMax: Int, judge: @escaping (Script) -> Fault?
    ) {
        self.best = best
        self.fault = fault
        self.triesMax = triesMax
        self.judge = judge
    }

    /// The smallest script that was found to fail like `script`, and its fault, after at most
    /// `triesMax` attempts.
    static func shrink(
        _ script: Script, _ fault: Fault, triesMax: Int, judge: @escaping (Script) -> Fault?
    ) -> (Script, Fault) {
        var shrinker = Shrinker(best: script, fault: fault, triesMax: triesMax, judge: judge)
        var before = -1
        while size(shrinker.best) != before, shrinker.tries < triesMax {
            before = size(shrinker.best)
            shrinker.dropSteps()
            shrinker.dropJobs()
            shrinker.simplify()
            shrinker.round()
        }
        return (shrinker.best, shrinker.fault)
    }

    /// Accepts the other script if it fails in the same way.
    private mutating func attempt(_ other: Script) -> Bool {
        tries += 1
        guard tries < triesMax, let found = judge(other), found.kind == fault.kind
        else { return false }
        best = other
        fault = found
        return true
    }

    private static func size(_ script: Script) -> Int {
        var size = script.steps.count * 1000 + script.text.utf8.count
        size += script.jobs.count * 1000
        return size
    }

    /// Removes many steps at once first, then one by one.
    private mutating func dropSteps() {
        var length = max(1, best.steps.count / 2)
        while true {
            var start = 0
            while start < best.steps.count {
                var other = best
                other.steps.removeSubrange(start..<min(best.steps.count, start + length))
                if !attempt(other) { start += length }
            }
            if length == 1 { return }
            length /= 2
        }
    }

    private mutating func dropJobs() {
        for index in best.jobs.indices.reversed() {
            var other = best
            other.jobs.remove(at: index)
            _ = attempt(other)
        }
    }

    private mutating func simplify() {
        var other = best
        other.runsMax = 64
        _ = attempt(other)
        let plain = PlainJob()
        let changes: [(inout PlainJob) -> Void] = [
            { $0.onMissed = plain.onMissed }, { $0.deadline = nil }, { $0.onResume = nil },
            { $0.concurrency = .forbid }, { $0.accuracy = 0 }, { $0.randomDelay = 0 },
            { $0.catchUpDelay = 0 },
            { $0.randomOffset = 0 }, { $0.retries = 0 },
            { if $0.kind != .onBoot { $0.basis = .active } },
            { $0.paused = false }, { $0.first = nil }, { $0.isFromEnd = false },
            { $0.two = .failure },
            { $0.lateAfter = nil }, { $0.longAfter = nil }, { $0.staleAfter = nil },
            { $0.pausedAfter = nil },
        ]
        for index in best.jobs.indices {
            for change in changes {
                other = best
                change(&other.jobs[index])
                if other.jobs != best.jobs { _ = attempt(other) }
            }
        }
        for index in best.steps.indices {
            for step in Self.simpler(best.steps[index]) {
                other = best
                other.steps[index] = step
                if other.steps != best.steps { _ = attempt(other) }
            }
        }
    }

    private static func simpler(_ step: Step) -> [Step] {
        switch step {
        case .sleep(let span, true): [.sleep(span, quiet: false)]
        case .set(let span, true): [.set(span, quiet: false)]
        case .down(let death, let since, let gaps, let liveOn):
            [.down(death, sinceCheckpoint: 0, gaps, runsLiveOn: liveOn)]
                + gaps.indices.map { index in
                    var fewer = gaps
                    fewer.remove(at: index)
                    return .down(death, sinceCheckpoint: since, fewer, runsLiveOn: liveOn)
                } + [.down(death, sinceCheckpoint: since, gaps, runsLiveOn: false)]
        case .command(let verb, let job, _, true, let count):
            [.command(verb, job, until: nil, withRun: false, count: count)]
        default: []
        }
    }

    /// Rounds to whole minutes, or else to whole seconds.
    private mutating func round() {
        for unit in [60 * Unit.second, Unit.second] {
            func whole(_ span: Int64) -> Int64 {
                let rounded = span / unit * unit
                return rounded == 0 && span != 0 ? span : rounded
            }
            for index in best.steps.indices {
                var other = best
                switch best.steps[index] {
                case .pass(let span): other.steps[index] = .pass(whole(span))
                case .block(let span): other.steps[index] = .block(whole(span))
                case .sleep(let span, let quiet):
                    other.steps[index] = .sleep(whole(span), quiet: quiet)
                case .set(let span, let quiet):
                    other.steps[index] = .set(whole(span), quiet: quiet)
                case .command(let verb, let job, let until?, let withRun, let count):
                    other.steps[index] = .command(
                        verb, job, until: whole(until), withRun: withRun, count: count)
                default: continue
                }
                if other.steps != best.steps { _ = attempt(other) }
            }
            for index in best.jobs.indices {
                var other = best
                if best.jobs[index].isCounted {
                    other.jobs[index].span = max(Unit.second, whole(best.jobs[index].span))
                }
                other.jobs[index].accuracy = whole(best.jobs[index].accuracy)
                other.jobs[index].deadline = best.jobs[index].deadline.map(whole)
                if other.jobs != best.jobs { _ = attempt(other) }
            }
            var other = best
            other.wall = whole(best.wall)
            if other.wall != best.wall { _ = attempt(other) }
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CMalloc
import Dispatch
import Glibc
import PausableTimers

/// `TimerBench KIND CASE [N]`: one measurement of PausableTimers (`ours`) or of bare
/// DispatchSourceTimers (`bare`), printed as a line of figures. Each measurement runs in its own
/// process, so that it is not affected by an earlier one.
///
/// `memory N`: heap bytes per timer, and CPU nanoseconds to create one · `churn N`: heap bytes that
/// are left after N timers were created and released · `left N`: the same, while one more timer
/// lives · `one`, `together`, `apart`,
/// `apart-tolerant`: CPU nanoseconds per tick · `rate HZ SECONDS`: lateness and missed frames ·
/// `paused N SECONDS`: wake-ups of the process.
@main
struct TimerBench {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3 else { giveUp("usage: TimerBench ours|bare CASE [N...]") }
        let numbers = arguments.dropFirst(3).compactMap { Int($0) }
        let subject: any Subject = arguments[1] == "ours" ? Ours() : Bare()
        switch (arguments[2], numbers.first, numbers.dropFirst().first) {
        case ("memory", let count?, _): memory(subject, count)
        case ("churn", let count?, _): churn(subject, count)
        case ("left", let count?, _): left(subject, count)
        case ("one", _, _): ticks(subject, Load(timers: 1, span: 1_000_000, ticks: 3000))
        case ("together", _, _):
            ticks(subject, Load(timers: 1000, span: 50_000_000, ticks: 60_000))
        case ("apart", _, _):
            ticks(subject, Load(timers: 100, span: 10_000_000, isApart: true, ticks: 20_000))
        case ("apart-tolerant", _, _):
            ticks(
                subject,
                Load(
                    timers: 100, span: 10_000_000, isApart: true, tolerance: 1_000_000,
                    ticks: 20_000))
        case ("rate", let hertz?, let seconds?): rate(subject, hertz, seconds)
        case ("paused", let count?, let seconds?): paused(subject, count, seconds)
        default: giveUp("no case \(arguments[2])")
        }
    }
}

/// An implementation that is measured.
protocol Subject {
    /// Creates a timer on the only queue and keeps it alive. Times are in nanoseconds from now.
    mutating func make(
        first: Int, span: Int, tolerance: Int, _ handler: @escaping @Sendable () -> Void)
    mutating func pauseAll()
    mutating func releaseAll()
    mutating func releaseAllButTheLast()
}

struct Ours: Subject {
    private let queue = TimerQueue(label: "ours")
    private var timers: [PausableTimer] = []

    mutating func make(
        first: Int, span: Int, tolerance: Int, _ handler: @escaping @Sendable () -> Void
    ) {
        do {
            timers.append(
                try .every(
                    .nanoseconds(span), first: .after(.nanoseconds(first)),
                    tolerance: .nanoseconds(tolerance), on: queue, handler: { _ in handler() }))
        } catch { giveUp("\(error)") }
    }

    mutating func pauseAll() { for timer in timers { timer.pause() } }
    mutating func releaseAll() { timers = [] }
    mutating func releaseAllButTheLast() { timers = timers.suffix(1) }
}

struct Bare: Subject {
    private let queue = DispatchQueue(label: "bare")
    private var timers: [any DispatchSourceTimer] = []

    mutating func make(
        first: Int, span: Int, tolerance: Int, _ handler: @escaping @Sendable () -> Void
    ) {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(
            deadline: .now() + .nanoseconds(first), repeating: .nanoseconds(span),
            leeway: .nanoseconds(tolerance))
        timer.setEventHandler(handler: handler)
        timer.activate()
        timers.append(timer)
    }

    mutating func pauseAll() { for timer in timers { timer.suspend() } }
    mutating func releaseAll() {
        for timer in timers { timer.cancel() }
        timers = []
    }
    mutating func releaseAllButTheLast() {
        for timer in timers.dropLast() { timer.cancel() }
        timers = timers.suffix(1)
    }
}

/// A number of timers and their ticks.
struct Load {
    var timers: Int
    var span: Int
    var isApart = false
    var tolerance = 0
    var ticks: Int
}

func memory(_ subject: any Subject, _ count: Int) {
    var subject = subject
    subject.make(first: 1_000_000_000_000, span: 1_000_000_000_000, tolerance: 0) {}
    let before = cmalloc_in_use()
    let began = processorTime()
    for index in 0..<count {
        // Each timer has its own closure, because in a real program each would do something
        // different.
        subject.make(
            first: 1_000_000_000_000 + index, span: 1_000_000_000_000, tolerance: 0
        ) { consume(index) }
    }
    let spent = processorTime() - began
    let after = cmalloc_in_use()
    print(
        "{\"bytes\": \((Double(after) - Double(before)) / Double(count)), \"ns\": \(Double(spent) / Double(count))}"
    )
}

func churn(_ subject: any Subject, _ count: Int) {
    var subject = subject
    func round() {
        for _ in 0..<count / 10 {
            subject.make(first: 1_000_000_000_000, span: 1_000_000_000_000, tolerance: 0) {}
        }
        subject.releaseAll()
    }
    round()
    let before = cmalloc_in_use()
    for _ in 0..<10 { round() }
    usleep(200_000)
    print("{\"bytes\": \(Int(cmalloc_in_use()) - Int(before))}")
}

func left(_ subject: any Subject, _ count: Int) {
    var subject = subject
    // What the first timer of a process creates is not counted.
    subject.make(first: 1_000_000_000_000, span: 1_000_000_000_000, tolerance: 0) {}
    let before = cmalloc_in_use()
    for _ in 0..<count {
        subject.make(first: 1_000_000_000_000, span: 1_000_000_000_000, tolerance: 0) {}
    }
    subject.releaseAllButTheLast()
    usleep(200_000)
    print("{\"bytes\": \(Int(cmalloc_in_use()) - Int(before))}")
    subject.releaseAll()
}

func ticks(_ subject: any Subject, _ load: Load) {
    var subject = subject
    let counter = Counter(load.ticks)
    for index in 0..<load.timers {
        subject.make(
            first: 20_000_000 + (load.isApart ? load.span / load.timers * index : 0),
            span: load.span, tolerance: load.tolerance
        ) { counter.tick() }
    }
    // The first ticks are not measured: caches are cold, and some threads have to be created.
    counter.waitForHalf()
    let began = processorTime()
    let before = counter.count
    counter.waitForAll()
    let spent = processorTime() - began
    print("{\"ns\": \(Double(spent) / Double(counter.count - before))}")
}

func rate(_ subject: any Subject, _ hertz: Int, _ seconds: Int) {
    var subject = subject
    let span = 1_000_000_000 / hertz
    let instants = Instants(room: hertz * seconds + 1000)
    // The first timer of a process creates what all of them need, so its grid would start late.
    subject.make(first: 1_000_000_000_000, span: 1_000_000_000_000, tolerance: 0) {}
    let began = now()
    subject.make(first: span, span: span, tolerance: 0) { instants.append(now()) }
    sleep(UInt32(seconds))
    let all = instants.all
    let late = all.map { Int(($0 - began) % Int64(span)) }.sorted()
    let expected = Int((all.last ?? began) - began) / span
    let middle = late.isEmpty ? 0 : late[late.count / 2]
    let achieved = Double(all.count - 1) / (Double((all.last ?? 1) - (all.first ?? 0)) / 1e9)
    print(
        "{\"median_late_ns\": \(middle), \"missed\": \(expected - all.count), \"frames\": \(expected), "
            + "\"rate\": \(achieved)}")
}

func paused(_ subject: any Subject, _ count: Int, _ seconds: Int) {
    var subject = subject
    for index in 0..<count {
        subject.make(first: 50_000_000 + index * 1000, span: 100_000_000, tolerance: 0) {}
    }
    usleep(300_000)
    subject.pauseAll()
    // Dispatch ends a thread that was idle for 5 s.
    sleep(7)
    let before = wakeUps()
    sleep(UInt32(seconds))
    // The wake-up of this thread, which slept, is subtracted.
    print("{\"wake_ups\": \(wakeUps() - before - 1)}")
    if subject is Bare { exit(0) }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerClient
@testable import TimerRunnerProtocol

/// The events of a client, and a condition to wait for them.
final class ReceivedEvents: Sendable {
    private let heard = Mutex<[RunnerEvent]>([])
    private let more = DispatchSemaphore(value: 0)
    let seesAll: Bool

    init(seesAll: Bool = true) { self.seesAll = seesAll }

    func take(_ news: RunnerClient.Event, _ seen: @Sendable () -> Void) {
        switch news {
        case .event(let event):
            heard.withLock { $0.append(event) }
            if seesAll { seen() }
        case .away(_, let wasAnnounced): aways.withLock { $0.append(wasAnnounced) }
        case .checked(let run, let number, let answer):
            answered.withLock { $0.append((run, number, answer)) }
        case .machineChanged(let parts): changed.withLock { $0.formUnion(parts) }
        case .back: break
        }
        more.signal()
    }

    /// The answers to checks of conditions.
    private let answered = Mutex<[(run: Run.ID, number: UInt64, answer: Condition.Answer)]>([])

    /// Waits for the answer to the check with this number.
    func answer(to number: UInt64, of run: Run) -> Condition.Answer? {
        func found() -> Condition.Answer? {
            answered.withLock { answers in
                answers.first { $0.run == run.id && $0.number == number }?.answer
            }
        }
        while found() == nil {
            guard more.wait(timeout: .now() + 60) == .success else { return nil }
        }
        return found()
    }

    /// The parts of the machine that have changed.
    private let changed = Mutex<MachineParts>([])

    /// Waits until these parts of the machine were reported, and forgets them.
    func waitForChange(of parts: MachineParts) -> Bool {
        while !changed.withLock({ $0.isSuperset(of: parts) }) {
            guard more.wait(timeout: .now() + 60) == .success else { return false }
        }
        changed.withLock { $0.subtract(parts) }
        return true
    }

    /// How many answers there are.
    var answerCount: Int { answered.withLock { $0.count } }

    /// Whether the end of the runner was announced, for each lost connection.
    private let aways = Mutex<[Bool]>([])

    /// Waits for a lost connection, and returns whether it was announced.
    func firstAway() -> Bool? {
        while aways.withLock(\.isEmpty) {
            guard more.wait(timeout: .now() + 60) == .success else { return nil }
        }
        return aways.withLock(\.first)
    }

    var events: [RunnerEvent] { heard.withLock { $0 } }

    func wait(until isDone: ([RunnerEvent]) -> Bool) {
        while !isDone(events) {
            guard more.wait(timeout: .now() + 30) == .success else {
                Issue.record("no more events: \(events.suffix(5))")
                return
            }
        }
    }

    func end(of run: Run) -> RunnerEvent? {
        wait { $0.contains { if case .ended(run.id, _) = $0 { true } else { false } } }
        return events.first { if case .ended(run.id, _) = $0 { true } else { false } }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch

// The linker drops asynchronous functions only together with all others of their file, so these are
// in a file of their own.

/// Time for tests that use tasks.
extension ManualTime {
    /// Lets this much time pass like `advance(by:)`, and also waits for tasks: before time goes on
    /// from a tick, each asynchronous handler has returned, and each `for await` loop over the ticks
    /// of a timer waits for its next tick or has ended. A task may wait for this time there, with
    /// another timer or a `TimerClock`. Without such a wait, a task that slept with a `TimerClock`
    /// is woken up but not waited for.
    ///
    /// It may be called on the main actor, and must not be called in a handler.
    ///
    /// - Parameter span: not negative; zero handles the timers that are already due.
    public func advanceWithTasks(by span: Duration) async {
        let end = beginAdvance(by: span)
        await activity.becomeIdle()
        while let alarm = nextAlarm(until: end) {
            await withCheckedContinuation { done in
                alarm.queue.async {
                    alarm.ring()
                    done.resume()
                }
            }
            await activity.becomeIdle()
        }
        endAdvance(at: end)
    }

    /// Returns when at least this many tasks wait for a tick or sleep. A test calls it after it has
    /// started them, because a task reads only the ticks that come after it has begun to wait.
    public func waitForTasks(_ count: Int = 1) async { await activity.become(waiting: count) }
}

extension Activity {
    /// Returns when no task is busy.
    fileprivate func becomeIdle() async { await meet { busy, _ in busy == 0 } }

    /// Returns when this many tasks wait for a tick.
    fileprivate func become(waiting count: Int) async {
        await meet { _, waiting in waiting >= count }
    }

    private func meet(_ isMet: @escaping @Sendable (Int, Int) -> Bool) async {
        await withCheckedContinuation { task in resume(task, when: isMet) }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import TimerCore
import TimerStore

/// The history is pruned some runs at a time.
extension Recorder {
    /// Deletes old runs from the history, some at a time, after all waiting writes.
    nonisolated func prune() {
        later { recorder in recorder.beginPruning() }
    }

    func noteCloses(_ count: Int) {
        closes += count
        guard closes >= Self.closesPerPrune else { return }
        closes = 0
        beginPruning()
    }

    private func beginPruning() {
        guard pruning == nil else { return }
        pruning = Pruning(endedBefore: wall() - history)
        prunePortion()
    }

    private func prunePortion() {
        guard let store, storeError == nil, var next = pruning else { return pruning = nil }
        do throws(StoreError) {
            try next.advance(in: store)
            pruning = next.isDone ? nil : next
        } catch {
            // Pruning starts again when more runs have ended.
            pruning = nil
            log.warning("\(error); the history is pruned later")
        }
        if pruning != nil { later(after: Self.pruneDelay) { $0.prunePortion() } }
    }
}

extension Store.Change {
    /// Whether it adds to the outbox.
    var isNotification: Bool { if case .notify = self { true } else { false } }

    /// Whether it adds to the history.
    var isHistory: Bool {
        switch self {
        case .close, .skip, .pause: true
        case .beginInstance, .begin, .setReleased, .renew, .save, .rename, .erase, .stage,
            .applyStaged, .mergeStaged, .endInstance, .notify, .incident, .createMessage,
            .messageResult, .retryMessage,
            .fleet:
            false
        }
    }
}

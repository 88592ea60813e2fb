// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerStore

/// Very many changes that are kept as a whole or not at all, written so that others need not wait for them.
extension Recorder {
    /// Up to how many orders' changes are written in one go: a few milliseconds.
    static let togetherMax = 256
    /// How many accounts are staged, or merged, before other changes have their turn.
    static let stagedPerCommit = 128

    struct Together {
        var accounts: ArraySlice<JobRecord>
        var others: [Store.Change]
        var left: Int
        var durable: Bool
        var onCommit: @Sendable (Set<Run.ID>) -> Void
        var onDelayed: (@Sendable (StoreError) -> Void)?
    }

    /// Writes the changes behind everything that was handed over before, all of them or, after a kill, none.
    ///
    /// What is handed over later about the same jobs must be handed over behind `onCommit`: very many changes are
    /// written in steps, and others between these.
    ///
    /// - Parameters:
    ///   - changes: those of each job, or of few.
    ///   - durable: as of `keep`.
    ///   - kept: as of `keep`.
    ///   - delayed: as of `keep`.
    nonisolated func keepTogether(
        _ changes: [[Store.Change]], durable: Bool,
        onCommit: @escaping @Sendable (Set<Run.ID>) -> Void,
        onDelayed: @escaping @Sendable (StoreError) -> Void
    ) {
        guard changes.count > Self.togetherMax else {
            return write(
                changes.flatMap { $0 }, durable: durable, onCommit: onCommit, onDelayed: onDelayed)
        }
        later { recorder in
            var accounts: [JobRecord] = []
            var others: [Store.Change] = []
            for change in changes.joined() {
                if case .save(let record) = change {
                    accounts.append(record)
                } else {
                    others.append(change)
                }
            }
            recorder.together.append(
                Together(
                    accounts: accounts[...], others: others, left: accounts.count,
                    durable: durable, onCommit: onCommit, onDelayed: onDelayed))
            if recorder.together.count == 1 { recorder.stageSome() }
        }
    }

    private func stageSome() {
        guard let first = together.first else { return }
        let some = first.accounts.prefix(Self.stagedPerCommit)
        guard !some.isEmpty else { return apply(first) }
        together[0].accounts = first.accounts.dropFirst(some.count)
        write(some.map { .stage($0) }) { _ in
            self.afterCheckpoint { $0.stageSome() }
        } onDelayed: { error in
            self.later { $0.tellDelay(error) }
        }
    }

    private func apply(_ first: Together) {
        write(first.others + [.applyStaged], durable: first.durable) { refused in
            first.onCommit(refused)
            self.later { $0.mergeSome() }
        } onDelayed: { error in
            self.later { $0.tellDelay(error) }
        }
    }

    /// In the order in which they were handed over, whatever is handed over meanwhile: the next are staged when
    /// these have their places.
    private func mergeSome() {
        guard let left = together.first?.left else { return }
        guard left > 0 else {
            together.removeFirst()
            return stageSome()
        }
        together[0].left = left - Self.stagedPerCommit
        write([.mergeStaged(max: Self.stagedPerCommit)]) { _ in
            self.afterCheckpoint { $0.mergeSome() }
        }
    }

    private func tellDelay(_ error: StoreError) {
        guard let onDelayed = together.first?.onDelayed else { return }
        together[0].onDelayed = nil
        onDelayed(error)
    }
}

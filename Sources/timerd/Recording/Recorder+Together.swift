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
        var kept: @Sendable (Set<Run.ID>) -> Void
        var delayed: (@Sendable (StoreError) -> Void)?
    }

    /// Writes the changes behind everything that was handed over before, all of them or, after a kill, none.
    ///
    /// What is handed over later about the same jobs must be handed over behind `kept`: very many changes are
    /// written in steps, and others between these.
    ///
    /// - Parameters:
    ///   - changes: those of each job, or of few.
    ///   - durable: as of `keep`.
    ///   - kept: as of `keep`.
    ///   - delayed: as of `keep`.
    nonisolated func keepTogether(
        _ changes: [[Store.Change]], durable: Bool,
        kept: @escaping @Sendable (Set<Run.ID>) -> Void,
        delayed: @escaping @Sendable (StoreError) -> Void
    ) {
        guard changes.count > Self.togetherMax else {
            return keep(changes.flatMap { $0 }, durable: durable, kept: kept, delayed: delayed)
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
                    durable: durable, kept: kept, delayed: delayed))
            if recorder.together.count == 1 { recorder.stageSome() }
        }
    }

    private func stageSome() {
        guard let first = together.first else { return }
        let some = first.accounts.prefix(Self.stagedPerCommit)
        guard !some.isEmpty else { return apply(first) }
        together[0].accounts = first.accounts.dropFirst(some.count)
        keep(some.map { .stage($0) }) { _ in
            self.afterCheckpoint { $0.stageSome() }
        } delayed: { error in
            self.later { $0.tellDelay(error) }
        }
    }

    private func apply(_ first: Together) {
        keep(first.others + [.applyStaged], durable: first.durable) { refused in
            first.kept(refused)
            self.later { $0.mergeSome() }
        } delayed: { error in
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
        keep([.mergeStaged(max: Self.stagedPerCommit)]) { _ in
            self.afterCheckpoint { $0.mergeSome() }
        }
    }

    private func tellDelay(_ error: StoreError) {
        guard let delayed = together.first?.delayed else { return }
        together[0].delayed = nil
        delayed(error)
    }
}

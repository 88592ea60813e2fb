// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
package import TimerCore
package import TimerStore

/// Writes very many changes, all or none of them, in such a way that other writes do not wait for
/// them.
extension Recorder {
    /// Up to this number of commands, the changes are written at once, which takes a few
    /// milliseconds.
    static let unstagedMax = 256
    /// How many records are staged or merged before other changes get their turn.
    static let stagedPerCommit = 128

    /// A group of changes that is written in three steps: its time records are staged, which no
    /// reader sees; then one transaction writes the other changes and makes the staged records
    /// valid; then the staged records are merged into their table.
    struct StagedCommit {
        /// The time records that are not staged yet.
        var records: ArraySlice<JobRecord>
        /// All changes that are not time records.
        var others: [Store.Change]
        /// How many staged records are not merged yet.
        var unmerged: Int
        var durable: Bool
        var onCommit: @Sendable (Set<Run.ID>) -> Void
        var onDelayed: (@Sendable (StoreError) -> Void)?
    }

    /// Writes all of these changes after everything that was submitted before; after a kill, all or
    /// none of them are there.
    ///
    /// Later changes of the same jobs must be submitted after `onCommit`, because very many changes
    /// are written in steps, with others in between.
    ///
    /// - Parameters:
    ///   - changes: the changes of each job, or of a few jobs.
    ///   - durable: as for `write`.
    ///   - onCommit: as for `write`.
    ///   - onDelayed: as for `write`.
    package nonisolated func writeAtomically(
        _ changes: [[Store.Change]], durable: Bool,
        onCommit: @escaping @Sendable (Set<Run.ID>) -> Void,
        onDelayed: @escaping @Sendable (StoreError) -> Void
    ) {
        guard changes.count > Self.unstagedMax else {
            return write(
                changes.flatMap { $0 }, durable: durable, onCommit: onCommit, onDelayed: onDelayed)
        }
        later { recorder in
            var records: [JobRecord] = []
            var others: [Store.Change] = []
            for change in changes.joined() {
                if case .save(let record) = change {
                    records.append(record)
                } else {
                    others.append(change)
                }
            }
            recorder.stagedCommits.append(
                StagedCommit(
                    records: records[...], others: others, unmerged: records.count,
                    durable: durable, onCommit: onCommit, onDelayed: onDelayed))
            guard recorder.stagedCommits.count == 1 else { return }
            recorder.keepLogFile(true)
            recorder.stageSome()
        }
    }

    /// While very much is written, SQLite keeps the length of the file of its write-ahead log instead
    /// of truncating it. If this cannot be set, commits only take longer.
    private func keepLogFile(_ keep: Bool) { try? store?.keepLogFile(keep) }

    private func stageSome() {
        guard let first = stagedCommits.first else { return }
        let some = first.records.prefix(Self.stagedPerCommit)
        guard !some.isEmpty else { return apply(first) }
        stagedCommits[0].records = first.records.dropFirst(some.count)
        write(some.map { .stage($0) }) { _ in
            self.afterCheckpoint { $0.stageSome() }
        } onDelayed: { error in
            self.later { $0.reportDelay(error) }
        }
    }

    private func apply(_ first: StagedCommit) {
        write(first.others + [.applyStaged], durable: first.durable) { refused in
            first.onCommit(refused)
            self.later { $0.mergeSome() }
        } onDelayed: { error in
            self.later { $0.reportDelay(error) }
        }
    }

    /// Merges the staged changes in the order in which they were submitted. The next ones are
    /// staged when these are merged.
    private func mergeSome() {
        guard let unmerged = stagedCommits.first?.unmerged else { return }
        guard unmerged > 0 else {
            stagedCommits.removeFirst()
            if stagedCommits.isEmpty { keepLogFile(false) }
            return stageSome()
        }
        stagedCommits[0].unmerged = unmerged - Self.stagedPerCommit
        write([.mergeStaged(max: Self.stagedPerCommit)]) { _ in
            self.afterCheckpoint { $0.mergeSome() }
        }
    }

    private func reportDelay(_ error: StoreError) {
        guard let onDelayed = stagedCommits.first?.onDelayed else { return }
        stagedCommits[0].onDelayed = nil
        onDelayed(error)
    }
}

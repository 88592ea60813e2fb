// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TimerCore
import TimerRunnerProtocol

/// The definitions of the jobs' runs as last read from the configuration, and, until the scheduler
/// has finished its reload, also the previous ones.
struct JobDefinitions: Sendable {
    private var current = DefinitionSet()
    private var former = DefinitionSet()
    /// Definitions that have changed in the files before the scheduler requested a reload.
    private var latest = DefinitionSet()
    private var keepsFormer = false
    /// Whether the current ones are all of the last reading.
    private var isWhole = false
    /// How often `keepFormer` and `forgetFormer` were called, to notice a call during a reading.
    private var changes: UInt64 = 0

    /// The result of one reading. It is a class, so that it can be freed on a chosen thread.
    final class Reading: Sendable {
        struct Content {
            var definitions: RunnerServer.Definitions = [:]
            var next = JobDefinitions()
        }

        fileprivate let changes: UInt64
        let content: Mutex<Content>

        fileprivate init(_ changes: UInt64, _ content: Content) {
            self.changes = changes
            self.content = Mutex(content)
        }

        /// The number of definitions in the reading, with those of the former ones.
        var count: Int {
            content.withLock {
                $0.definitions.count + $0.next.current.definitions.count
                    + $0.next.former.definitions.count
            }
        }

        func empty() { content.withLock { $0 = Content() } }
    }

    private struct DefinitionSet {
        var definitions: RunnerServer.Definitions = [:] { didSet { fingerprints = [:] } }
        /// The fingerprints of the definitions that were requested.
        var fingerprints: [Job.Name: UInt64] = [:]

        mutating func definition(for request: StartRequest) -> Definition? {
            let job = request.run.firing.job
            guard let definition = definitions[job] else { return nil }
            let fingerprint = fingerprints[job] ?? definition.fingerprint
            fingerprints[job] = fingerprint
            return fingerprint == request.fingerprint ? definition : nil
        }
    }

    /// The last reading, if the current definitions are all of it and nothing else.
    var last: RunnerServer.Definitions? { isWhole ? current.definitions : nil }

    var isEmpty: Bool { current.definitions.isEmpty }

    func contains(_ job: Job.Name) -> Bool { current.definitions[job] != nil }

    /// The definition with which a run is started; nil if the job is unknown or has only other
    /// versions.
    mutating func definition(for request: StartRequest) -> Definition? {
        current.definition(for: request) ?? former.definition(for: request)
            ?? latest.definition(for: request)
    }

    /// Computes the definitions after this reading. With very many jobs this takes a while.
    ///
    /// - Parameters:
    ///   - kept: jobs whose definitions do not change, because their file has an error.
    ///   - isCheck: whether the files have changed and the scheduler has not requested a reload.
    func reading(
        _ read: RunnerServer.Definitions, keeping kept: Set<Job.Name>, isCheck: Bool
    ) -> Reading {
        Reading(
            changes,
            Reading.Content(
                definitions: read,
                next: isCheck ? afterCheck(read, keeping: kept) : afterReload(read, keeping: kept)))
    }

    /// Applies the reading, and moves the previous definitions into it, because freeing them takes
    /// a while as well.
    ///
    /// - Returns: false if `keepFormer` or `forgetFormer` was called since the reading was
    ///   computed. Then it must be computed again.
    mutating func apply(_ reading: Reading) -> Bool {
        guard reading.changes == changes else { return false }
        reading.content.withLock { swap(&self, &$0.next) }
        return true
    }

    /// The definitions after the files were changed without a reload. A job that was deleted from
    /// them is not run any more; a job that was changed is run as it was when it fired.
    private func afterCheck(
        _ read: RunnerServer.Definitions, keeping kept: Set<Job.Name>
    ) -> JobDefinitions {
        var next = self
        func exists(_ job: Job.Name) -> Bool { read[job] != nil || kept.contains(job) }
        next.isWhole = false
        next.current.definitions = current.definitions.filter { exists($0.key) }
        next.former.definitions = former.definitions.filter { exists($0.key) }
        next.latest.definitions = read.filter { next.current.definitions[$0.key] != $0.value }
        // A job that was missing once, because its file was being written, is no longer among the
        // current ones. It stays among the latest ones while its file has an error.
        for (job, definition) in latest.definitions
        where kept.contains(job) && read[job] == nil && next.current.definitions[job] == nil {
            next.latest.definitions[job] = definition
        }
        return next
    }

    private func afterReload(
        _ read: RunnerServer.Definitions, keeping kept: Set<Job.Name>
    ) -> JobDefinitions {
        var next = self
        var read = read
        next.latest = DefinitionSet()
        next.isWhole = kept.isEmpty
        for job in kept {
            guard let definition = current.definitions[job] ?? latest.definitions[job] else {
                continue
            }
            // A scheduler that starts now loads the files that have no error.
            if let other = read[job], other != definition { next.latest.definitions[job] = other }
            read[job] = definition
        }
        next.current.definitions = read
        // Most jobs do not change, and are not stored twice.
        next.former.definitions = former.definitions.filter { read[$0.key] != $0.value }
        return next
    }

    /// Keeps the current definitions beside those that are read next.
    mutating func keepFormer() {
        // Until a reload is finished, the scheduler uses the definitions from before the first of
        // several readings.
        guard !keepsFormer else { return }
        keepsFormer = true
        former = current
        changes += 1
    }

    /// Uses only the last reading from now on.
    ///
    /// - Returns: the previous definitions, for the caller to free.
    mutating func forgetFormer() -> Reading {
        let before = Reading(changes, Reading.Content())
        before.content.withLock { swap(&former, &$0.next.former) }
        keepsFormer = false
        changes += 1
        return before
    }
}

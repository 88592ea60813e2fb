// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostFiles
import TimerRunnerProtocol

extension ServerLoop {
    /// The files in the runtime directory, which are made again if someone deletes them.
    struct Files {
        /// How often to look whether the processes that were just started have written their records.
        private static let carryPause: Int64 = 20_000_000

        private let kept: KeptFiles
        private let registry: RunRegistry
        /// When to look next whether processes write into a former registry; nil: none does.
        private var carryAt: Int64?

        init(_ kept: KeptFiles, _ registry: RunRegistry) {
            self.kept = kept
            self.registry = registry
        }

        /// Readable when something may be gone: call `noteChange` then.
        var descriptor: Int32 { kept.descriptor }

        /// When to call `look`, by CLOCK_MONOTONIC; nil: after the next change.
        var lookAt: Int64? { [kept.lookAt, carryAt].compactMap(\.self).min() }

        func noteChange() { kept.noteChange(at: RunnerClock.awake()) }

        /// Makes again what was deleted, if a look is due.
        mutating func look(_ log: (String) -> Void) {
            guard let due = lookAt else { return }
            let now = RunnerClock.awake()
            guard now >= due else { return }
            if let finding = kept.look(at: now) { Self.say(finding, log) }
            carryAt = registry.carry() ? nil : now + Self.carryPause
        }

        private static func say(_ finding: KeptFiles.Finding, _ log: (String) -> Void) {
            if !finding.made.isEmpty {
                log(
                    "deleted while this runner uses it, and made again: \(finding.made.joined(separator: ", ")); "
                        + KeptFiles.hint)
            }
            if let failure = finding.failure {
                log(
                    "a file of this runner was deleted and cannot be made again: \(failure). It is tried again "
                        + "every 10 s; until then a scheduler may not be able to connect")
            }
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostFiles
import TimerRunnerProtocol

/// Looks after the files in the runtime directory.
extension ServerLoop {
    /// How often to look whether the processes that were just started have written their records.
    static let carryPause: Int64 = 20_000_000

    /// Makes again what was deleted.
    mutating func lookAfterFiles() {
        let now = RunnerClock.awake()
        guard let files else { return }
        if let finding = files.look(at: now) { log(finding) }
        carryAt = runner.registry.carry() ? nil : now + Self.carryPause
    }

    private func log(_ finding: KeptFiles.Finding) {
        if !finding.made.isEmpty {
            settings.log(
                "deleted while this runner uses it, and made again: \(finding.made.joined(separator: ", ")); "
                    + KeptFiles.hint)
        }
        if let failure = finding.failure {
            settings.log(
                "a file of this runner was deleted and cannot be made again: \(failure). It is tried again "
                    + "every 10 s; until then a scheduler may not be able to connect")
        }
    }
}

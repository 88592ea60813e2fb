// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerLog

/// The values of the line that `systemctl status` shows.
struct StatusLine {
    var jobs: Int
    var paused: Int
    var running: Int
    var rejected: Int
    var next: (job: Job.Name, instant: WallInstant)?
    /// Who holds the machine, and since when; nil while it is not held.
    var hold: MachineHold?
    var isStopping: Bool
    /// Why the state cannot be saved for now, so that no run starts; nil if it can be saved.
    var storeError: String?
    /// What is wrong with the configuration that was read last, so that an earlier one is used; nil
    /// if it is used.
    var refusal: String?

    var text: String {
        var parts = [plural(jobs, "job")]
        if paused > 0 { parts.append("\(paused) paused") }
        if running > 0 { parts.append("\(running) running") }
        if rejected > 0 { parts.append("\(plural(rejected, "job")) rejected") }
        var counts = parts.joined(separator: ", ")
        if isStopping { return "Stopping; \(counts)" }
        if let refusal { counts += "; \(refusal)" }
        if let storeError {
            return "\(counts); runs wait, since the state cannot be saved: \(storeError)"
        }
        if let hold {
            let since = LocalTime.text(hold.since.wall)
            return "\(counts); held by \(hold.by) since \(since), no run starts"
        }
        guard let next else { return "\(counts); nothing due" }
        return "\(counts); next is \(next.job) at \(LocalTime.text(next.instant))"
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The table `[fleet]`, and the rule about it and jobs.
extension Decoder {
    /// Checks the values of the table together, once it is read. Each of them was checked before.
    mutating func checkFleet(_ entry: TomlEntry, _ reader: inout FileReader) {
        let isFirst = !hasFleet
        hasFleet = true
        guard isFirst else {
            return reader.report(
                Fault(entry.mark, "is in another file already; a machine belongs to one fleet"),
                "[fleet]")
        }
        guard reader.count == 0, let fault = (settings.fleet ?? FleetSettings()).fault else {
            return
        }
        reader.report(Fault(entry.mark, fault), "[fleet]")
    }

    /// A job can only be shared by the machines of a fleet if this machine belongs to one.
    /// - Returns: how many errors it found beyond those it added.
    /// - Complexity: O(*n*) in the number of jobs.
    func leaveOutWithoutFleet(
        _ kept: inout [Job], _ errors: inout [ConfigError], _ rejected: inout [String]
    ) -> Int {
        guard !hasFleet, !fleetPlaces.isEmpty else { return 0 }
        return leaveOut(from: &kept, &errors, &rejected, at: fleetPlaces) { job in
            guard job.fleet != nil else { return nil }
            return "fleet: there is no table [fleet]; add it, with name and etcd"
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The table `[fleet]`, and the rule about it and jobs.
extension Decoder {
    /// Checks the values of the table together, once it is read. Each of them was checked before.
    ///
    /// - Parameter isRight: whether no value of it was refused.
    mutating func checkFleet(_ entry: TomlEntry, isRight: Bool, _ reader: inout FileReader) {
        let isFirst = !hasFleet
        hasFleet = true
        guard isFirst else {
            return reader.report(
                Fault(entry.mark, "is in another file already; a machine belongs to one fleet"),
                "[fleet]")
        }
        guard isRight, let fault = (settings.fleet ?? FleetSettings()).fault else {
            return
        }
        reader.report(Fault(entry.mark, fault), "[fleet]")
    }

    /// A job can only be shared by the machines of a fleet if this machine belongs to one, and a job that
    /// each machine runs for itself needs a name of its own on it.
    /// - Complexity: O(*n*) in the number of jobs.
    func leaveOutWithoutFleet(_ found: inout RuleFaults) {
        guard !fleetPlaces.isEmpty else { return }
        let areOnEachMachine = found.jobs.contains { $0.fleet?.template != nil }
        let names = areOnEachMachine ? Set(jobs.map(\.name)) : []
        let machine = machine
        let hasFleet = hasFleet || surroundings?.hasFleet ?? false
        defer { if !hasFleet { found.lacksTables = true } }
        leaveOut(&found, at: fleetPlaces) { job in
            guard let fleet = job.fleet else { return nil }
            guard hasFleet else {
                return "fleet: there is no table [fleet]; add it, with name and etcd"
            }
            guard fleet.template != nil else { return nil }
            guard let name = MachineName(machine).flatMap({ job.name.instance(on: $0) }) else {
                return
                    "fleet: the name \"\(job.name)@\(machine)\", which it has on this machine, is no job name: "
                    + "it is too long, or machine is missing in [fleet]"
            }
            return names.contains(name)
                ? "fleet: on this machine it is \"\(name)\", which is another job; rename one of them"
                : nil
        }
    }

    /// The name of this machine in its fleet.
    private var machine: String {
        (settings.fleet ?? FleetSettings()).machineName
    }

    /// Where a job is written. One that each machine runs for itself is written without its machine.
    func place(of job: Job.Name) -> Place? {
        if let place = places[job.description] ?? templatePlaces[job.description] { return place }
        guard let machine = MachineName(machine) else { return nil }
        return fleetPlaces.keys.first { $0.instance(on: machine) == job }
            .flatMap { places[$0.description] }
    }

    /// Gives the jobs that each machine runs for itself the names that they have on this machine.
    /// - Complexity: O(*n*) in the number of jobs.
    func nameForMachine(_ kept: inout [Job]) {
        guard !fleetPlaces.isEmpty, let machine = MachineName(machine) else { return }
        for index in kept.indices {
            guard let template = kept[index].fleet?.template else { continue }
            kept[index].name = template.instance(on: machine) ?? template
        }
    }
}

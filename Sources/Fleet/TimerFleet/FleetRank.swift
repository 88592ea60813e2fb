// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// Who starts a job when all is quiet, and in which order the others follow if it does not.
public enum FleetRank {
    /// The machines that may start a job, the first one first: those it prefers in the order of its
    /// list, then the others by rendezvous hashing (Thaler, Ravishankar, 1998), so that a machine
    /// that leaves changes nothing for the jobs of the others.
    ///
    /// A machine is left out if it is unfit, if it has another definition of the job, or if it lacks
    /// one of the labels.
    ///
    /// - Complexity: O(*n* log *n*) in the machines.
    public static func order(
        of job: Job.Name, definition: String, labels: Set<String> = [], prefer: [MachineName] = [],
        among members: [MachineName: MemberValue]
    ) -> [MachineName] {
        members.filter { _, member in
            member.isFit && member.definitions[job] == definition
                && labels.isSubset(of: member.labels)
        }.keys.map { machine in
            (prefer.firstIndex(of: machine) ?? prefer.count, weight(of: machine, for: job), machine)
        }.sorted {
            if $0.0 != $1.0 { return $0.0 < $1.0 }
            return $0.1 != $1.1 ? $0.1 > $1.1 : $0.2 < $1.2
        }.map(\.2)
    }

    /// The last steps mix the bits: names of machines differ in their last characters only, and FNV
    /// changes few of the high bits by these.
    static func weight(of machine: MachineName, for job: Job.Name) -> UInt64 {
        var hash = FNV1a.hash("\(job)/\(machine)".utf8)
        hash = (hash ^ (hash >> 30)) &* 0xbf58_476d_1ce4_e5b9
        hash = (hash ^ (hash >> 27)) &* 0x94d0_49bb_1331_11eb
        return hash ^ (hash >> 31)
    }
}

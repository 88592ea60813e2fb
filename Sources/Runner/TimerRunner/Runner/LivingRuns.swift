// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import TimerCore
import TimerRunnerProtocol

/// Finds the processes of runs that an earlier runner has started, and that have no record any more because its
/// directory was emptied. A job that still runs must not start a second time beside it.
enum LivingRuns {
    /// The variable with the runtime directory, by which a runner without control groups finds its runs.
    static let variable = "TIMERD_RUNTIME"

    typealias Found = (run: Run.ID, process: RunRegistry.Process)

    /// The runs in the control groups of runners that have ended.
    /// - Complexity: O(*n*) files to read in the number of processes in them.
    static func inGroups(_ groups: ControlGroups) -> [Found] {
        groups.left().flatMap { name in
            main(
                groups.processes(in: name).compactMap { candidate(pid: $0) }
                    // The process chooses its own environment, and not the name of its group.
                    .filter { ControlGroups.isGroup(name, of: $0.run) }, controlGroup: name)
        }
    }

    /// The runs of this user with this runtime directory. Those of other users are not searched: a user could
    /// present any process as a run.
    /// - Complexity: O(*n*) files to read in the number of processes of the machine.
    static func withRuntime(_ path: String) -> [Found] {
        let candidates = Descriptor.names(at: "/proc").compactMap { name -> Candidate? in
            var status = stat()
            guard let pid = Int32(name), pid > 0, lstat("/proc/\(pid)", &status) == 0,
                // As that of a run does, it leads a session.
                status.st_uid == geteuid(), getsid(pid) == pid, let found = candidate(pid: pid),
                found.runtime == path
            else { return nil }
            return found
        }
        return main(candidates, controlGroup: nil)
    }

    private struct Candidate {
        var pid: Int32
        var run: Run.ID
        var runtime: String?
        /// CLOCK_BOOTTIME in nanoseconds, in which tick it was created.
        var made: ClosedRange<Int64>
    }

    /// A process with the variables of a run.
    private static func candidate(pid: Int32) -> Candidate? {
        guard let stat = ProcFile.text("/proc/\(pid)/stat"),
            let start = RunRegistry.Process.start(in: stat),
            let environment = ProcFile.text("/proc/\(pid)/environ")
        else { return nil }
        func value(_ name: String) -> String? {
            let prefix = "\(name)=".utf8
            return environment.utf8.split(separator: 0).first { $0.starts(with: prefix) }
                .map { String(Substring($0.dropFirst(prefix.count))) }
        }
        guard let run = value("TIMERD_RUN_ID").flatMap({ Run.ID($0) }) else { return nil }
        let tick = RunRegistry.Process.tick
        return Candidate(
            pid: pid, run: run, runtime: value(variable),
            made: start * tick...(start + 1) * tick - 1)
    }

    /// The first process of each run. What it has started may lead sessions as well.
    private static func main(_ candidates: [Candidate], controlGroup: String?) -> [Found] {
        let first = Dictionary(candidates.map { ($0.run, $0) }) {
            ($0.made.lowerBound, $0.pid) <= ($1.made.lowerBound, $1.pid) ? $0 : $1
        }
        return first.values.map { found in
            let age = max(0, RunnerClock.boot().nanoseconds - found.made.lowerBound)
            return (
                found.run,
                RunRegistry.Process(
                    pid: found.pid, made: found.made, began: RunnerClock.awake() - age,
                    beganAt: RunnerClock.wall() + .nanoseconds(-age), deadline: nil,
                    killTimeout: Execution().killTimeout, controlGroup: controlGroup)
            )
        }
    }
}

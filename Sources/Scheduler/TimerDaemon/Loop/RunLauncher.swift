// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import TimerCore

/// Starts runs and controls them. What happens to them comes back as events of the loop.
package protocol RunLauncher: Sendable {
    /// Starts the runs, in this order, without waiting for any, but none of their programs before
    /// its instant, which is less than a second from now.
    func start(_ runs: [(run: Run, notBefore: AwakeInstant)])
    /// Checks the condition of a run. The answer comes once, unless a later request for the same run
    /// replaces this one.
    func check(_ run: Run, number: UInt64)
    /// Ends a run: SIGTERM to its process group, after the grace SIGKILL.
    func end(_ run: Run.ID, grace: Duration)
    /// Suspends a run, and its time limit with it.
    func suspend(_ run: Run.ID)
    /// Resumes it.
    func resume(_ run: Run.ID)
    /// Sends a signal to its process group.
    func signal(_ run: Run.ID, _ number: Int32)
    /// Calls `done` once every end of a run that happened before this call was reported.
    func barrier(_ done: @escaping @Sendable () -> Void)
    /// Calls `done` once runs start at once, because the runner has the definitions of the jobs.
    func prepare(_ done: @escaping @Sendable () -> Void)
    /// The end of this run is stored, so the launcher can forget it.
    func forget(_ run: Run.ID)
    /// The configuration is being read again. The runner reads it too, and keeps its earlier
    /// definitions for the jobs that have not changed yet.
    func refresh()
    /// All jobs now have their new definitions, so the earlier ones can be forgotten.
    func forgetFormer()
    /// These one-off jobs are over: the runner deletes their definitions.
    func discard(_ jobs: [Job.Name])
}

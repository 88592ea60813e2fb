// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
public import TimerCore

/// What a caller can tell the runner about its runs; each command is handled on the thread of the runner.
extension Runner {
    /// Terminates a run: SIGTERM to its process group, after `grace` SIGKILL. The run ends as
    /// `stopped`; a run that has not started yet never starts. A second call can only shorten the
    /// grace period.
    public func end(_ run: Run.ID, grace: Duration) { mailbox.post(.end(run, grace: grace)) }

    /// Suspends the process group of a run by SIGSTOP; its time limit is suspended with it.
    public func suspend(_ run: Run.ID) { mailbox.post(.suspend(run)) }

    /// Resumes a suspended run and its time limit.
    public func resume(_ run: Run.ID) { mailbox.post(.resume(run)) }

    /// Sends a signal to the process group of a run. A run that has not started yet gets it right
    /// after its start; for a run that has ended it is ignored.
    public func signal(_ run: Run.ID, _ number: Int32) { mailbox.post(.signal(run, number)) }

    /// Limits how many runs are active at once from now on; further runs start when others have
    /// ended. Runs that are already active continue. There is no limit before the first call.
    public func limit(to activeMax: Int) { mailbox.post(.limit(activeMax)) }

    /// From now on only the runs of these users are started; nil: those of all users. Active runs are not affected.
    public func allow(_ users: AllowedUsers?) { accounts.allowedUsers.withLock { $0 = users } }

    /// Continues to read the output of these runs, because there is room for it again.
    func resumeReading(_ runs: [Run.ID]) { mailbox.post(.resumeReading(runs)) }

    /// Calls `done` on the runner's thread when every end that has happened before this call is
    /// reported. After a shutdown `done` is not called.
    public func barrier(_ done: @escaping @Sendable () -> Void) {
        mailbox.post(.barrier(RunnerMailbox.Barrier(isPassed: done)))
    }

    /// Removes the record of this run, because its end is stored elsewhere. This also works after a
    /// shutdown.
    public func forget(_ run: Run.ID) { registry.remove(run) }

    /// The same as `shutdown`, but returns at once.
    func shutDownSoon(grace: Duration) { mailbox.post(.shutDown(grace)) }

    /// Terminates every run, by SIGTERM and after `grace` by SIGKILL, and then the thread. Their
    /// ends are reported as usual, as `stopped`. Returns when that is done, after at most `grace`
    /// and `killWait`; nothing is started afterwards. A second call can only shorten the grace
    /// period. The handler must not call this method, which waits for the handler's thread.
    public func shutdown(grace: Duration) {
        mailbox.post(.shutDown(grace))
        done.wait()
        // A further call of this method also returns.
        done.signal()
    }
}

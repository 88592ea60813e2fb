// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostThreads
import Synchronization
import TimerConfig
package import TimerCore

/// One-off jobs, each of which has a file of its own.
extension Reloader {
    /// Loads a one-off job whose definition was written. This runs on the queue of the reloads, so
    /// that the result of an earlier reload comes first.
    package func takeOneOff(
        _ job: Job.Name, by initiator: String,
        done: @escaping @Sendable (Loop.OneOffAnswer) -> Void
    ) {
        queue.async { [self] in
            let settings = state.withLock(\.settings)
            let definition: Job
            do throws(ConfigError) {
                definition = try ConfigReader.loadOneOff(
                    job.description, path: path, ownerUID: user, settings: settings)
            } catch { return done(.refused("\(error)")) }
            loop.later {
                $0.include(definition, jobsMax: settings.jobsMax, by: initiator, reply: done)
            }
        }
    }

    /// Removes a one-off job whose definition was deleted.
    package func cancelOneOff(
        _ job: Job.Name, by initiator: String,
        done: @escaping @Sendable (Loop.OneOffAnswer) -> Void
    ) {
        queue.async { [loop] in loop.later { $0.exclude(job, by: initiator, reply: done) } }
    }
}

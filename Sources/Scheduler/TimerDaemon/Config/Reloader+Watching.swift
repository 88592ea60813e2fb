// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import Logging
import Synchronization
import TimerConfig
package import TimerCore
import TimerZones

extension Reloader {
    /// Starts or stops the watch on the files, as the configuration says.
    func watch(_ settings: DaemonSettings) {
        guard settings.autoReload else {
            return state.withLock { state in
                state.watch?.end()
                state.watch = nil
            }
        }
        guard state.withLock({ $0.watch == nil }) else { return }
        let notices: Inotify
        do throws(Inotify.Failure) { notices = try Inotify() } catch {
            log.warning("\(ConfigWatch.complaint(ofStart: error))")
            return
        }
        let watch = ConfigWatch(
            path, notices: notices, alarm: .on(queue),
            changed: { [weak self] in self?.reloadIfChanged() },
            complain: { [log] in log.warning("\($0)") })
        let files = state.withLock { state in
            state.watch = watch
            return state.datesFiles
        }
        watch.look(for: files.keys)
        watch.begin(on: queue)
    }

    /// Takes the rules of time zones that have changed on the machine, and reloads if jobs wait for a
    /// zone that is there again.
    ///
    /// - Parameter rules: those of the zones that jobs use.
    package func zonesChanged(_ rules: [String: ZoneRules]) {
        queue.async { [self] in
            let missing = state.withLock { state in
                state.zones.merge(rules) { $1 }
                return state.missingZones
            }
            let files = ZoneFiles(folder: zoneFolder)
            guard missing.contains(where: { (try? files.rules(named: $0)) != nil }) else { return }
            let digest = digest()
            // Without auto-reload a change of the files waits for a request.
            let (known, dates, isAutomatic) = state.withLock {
                ($0.digest, $0.datesFiles, $0.settings.autoReload)
            }
            let mayReload = isAutomatic || known == digest && !haveDatesChanged(dates)
            guard mayReload else { return }
            // The result is in the log, so there is nothing to do with it here.
            reload(.zones, digest: digest) { _ in }
        }
    }

    private func haveDatesChanged(_ known: [String: Int]) -> Bool {
        ConfigReader.haveChanged(known, path: path, ownerUID: user)
    }

    /// Reloads if the files have other contents than when they were read last. This is also true
    /// after a refused reload, so that a bad change is reported once.
    func reloadIfChanged() {
        guard state.withLock({ $0.watch != nil }) else { return }
        let digest = digest()
        let (known, files) = state.withLock { ($0.digest, $0.datesFiles) }
        guard digest != known || haveDatesChanged(files) else { return }
        // The result is in the log, so there is nothing to do with it here.
        reload(.change, digest: digest) { _ in }
    }
}

/// One-off jobs, each of which has a file of its own.
extension Reloader {
    /// Loads a one-off job whose definition was written. This runs on the queue of the reloads, so
    /// that the result of an earlier reload comes first.
    package func loadOneOff(
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

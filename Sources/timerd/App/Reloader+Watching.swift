// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization
import TimerConfig

/// Reloads when the files have changed.
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
        state.withLock { $0.watch = watch }
        watch.begin(on: queue)
    }

    /// Reloads if the files have other contents than when they were read last. This is also true
    /// after a refused reload, so that a bad change is reported once.
    func reloadIfChanged() {
        guard state.withLock({ $0.watch != nil }) else { return }
        let digest = digest()
        guard digest != state.withLock(\.digest) else { return }
        // The result is in the log.
        reload(.change, digest: digest) { _ in }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerRunnerProtocol

/// What the configuration says about all runs, as of the last reading that took effect, and why a
/// later one could not be read.
struct ConfigRules {
    private var notifiers: [Notifier.Name: Notifier] = [:]
    /// The reason why the configuration could not be read the last time.
    private var unreadable: String?
    /// The `max-concurrent` for which the limit of open files is too low, once that is logged.
    private var warnedActiveMax: Int?

    /// Applies the rules of a reading.
    ///
    /// - Parameters:
    ///   - placesMax: how many runs the limit of open files allows at once.
    ///   - openFiles: that limit.
    /// - Returns: a warning to log if it is too low. The others wait then, and the reason would not
    ///   be seen anywhere. It is returned once for each `max-concurrent`.
    mutating func apply(
        _ rules: RunnerServer.RunRules, placesMax: Int, openFiles: @autoclosure () -> Int
    ) -> String? {
        notifiers = rules.notifiers
        unreadable = nil
        let activeMax = rules.activeMax
        guard activeMax != Int.max, placesMax < activeMax else {
            warnedActiveMax = nil
            return nil
        }
        guard warnedActiveMax != activeMax else { return nil }
        warnedActiveMax = activeMax
        return
            "the limit of open files, \(openFiles()), is enough for \(placesMax) runs at a time, and "
            + "max-concurrent is \(activeMax): further runs wait; raise LimitNOFILE= of timerd-runner.service, "
            + "or ulimit -n where the runner is started, or lower max-concurrent"
    }

    /// The configuration could not be read; the rules do not change.
    mutating func fail(_ reason: String) { unreadable = reason }

    /// - Throws: the reason why there is none of this name.
    func notifier(_ name: Notifier.Name) throws(Spawner.Failure) -> Notifier {
        if let notifier = notifiers[name] { return notifier }
        throw unread
            ?? Spawner.failure(ENOENT, "find the notifier \(name) in the current configuration")
    }

    /// The reason why a run cannot start whose definition is unknown.
    /// - Parameter isKnown: whether the job has another definition.
    func refusal(isKnown: Bool) -> Spawner.Failure {
        if let unread { return unread }
        guard isKnown else {
            return Spawner.failure(ENOENT, "find the job in the current configuration")
        }
        return Spawner.failure(
            ESTALE,
            "find the definition with which the job fired; the configuration has changed since")
    }

    private var unread: Spawner.Failure? {
        unreadable.map { Spawner.failure(EINVAL, "read the configuration: \($0)") }
    }
}

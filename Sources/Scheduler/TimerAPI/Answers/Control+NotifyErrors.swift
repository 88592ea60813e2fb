// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import TimerControl
package import TimerCore

/// The errors for a notifier or a message that does not exist: what is wrong, and what to do next.
extension ErrorReply {
    /// There is no notifier with this name.
    ///
    /// - Parameters:
    ///   - known: the names of the notifiers.
    ///   - config: the path of the configuration.
    package static func noSuchNotifier(
        _ name: Notifier.Name, among known: [Notifier.Name], config: String
    ) -> ErrorReply {
        guard !known.isEmpty else {
            return ErrorReply(
                "no notifier is named \"\(name)\", because none is configured: add a table such as [notify.ops] to \(config), then `timerctl reload`",
                code: .noSuchNotifier)
        }
        let near = nearestName(name.description, among: known.map(\.description))
        let hint = near.map { " (did you mean \"\($0)\"?)" } ?? ""
        return ErrorReply(
            "no notifier is named \"\(name)\"\(hint); `timerctl notify list` lists them",
            code: .noSuchNotifier)
    }

    /// There is no message with this number.
    ///
    /// - Parameter last: the highest number that a message ever had; 0 if there was none.
    package static func noSuchMessage(_ number: Int64, last: Int64) -> ErrorReply {
        let why: String
        if last == 0 {
            why = "there is no message \(number), because none was created yet"
        } else if number > last || number < 1 {
            why = "there is no message \(number); the latest is \(last)"
        } else {
            why = "message \(number) was deleted, because it is too old"
        }
        let next =
            last == 0
            ? "`timerctl notify test NOTIFIER` sends a test" : "`timerctl notify list` lists them"
        return ErrorReply("\(why); \(next)", code: .noSuchMessage)
    }
}

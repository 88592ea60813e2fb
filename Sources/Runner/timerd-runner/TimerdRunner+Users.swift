// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles

/// The users that the options name.
extension TimerdRunner {
    /// The user whose scheduler may connect; by default the user of this process.
    func scheduler() throws -> UInt32 {
        guard let schedulerUser else { return geteuid() }
        switch UserDatabase.user(named: schedulerUser) {
        case .found(let user): return user.uid
        case .missing:
            throw Directory.Failure(
                description: "--scheduler-user: there is no user \"\(schedulerUser)\"")
        case .failed(let code):
            throw Directory.Failure(
                description: "--scheduler-user: cannot look up the user \"\(schedulerUser)\": "
                    + "\(String(cString: strerror(code))); try again when the user database answers"
            )
        }
    }

    /// The user as whom messages are sent: not root, who could read everything, and not the user of
    /// the scheduler, who could change it. A runner of another user has no choice.
    func messageUser() throws -> String? {
        guard geteuid() == 0 else { return nil }
        if let notifyUser {
            guard Self.isUser(notifyUser) else {
                throw Directory.Failure(
                    description: "--notify-user: there is no user \"\(notifyUser)\"")
            }
            return notifyUser
        }
        return Self.isUser(Self.standardMessageUser) ? Self.standardMessageUser : "nobody"
    }

    private static let standardMessageUser = "timerd-notify"

    private static func isUser(_ name: String) -> Bool {
        if case .found = UserDatabase.user(named: name) { true } else { false }
    }
}

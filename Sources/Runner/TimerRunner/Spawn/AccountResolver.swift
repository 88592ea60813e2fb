// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import TimerCore

/// Finds the user as whom a run executes, and whether it may.
final class AccountResolver: Sendable {
    /// Looks up the names of a user and a group; the third is the account of this process.
    typealias Find = @Sendable (String?, String?, Account) throws(Spawner.Failure) -> Account

    private let current = Account.current()
    private let refusedUser: UInt32?
    private let find: Find
    /// The users whose runs may start; nil for all users.
    let allowedUsers = Mutex<AllowedUsers?>(nil)

    /// - Parameter refusedUser: as whom no run may execute; nil for none.
    init(refusing refusedUser: UInt32?, find: @escaping Find) {
        self.refusedUser = refusedUser
        self.find = find
    }

    /// The account of a run, or why it cannot have it. It may take any time, see `UserDatabase`.
    func resolve(_ key: AccountLookUps.Key) -> Result<Account, Spawner.Failure> {
        do throws(Spawner.Failure) {
            let found = try find(key.user, key.group, current)
            guard found.identity == nil || found.identity?.user != refusedUser else {
                throw Spawner.failure(
                    EPERM,
                    "run as \(found.name), who is the user of the scheduler: give the job another user"
                )
            }
            // The rule is for the users of jobs, and not for messages.
            if !key.isMessage, let allowed = allowedUsers.withLock(\.self) {
                try found.check(isOneOf: allowed, named: key.user)
            }
            return .success(found)
        } catch {
            return .failure(error)
        }
    }
}

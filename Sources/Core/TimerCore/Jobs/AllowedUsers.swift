// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Users whom a setting allows something: to be the user of a job, or to control jobs.
public struct AllowedUsers: Hashable, Sendable {
    /// The names of users who are allowed by themselves.
    public var users: Set<String>
    /// The groups whose members are allowed, in the order of the configuration.
    public var groups: [String]

    /// Allows these users, and the members of these groups.
    public init(users: Set<String>, groups: [String]) {
        self.users = users
        self.groups = groups
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The users that jobs may run as.
public struct AllowedUsers: Hashable, Sendable {
    /// Their names.
    public var users: Set<String>
    /// The groups whose members they may be, in the order in which they are named.
    public var groups: [String]

    /// These users, and the members of these groups.
    public init(users: Set<String>, groups: [String]) {
        self.users = users
        self.groups = groups
    }
}

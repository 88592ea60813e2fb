// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A place where the accounts of named timers are saved, so that they survive the end of the
/// program.
///
/// A group calls its store one call at a time: on the queue that saves, in the threads that create
/// timers, and in those that call `save()`. The store may take long, but must not call the group.
public protocol AccountStore: Sendable {
    /// The account that was last saved under this name; nil if there is none.
    func load(_ name: String) throws -> TimerAccount?

    /// Saves an account. It replaces the one that was saved under this name before.
    func save(_ account: TimerAccount, as name: String) throws

    /// Deletes the account with this name. Does nothing if there is none.
    func remove(_ name: String) throws
}

/// The reason why accounts cannot be loaded or saved.
public struct AccountStoreError: Error, Sendable, CustomStringConvertible {
    /// A sentence that says where the error is, what is wrong and what to do next.
    public let description: String

    init(_ description: String) { self.description = description }
}

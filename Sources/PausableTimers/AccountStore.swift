// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Where the accounts of named timers outlive the program.
public protocol AccountStore: Sendable {
    /// The account last saved under this name; nil if there is none.
    func load(_ name: String) throws -> TimerAccount?

    /// Saves an account, in place of the one saved before under this name.
    func save(_ account: TimerAccount, as name: String) throws

    /// Forgets the account of this name; nothing happens if there is none.
    func remove(_ name: String) throws
}

/// Why accounts cannot be loaded or saved.
public struct AccountStoreError: Error, Sendable, CustomStringConvertible {
    /// A sentence that says where, what is wrong and what to do.
    public let description: String

    init(_ description: String) { self.description = description }
}

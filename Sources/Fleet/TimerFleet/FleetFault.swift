// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Why a key or a value of the fleet's store cannot be used.
public struct FleetFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// The key, if it is known.
    public var key: String?
    /// What is wrong with it.
    public var message: String

    init(_ message: String) { self.message = message }

    public var description: String {
        (key.map { "\($0): " } ?? "") + message
            + "; all machines of a fleet must run the same version of timerd, "
            + "and nothing else may write to its keys"
    }

    /// The same fault with the key at which it is.
    func at(_ key: FleetKey, of fleet: String) -> Self {
        var fault = self
        fault.key = key.path(in: fleet)
        return fault
    }
}

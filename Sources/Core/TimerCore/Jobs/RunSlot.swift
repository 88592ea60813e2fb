// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One table `[slot.NAME]` of the configuration: a limit on how many runs are active at the same
/// time, over all jobs that name it in `slots`.
public struct RunSlot: Hashable, Sendable, NamedTable {
    public typealias Name = TableName<RunSlot>
    public static let kind = "slot"

    /// Its name, which jobs give in `slots`.
    public var name: Name
    /// How much may be taken of it at the same time, in `range`.
    public var max: Int

    /// The values that `max` and the weight of a use can have.
    public static let range: ClosedRange<Int64> = 1...10_000

    public init(name: Name, max: Int) {
        self.name = name
        self.max = max
    }

    /// How much each active run of a job takes of a slot.
    public struct Use: Hashable, Sendable {
        public var name: Name
        /// At least 1, and at most `max` of the slot.
        public var weight: Int

        public init(_ name: Name, weight: Int = 1) {
            self.name = name
            self.weight = weight
        }
    }
}

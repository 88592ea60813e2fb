// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The answer to `GET /v1/slots`.
public struct SlotsReply: Codable, Hashable, Sendable {
    /// All slots of the configuration, by name.
    public var slots: [SlotStatus]

    public init(slots: [SlotStatus]) { self.slots = slots }
}

/// A slot, with the runs that hold it and those that wait for it.
public struct SlotStatus: Codable, Hashable, Sendable {
    /// The name, which jobs give in `slots`.
    public var slot: String
    /// How much may be taken of it at the same time.
    public var max: Int
    /// How much is taken. It can be more than `max` after a reload that lowered that.
    public var taken: Int
    /// The runs that hold it, in the order in which they took it.
    public var holders: [SlotHolder]
    /// The runs that wait for it, in their order.
    public var waiting: [String]

    public init(_ view: RunSlotView) {
        slot = view.slot.name.description
        max = view.slot.max
        taken = view.held
        holders = view.holders.map {
            SlotHolder(
                job: $0.job.description, run: $0.run.description, weight: $0.weight,
                began: $0.began?.rfc3339Micros)
        }
        waiting = view.waiting.map(\.description)
    }
}

/// A run that holds a slot.
public struct SlotHolder: Codable, Hashable, Sendable {
    /// The job that it belongs to now.
    public var job: String
    /// The identity of the run.
    public var run: String
    /// How much it takes of the slot.
    public var weight: Int
    /// When its process started, RFC 3339; absent while it is being started.
    public var began: String?
}

/// What each active run of a job takes of a slot.
public struct SlotUse: Codable, Hashable, Sendable {
    /// The name of the slot.
    public var slot: String
    /// How much it takes, at least 1.
    public var weight: Int

    init(_ use: RunSlot.Use) {
        slot = use.name.description
        weight = use.weight
    }
}

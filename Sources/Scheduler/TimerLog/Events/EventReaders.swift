// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The readers of the events: how far each of them is, and when something is sent to it. It uses no clock and no
/// connection.
package struct EventReaders {
    /// The most readers at the same time.
    static let countMax = 8
    /// The most readers of users who may only read: of all such users together, and of one. The other places are
    /// reserved for root and the daemon's user.
    static let guestsMax = 6
    static let perGuestMax = 4
    /// How long after a message the next one with events follows.
    static let frameInterval: Duration = .milliseconds(100)
    /// How long after a message one without content follows.
    static let commentInterval: Duration = .seconds(15)

    package typealias ID = UInt64

    struct Reader {
        /// The user if it may only read; nil for root and the daemon's user.
        var guest: UInt32?
        /// The last event that it has, or that is not for it.
        var after: UInt64
        /// Only events of this job are for it; nil: all.
        var job: Job.Name?
        /// The last event that it gets; nil: there is none.
        var last: UInt64?
        /// Whether nothing can be sent to it: it did not begin, or has not taken the last message.
        var isTaking = true
        /// When something was sent to it, and when that were events.
        var sent: AwakeInstant?
        var framed: AwakeInstant?

        /// Whether it has all events that it gets; false of a reader that follows without an end.
        var isComplete: Bool { last.map { after >= $0 } ?? false }
    }

    private(set) var all: [ID: Reader] = [:]
    private var next: ID = 1

    subscript(id: ID) -> Reader? { all[id] }

    var isEmpty: Bool { all.isEmpty }

    /// Adds a reader.
    /// - Returns: nil, or why there must be no such reader.
    mutating func admit(_ reader: Reader) -> (id: ID?, refusal: String?) {
        if let guest = reader.guest {
            let guests = all.values.filter { $0.guest != nil }
            guard guests.count(where: { $0.guest == guest }) < Self.perGuestMax else {
                return (
                    nil,
                    "you follow the events \(Self.perGuestMax) times already, the limit for a "
                        + "user; end one of them, or try again later"
                )
            }
            guard guests.count < Self.guestsMax else {
                return (
                    nil,
                    "users who may only look follow the events \(Self.guestsMax) times "
                        + "already, the limit for them; try again later"
                )
            }
        }
        guard all.count < Self.countMax else {
            return (
                nil,
                "the events are followed by \(Self.countMax) readers, which is the limit; "
                    + "end one of them, or try again later"
            )
        }
        defer { next += 1 }
        all[next] = reader
        return (next, nil)
    }

    mutating func remove(_ id: ID) { all[id] = nil }

    /// Something is on its way to a reader.
    ///
    /// - Parameter isFrame: whether there are events in it, which others do not follow at once.
    mutating func noteSent(_ id: ID, isFrame: Bool, at now: AwakeInstant) {
        all[id]?.isTaking = true
        all[id]?.sent = now
        if isFrame { all[id]?.framed = now }
    }

    /// A reader has taken what was sent to it.
    mutating func noteTaken(_ id: ID) { all[id]?.isTaking = false }

    /// A reader has all events through this one, or they are not for it.
    mutating func advance(_ id: ID, through number: UInt64) {
        guard let reader = all[id] else { return }
        all[id]?.after = min(number, reader.last ?? number)
    }

    /// No reader gets an event behind this one.
    mutating func end(at number: UInt64) {
        for (id, reader) in all {
            all[id]?.last = min(reader.last ?? number, number)
            all[id]?.after = min(reader.after, number)
        }
    }

    /// The readers that events can be sent to, if the latest has this number.
    func due(newest: UInt64, at now: AwakeInstant) -> [ID] {
        all.filter { _, reader in
            !reader.isTaking && reader.wants(newest) && reader.frameAt.map { $0 <= now } ?? true
        }.keys.sorted()
    }

    /// The readers without events that have waited so long that they get a message without content.
    func quiet(newest: UInt64, at now: AwakeInstant) -> [ID] {
        all.filter { _, reader in
            !reader.isTaking && !reader.wants(newest) && reader.commentAt.map { $0 <= now } ?? false
        }.keys.sorted()
    }

    /// When to look again, if no event comes before and no reader takes something; nil: not at all.
    func nextInstant(newest: UInt64) -> AwakeInstant? {
        all.values.filter { !$0.isTaking }.compactMap { reader in
            reader.wants(newest) ? reader.frameAt ?? reader.sent : reader.commentAt
        }.min()
    }
}

extension EventReaders.Reader {
    fileprivate var frameAt: AwakeInstant? { framed.map { $0 + EventReaders.frameInterval } }

    fileprivate var commentAt: AwakeInstant? { sent.map { $0 + EventReaders.commentInterval } }

    /// Whether there are events for it, or a gap: a higher number than there is comes from another start of the daemon.
    fileprivate func wants(_ newest: UInt64) -> Bool { after != newest || isComplete }
}

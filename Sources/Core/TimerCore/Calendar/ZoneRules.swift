// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The rules of a time zone as a value: the offset from UTC at each instant.
///
/// They are read from the bytes of a TZif file (RFC 9636), including its footer, which contains the
/// rules for the time after the last listed transition. As in the file, instants are whole seconds
/// since 1970.
public struct ZoneRules: Hashable, Sendable {
    /// The name under which it was read, such as `Europe/Berlin`.
    public let name: String
    /// Whether it was read as the zone of the machine, with whatever name. If so, it changes when
    /// the machine gets another zone.
    public var isLocal = false

    /// The instants at which the offset changes, ascending, with the offset that starts at each.
    /// Before the first instant the offset is `initial`.
    private let transitions: [Int64]
    private let offsets: [Int32]
    private let initial: Int32
    private let footer: PosixZone?

    /// It never changes, so it needs no zone file.
    public static let utc = ZoneRules(
        name: "UTC", transitions: [], offsets: [], initial: 0, footer: nil)

    /// A range of time with a constant offset.
    struct Segment: Hashable {
        /// Its first second; nil if it has no start.
        var start: Int64?
        /// The first second after it; nil if it has no end.
        var end: Int64?
        /// Seconds east of UTC.
        var offset: Int64
    }

    private init(
        name: String, transitions: [Int64], offsets: [Int32], initial: Int32, footer: PosixZone?
    ) {
        self.name = name
        self.transitions = transitions
        self.offsets = offsets
        self.initial = initial
        self.footer = footer
    }

    /// Parses a TZif file of any version.
    ///
    /// - Throws: `ZoneError` if the bytes are not a valid file.
    /// - Complexity: O(*n*) in the number of bytes.
    public init(tzif bytes: [UInt8], name: String) throws(ZoneError) {
        let file = try TZif(bytes)
        self.init(
            name: name, initial: file.initial, changes: file.changes,
            footer: try file.footer.map { (text) throws(ZoneError) in try PosixZone(text) })
    }

    /// Parses a zone in the format of the environment variable TZ, such as
    /// `CET-1CEST,M3.5.0,M10.5.0/3` (POSIX.1, 8.3).
    ///
    /// - Throws: `ZoneError` if the text is not valid.
    public init(posix text: String) throws(ZoneError) {
        let zone = try PosixZone(text)
        self.init(name: text, initial: zone.standard, changes: [], footer: zone)
    }

    /// Keeps only transitions that change the offset, and removes those that only change a name or
    /// a flag.
    private init(
        name: String, initial: Int32, changes: [(at: Int64, offset: Int32)], footer: PosixZone?
    ) {
        var transitions: [Int64] = []
        var offsets: [Int32] = []
        var current = initial
        for change in changes where change.offset != current {
            transitions.append(change.at)
            offsets.append(change.offset)
            current = change.offset
        }
        // The footer is valid from the last transition that the file contains, even if that
        // transition was removed.
        if let footer, let last = changes.last?.at {
            let segment = footer.segment(at: last)
            if Int32(segment.offset) != current {
                transitions.append(last)
                offsets.append(Int32(segment.offset))
            }
        }
        self.init(
            name: name, transitions: transitions, offsets: offsets, initial: initial, footer: footer
        )
    }

    /// Seconds east of UTC at an instant.
    /// - Complexity: O(log *n*) in the number of transitions.
    public func offset(at instant: WallInstant) -> Int {
        Int(segment(at: instant.secondsSinceEpoch).offset)
    }

    /// The next instant after `instant` at which the offset changes; nil if it never does.
    /// - Complexity: O(log *n*) in the number of transitions.
    public func nextTransition(after instant: WallInstant) -> WallInstant? {
        segment(at: instant.secondsSinceEpoch).end.map { WallInstant(secondsSinceEpoch: $0) }
    }

    /// The range of constant offset that contains an instant.
    func segment(at second: Int64) -> Segment {
        var low = 0
        var high = transitions.count
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle] <= second { low = middle + 1 } else { high = middle }
        }
        if low < transitions.count {
            return Segment(
                start: low == 0 ? nil : transitions[low - 1], end: transitions[low],
                offset: Int64(low == 0 ? initial : offsets[low - 1]))
        }
        let start = transitions.last
        guard let footer else {
            return Segment(start: start, end: nil, offset: Int64(offsets.last ?? initial))
        }
        var segment = footer.segment(at: second)
        // The footer is not valid for the time before the last transition.
        if let start, segment.start.map({ $0 < start }) ?? true { segment.start = start }
        return segment
    }
}

/// The reason why bytes or a text are not a valid time zone.
public struct ZoneError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with the zone, in words.
    public let description: String

    init(_ description: String) { self.description = description }
}

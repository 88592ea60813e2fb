// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The rules of a time zone as a value: which offset from UTC is in force at each instant, for ever.
///
/// It is read from the bytes of a TZif file (RFC 9636), including its footer, which rules the time after
/// the last transition that is listed. Instants are whole seconds since 1970 here, as in the files.
public struct ZoneRules: Hashable, Sendable {
    /// The name it was read under, such as `Europe/Berlin`.
    public let name: String
    /// Whether it was read as the machine's own zone, whatever its name, and so follows that one's changes.
    public var isLocal = false

    /// The instants at which the offset changes, ascending, and the offset from each of them on; before the
    /// first it is `initial`.
    private let transitions: [Int64]
    private let offsets: [Int32]
    private let initial: Int32
    private let footer: PosixZone?

    /// Universal time: no offset, ever.
    public static let utc = ZoneRules(
        name: "UTC", transitions: [], offsets: [], initial: 0, footer: nil)

    /// A stretch of time with one offset.
    struct Segment: Hashable {
        /// Its first second; nil if it has none.
        var start: Int64?
        /// The first second after it; nil if it never ends.
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

    /// Reads a TZif file of any version.
    ///
    /// - Throws: `ZoneError` if the bytes are not one.
    /// - Complexity: O(*n*) in the number of bytes.
    public init(tzif bytes: [UInt8], name: String) throws(ZoneError) {
        let file = try TZif(bytes)
        self.init(
            name: name, initial: file.initial, changes: file.changes,
            footer: try file.footer.map { (text) throws(ZoneError) in try PosixZone(text) })
    }

    /// Reads a zone in the form of the environment variable TZ, such as `CET-1CEST,M3.5.0,M10.5.0/3`
    /// (POSIX.1, 8.3).
    ///
    /// - Throws: `ZoneError` if the text is not one.
    public init(posix text: String) throws(ZoneError) {
        let zone = try PosixZone(text)
        self.init(name: text, initial: zone.standard, changes: [], footer: zone)
    }

    /// Keeps only what changes the offset: transitions that change a name or a flag alone are left out.
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
        // The footer holds from the last transition on, listed or not, that the file knows of.
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

    /// The stretch of one offset an instant lies in.
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
        // What the footer says of the time before the last transition is not so.
        if let start, segment.start.map({ $0 < start }) ?? true { segment.start = start }
        return segment
    }
}

/// Why bytes or a text are no time zone.
public struct ZoneError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with them.
    public let description: String

    init(_ description: String) { self.description = description }
}

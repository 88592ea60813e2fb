// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A pattern of job names as in a shell: `*` stands for any characters, `?` for one, `[a-z]` and
/// `[!a-z]` for one of a set or one that is not in it; a backslash before a character takes its
/// meaning away. Unlike fnmatch(3) it takes no exponential time, so the daemon can apply the
/// patterns of its clients.
public struct NamePattern: Hashable, Sendable {
    /// The maximum length, in characters, that a query may give a pattern.
    public static let lengthMax = 256
    /// How many patterns a query may give.
    public static let countMax = 16

    private enum Part: Hashable {
        case any, one
        case byte(UInt8)
        case set([ClosedRange<UInt8>], isNegated: Bool)

        func matches(_ byte: UInt8) -> Bool {
            switch self {
            case .any, .one: true
            case .byte(let own): own == byte
            case .set(let ranges, let isNegated):
                ranges.contains { $0.contains(byte) } != isNegated
            }
        }
    }

    private let parts: [Part]

    /// Any text is a pattern: a set that has no end stands for itself, as in fnmatch(3).
    public init(_ text: some StringProtocol) {
        var parts: [Part] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "*"): if parts.last != .any { parts.append(.any) }
            case UInt8(ascii: "?"): parts.append(.one)
            // At the end it matches nothing: no name has a NUL character.
            case UInt8(ascii: "\\"): parts.append(.byte(rest.popFirst() ?? 0))
            case UInt8(ascii: "["): parts.append(Self.set(&rest) ?? .byte(byte))
            default: parts.append(.byte(byte))
            }
        }
        self.parts = parts
    }

    /// Reads a set after its `[`; nil, and reads nothing, if it has no end.
    private static func set(_ text: inout ArraySlice<UInt8>) -> Part? {
        var rest = text
        let isNegated = rest.first == UInt8(ascii: "!") || rest.first == UInt8(ascii: "^")
        if isNegated { rest.removeFirst() }
        var ranges: [ClosedRange<UInt8>] = []
        var isFirst = true
        while var low = rest.popFirst() {
            // A bracket that comes first belongs to the set.
            if low == UInt8(ascii: "]"), !isFirst {
                text = rest
                return .set(ranges, isNegated: isNegated)
            }
            isFirst = false
            if low == UInt8(ascii: "\\") {
                guard let next = rest.popFirst() else { return nil }
                low = next
            }
            var high = low
            if rest.first == UInt8(ascii: "-"), let end = rest.dropFirst().first,
                end != UInt8(ascii: "]")
            {
                rest = rest.dropFirst(2)
                high = end
                if high == UInt8(ascii: "\\") {
                    guard let next = rest.popFirst() else { return nil }
                    high = next
                }
            }
            if low <= high { ranges.append(low...high) }
        }
        return nil
    }

    /// Whether the whole name matches.
    /// - Complexity: O(*n* × *m*) in the bytes of the name and of the pattern.
    public func matches(_ name: some StringProtocol) -> Bool {
        var bytes = Array(name.utf8)[...]
        var parts = parts[...]
        // Where to continue if what follows the last `*` does not match: the `*` takes one more byte.
        // Earlier ones need not be tried again, because they have matched what is needed.
        var saved: (bytes: ArraySlice<UInt8>, parts: ArraySlice<Part>)?
        while true {
            if parts.first == .any {
                parts = parts.dropFirst()
                saved = (bytes, parts)
                continue
            }
            if let byte = bytes.first, let part = parts.first, part.matches(byte) {
                bytes = bytes.dropFirst()
                parts = parts.dropFirst()
                continue
            }
            if bytes.isEmpty, parts.isEmpty { return true }
            guard let last = saved, !last.bytes.isEmpty else { return false }
            bytes = last.bytes.dropFirst()
            parts = last.parts
            saved = (bytes, parts)
        }
    }
}

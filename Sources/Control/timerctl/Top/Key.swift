// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A key of a terminal, as the bytes that it sends are understood.
enum Key: Hashable {
    case character(Character)
    /// The letter of a key that was pressed together with Ctrl.
    case control(Character)
    case enter, escape, backspace, up, down, left, right, pageUp, pageDown, home, end
    /// Pasted text, if the terminal marks it: it contains no commands.
    case paste(String)
}

/// Finds the keys in the bytes of a terminal, however they are divided.
struct KeyReader {
    /// The most bytes of a key or of pasted text.
    static let bytesMax = 65_536

    private var bytes: [UInt8] = []

    /// Whether the start of a key was read. An Escape that nothing follows is such a start, too.
    var isWaiting: Bool { !bytes.isEmpty }

    /// The keys that are complete with these bytes.
    /// - Complexity: O(*n*).
    mutating func read(_ more: some Sequence<UInt8>) -> [Key] {
        bytes += more
        var keys: [Key] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            var next = rest
            switch Self.key(&next) {
            case .key(let key): keys.append(key)
            case .nothing: break
            case .incomplete where rest.count > Self.bytesMax: next = []
            case .incomplete:
                bytes = Array(rest)
                return keys
            }
            rest = next
        }
        bytes = []
        return keys
    }

    /// Called if nothing more came for a while: an Escape was the Escape key, and anything else is
    /// dropped.
    mutating func finish() -> [Key] {
        defer { bytes = [] }
        return bytes.first == Self.escape && bytes.count == 1 ? [.escape] : []
    }

    private enum Part {
        case key(Key)
        /// Bytes that are not a known key, and are ignored.
        case nothing
        case incomplete
    }

    private static let escape: UInt8 = 0x1b
    private static let pasteEnd = Array("\u{1b}[201~".utf8)

    private static func key(_ rest: inout ArraySlice<UInt8>) -> Part {
        guard let byte = rest.popFirst() else { return .incomplete }
        switch byte {
        case escape: return sequence(&rest)
        case 0x0a, 0x0d: return .key(.enter)
        case 0x08, 0x7f: return .key(.backspace)
        case 0..<0x20:
            let letter = Unicode.Scalar(byte | 0x60)
            return byte == 0 ? .nothing : .key(.control(Character(letter)))
        case 0x20..<0x7f: return .key(.character(Character(Unicode.Scalar(byte))))
        default: return character(byte, &rest)
        }
    }

    /// A character of several bytes in UTF-8; incomplete if bytes of it are missing.
    private static func character(_ first: UInt8, _ rest: inout ArraySlice<UInt8>) -> Part {
        let count = (~first).leadingZeroBitCount
        guard (2...4).contains(count) else { return .nothing }
        let more = rest.prefix { $0 & 0xc0 == 0x80 }.prefix(count - 1)
        if more.count < count - 1, more.count == rest.count { return .incomplete }
        rest = rest.dropFirst(more.count)
        guard let text = String(validating: [first] + more, as: UTF8.self), text.count == 1,
            let character = text.first
        else { return .nothing }
        return .key(.character(character))
    }

    /// The bytes after an Escape (ECMA-48; xterm's "Alt" sends one before the key).
    private static func sequence(_ rest: inout ArraySlice<UInt8>) -> Part {
        guard let second = rest.first else { return .incomplete }
        switch second {
        case UInt8(ascii: "["):
            rest = rest.dropFirst()
            return controlSequence(&rest)
        case UInt8(ascii: "O"):
            rest = rest.dropFirst()
            guard let final = rest.popFirst() else { return .incomplete }
            return named(final, [])
        default: return .key(.escape)
        }
    }

    private static func controlSequence(_ rest: inout ArraySlice<UInt8>) -> Part {
        let parameters = rest.prefix { (0x20...0x3f).contains($0) }
        rest = rest.dropFirst(parameters.count)
        guard let final = rest.popFirst() else { return .incomplete }
        // The Linux console sends a second bracket with the function keys.
        if final == UInt8(ascii: "["), parameters.isEmpty {
            return rest.popFirst() == nil ? .incomplete : .nothing
        }
        guard final == UInt8(ascii: "~"), parameters.elementsEqual("200".utf8) else {
            return named(final, parameters)
        }
        guard let end = rest.indices.first(where: { rest[$0...].starts(with: pasteEnd) }) else {
            return .incomplete
        }
        let text = String(decoding: rest[..<end], as: UTF8.self)
        rest = rest[(end + pasteEnd.count)...]
        return .key(.paste(text))
    }

    /// The key of a sequence with this last byte, with or without modifiers such as Shift.
    private static func named(_ final: UInt8, _ parameters: ArraySlice<UInt8>) -> Part {
        switch final {
        case UInt8(ascii: "A"): return .key(.up)
        case UInt8(ascii: "B"): return .key(.down)
        case UInt8(ascii: "C"): return .key(.right)
        case UInt8(ascii: "D"): return .key(.left)
        case UInt8(ascii: "H"): return .key(.home)
        case UInt8(ascii: "F"): return .key(.end)
        case UInt8(ascii: "M"): return .key(.enter)
        case UInt8(ascii: "~"):
            switch parameters.first {
            case UInt8(ascii: "1"), UInt8(ascii: "7"): return single(parameters, .home)
            case UInt8(ascii: "4"), UInt8(ascii: "8"): return single(parameters, .end)
            case UInt8(ascii: "5"): return single(parameters, .pageUp)
            case UInt8(ascii: "6"): return single(parameters, .pageDown)
            default: return .nothing
            }
        default: return .nothing
        }
    }

    /// `5~` is a key, `15~` is not. After a semicolon come modifiers such as Shift.
    private static func single(_ parameters: ArraySlice<UInt8>, _ key: Key) -> Part {
        let second = parameters.dropFirst().first
        return second == nil || second == UInt8(ascii: ";") ? .key(key) : .nothing
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The name of a unit, such as `backup.timer`, `backup@.timer` or `backup@home.timer` (systemd.unit(5)).
public struct UnitName: Hashable, Sendable, CustomStringConvertible {
    /// The whole name, with its type.
    public let description: String
    /// What is before the first `@`, or before the type.
    public let prefix: String
    /// What is between the first `@` and the type; nil without an `@`, and empty in a template.
    public let instance: String?
    /// The type without the dot, such as `timer`.
    public let type: String

    /// Returns nil if `text` is not the name of a unit.
    public init?(_ text: String) {
        let bytes = text.utf8
        guard bytes.count <= 255, let dot = text.lastIndex(of: ".") else { return nil }
        let stem = text[..<dot]
        let type = String(text[text.index(after: dot)...])
        guard Self.types.contains(type), !stem.isEmpty, stem.first != "@",
            stem.utf8.allSatisfy(Self.isAllowed)
        else { return nil }
        description = text
        self.type = type
        if let at = stem.firstIndex(of: "@") {
            prefix = String(stem[..<at])
            instance = String(stem[stem.index(after: at)...])
        } else {
            prefix = String(stem)
            instance = nil
        }
    }

    static let types = [
        "service", "timer", "socket", "device", "mount", "automount", "swap", "target", "path",
        "slice", "scope",
    ]

    private static func isAllowed(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (97...122).contains(byte | 0x20)
            || ":-_.\\@".utf8.contains(byte)
    }

    /// The name without its type: `backup@home`.
    public var stem: String { String(description.dropLast(type.utf8.count + 1)) }

    /// The name as one word of a shell; the escapes in a name have backslashes.
    public var shellWord: String { ShellText.quoted(description) }

    /// Whether it needs an instance before it can be used.
    public var isTemplate: Bool { instance == "" }

    /// The template of an instance: `backup@.timer` of `backup@home.timer`; nil for another name.
    public var template: UnitName? {
        guard let instance, !instance.isEmpty else { return nil }
        return UnitName("\(prefix)@.\(type)")
    }

    /// The unit of a template with this instance; nil if the name would not be valid.
    public func instantiated(_ instance: String) -> UnitName? {
        UnitName("\(prefix)@\(instance).\(type)")
    }

    /// The unit of another type with the same name otherwise.
    public func withType(_ type: String) -> UnitName? { UnitName("\(stem).\(type)") }

    /// The directories in which drop-ins for the unit are, the most specific one first:
    /// `foo-bar@x.timer.d`, `foo-bar@.timer.d`, `foo-.timer.d`, `timer.d`.
    public var dropInDirectories: [String] {
        var names = ["\(description).d"]
        if let template { names.append("\(template).d") }
        var rest = prefix[...]
        while let dash = rest.dropLast().lastIndex(of: "-") {
            rest = rest[...dash]
            let name = "\(rest).\(type).d"
            if name != names[0] { names.append(name) }
        }
        return names + ["\(type).d"]
    }

    /// A part of a name without its escapes: `-` is `/`, and `\x2d` is `-`.
    /// - Complexity: O(*n*).
    static func unescaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "-") {
                bytes.append(UInt8(ascii: "/"))
            } else if byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "x"), rest.count >= 3,
                let value = UInt8(
                    String(decoding: rest.dropFirst().prefix(2), as: UTF8.self), radix: 16),
                value > 0
            {
                bytes.append(value)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

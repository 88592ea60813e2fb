// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// A line `NAME = value` of a crontab, read as cron reads it.
struct CrontabSetting: Hashable {
    var name: String
    var value: String

    /// Nil if cron does not take the line for a setting.
    init?(_ line: String, _ flavour: CronFlavour) {
        let bytes = Array(line.utf8.drop { $0 == 32 || $0 == 9 })
        let found =
            flavour == .systemdCron
            ? Self.plain(bytes) : Self.walk(bytes, emptyIsFine: flavour == .cronie)
        guard let (name, value) = found else { return nil }
        self.name = String(decoding: name, as: UTF8.self)
        self.value = String(decoding: value, as: UTF8.self)
    }

    private typealias Parts = (name: [UInt8], value: [UInt8])

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }

    /// As the generator of systemd-cron: a word, an equals sign, and the rest of the line.
    private static func plain(_ bytes: [UInt8]) -> Parts? {
        let name = bytes.prefix { byte in
            (48...57).contains(byte) || (97...122).contains(byte | 0x20) || byte == 95
        }
        let rest = bytes[name.count...].drop(while: isSpace)
        guard !name.isEmpty, rest.first == UInt8(ascii: "=") else { return nil }
        var value = rest.dropFirst().drop(while: isSpace)
        while value.last.map(isSpace) == true { value = value.dropLast() }
        for quote: UInt8 in [39, 34] {
            while value.first == quote { value = value.dropFirst() }
            while value.last == quote { value = value.dropLast() }
        }
        return (Array(name), Array(value))
    }

    /// As `load_env` of cron: name and value may be in quotes, and nothing may follow a value in quotes.
    private static func walk(_ bytes: [UInt8], emptyIsFine: Bool) -> Parts? {
        var rest = bytes[...]
        guard let name = text(&rest, isName: true) else { return nil }
        rest = rest.drop(while: isSpace)
        guard rest.first == UInt8(ascii: "=") else { return nil }
        rest = rest.dropFirst().drop(while: isSpace)
        guard !rest.isEmpty else { return emptyIsFine ? (name, []) : nil }
        guard var value = text(&rest, isName: false), rest.allSatisfy(isSpace) else { return nil }
        // Quotes within quotes are removed as well.
        if value.count >= 2, value[0] == 34 || value[0] == 39, value.last == value[0] {
            value = Array(value[1..<(value.count - 1)])
        }
        return (name, value)
    }

    /// A name up to a blank or `=`, or a value up to the end of the line without its last blanks; or
    /// either of them in quotes.
    private static func text(_ rest: inout ArraySlice<UInt8>, isName: Bool) -> [UInt8]? {
        if let quote = rest.first, quote == 34 || quote == 39 {
            let inner = rest.dropFirst().prefix { $0 != quote }
            guard inner.endIndex < rest.endIndex, !isName || !inner.contains(UInt8(ascii: "="))
            else { return nil }
            rest = rest[(inner.endIndex + 1)...]
            return Array(inner)
        }
        guard isName else {
            var value = rest
            while value.last.map(isSpace) == true { value = value.dropLast() }
            rest = []
            return Array(value)
        }
        let name = rest.prefix { !isSpace($0) && $0 != UInt8(ascii: "=") }
        guard name.endIndex < rest.endIndex else { return nil }
        rest = rest[name.endIndex...]
        return Array(name)
    }

    /// Why timerd cannot give a job a variable of this name; nil if it can.
    static func fault(inName name: String) -> String? {
        guard VariableName.isValid(name) else {
            return
                "\"\(name)\" is not a valid variable name: letters, digits and '_', no digit first"
        }
        guard !VariableName.isReserved(name) else {
            return "\(name) is reserved for timerd and systemd"
        }
        return nil
    }
}

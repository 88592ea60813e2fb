// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The command of a crontab line, and what cron gives it as standard input: everything behind the first `%`
/// without a backslash.
struct CronCommand: Hashable {
    /// What cron gives the shell, without what is behind an unescaped `%`.
    var line: String
    /// What the command reads; nil if it reads nothing.
    var input: String?
    /// Whether the line is cut at a `%` within quotes or a substitution, so that the shell gets half of it.
    var isCutInside = false

    init(_ text: String, _ flavour: CronFlavour) {
        guard flavour != .systemdCron else {
            line = text
            return
        }
        let bytes = Array(text.utf8)
        var (command, place): ([UInt8], Int) = ([], 0)
        var isEscaped = false
        var hasInput = false
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            if isEscaped {
                // Debian's cron removes the backslash of a backslash as well.
                if byte == 0x25 || byte == 0x5c && flavour == .debian { command.removeLast() }
                isEscaped = false
            } else if byte == 0x5c {
                isEscaped = true
            } else if byte == 0x25 {
                hasInput = true
                break
            }
            command.append(byte)
        }
        line = String(decoding: command, as: UTF8.self)
        guard hasInput else { return }
        isCutInside = Self.isOpen(command)
        let data = Self.input(bytes[place...])
        input = data.isEmpty ? nil : String(decoding: data, as: UTF8.self)
    }

    /// `%` becomes a line end, `\%` becomes `%`, and the last line gets its end.
    private static func input(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var (data, isEscaped, needsEnd): ([UInt8], Bool, Bool) = ([], false, false)
        for byte in bytes {
            var byte = byte
            if isEscaped {
                if byte != 0x25 { data.append(0x5c) }
            } else if byte == 0x25 {
                byte = 10
            }
            isEscaped = byte == 0x5c
            guard !isEscaped else { continue }
            data.append(byte)
            needsEnd = byte != 10
        }
        if isEscaped { data.append(0x5c) }
        if needsEnd { data.append(10) }
        return data
    }

    /// Whether a quote, a `$(` or a backquote is still open at the end.
    private static func isOpen(_ bytes: [UInt8]) -> Bool {
        var (quote, depth, isEscaped, last): (UInt8?, Int, Bool, UInt8) = (nil, 0, false, 0)
        for byte in bytes {
            defer { last = byte }
            if isEscaped {
                isEscaped = false
                continue
            }
            switch byte {
            case 0x5c where quote != 0x27: isEscaped = true
            case 0x22, 0x27, 0x60:
                if quote == byte { quote = nil } else if quote == nil { quote = byte }
            case 0x28 where quote != 0x27 && (last == 0x24 || depth > 0): depth += 1
            case 0x29 where quote != 0x27 && depth > 0: depth -= 1
            default: break
            }
        }
        return quote != nil || depth > 0
    }

    /// Words that say nothing about what a job does, so that no job is named after them.
    static let unnamed: Set = [
        "[", "[[", "test", "cd", "if", "for", "while", "case", "exec", "eval", "export", "set",
        "umask",
        "sleep", "true", "false", ":", "!", "{", "(", "command", ".",
    ]

    /// The base name of the first word; nil if it is none of a program.
    var programName: String? {
        for word in line.split(whereSeparator: { $0 == " " || $0 == "\t" }) {
            // The word sets a variable for the command.
            if let equals = word.firstIndex(of: "="), equals != word.startIndex,
                word[..<equals].allSatisfy({
                    $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_")
                })
            {
                continue
            }
            let bare = word.drop { $0 == "(" || $0 == "'" || $0 == "\"" }
            let base = bare.split(separator: "/").last.map(String.init) ?? ""
            return Self.unnamed.contains(base) ? nil : base
        }
        return nil
    }
}

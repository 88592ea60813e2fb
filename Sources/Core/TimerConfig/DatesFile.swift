// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// A file with dates: in each line a date, a range of dates or a day of each year, with blanks
/// around it and a comment after `#`.
enum DatesFile {
    /// The most bytes of a file; a larger one is refused as a whole.
    static let bytesMax = 1 << 20

    /// The path of a file that a file of the configuration names, in the directory of that one
    /// unless it is absolute.
    static func path(_ name: String, beside file: String) -> String {
        guard !name.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return name }
        return file[...slash] + name
    }

    /// Reads the lines of a file.
    ///
    /// - Returns: the entries, and the errors with their places. No message quotes the file: it may
    ///   be another one than was meant. At most `ConfigReading.errorsMax` errors are found.
    /// - Complexity: O(*n*) in the number of bytes.
    static func read(
        _ bytes: [UInt8], file: String
    ) -> (entries: [DaySet.Entry], errors: [ConfigError]) {
        let bytes = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? Array(bytes.dropFirst(3)) : bytes
        var text = SourceText(bytes)
        var entries: [DaySet.Entry] = []
        var errors: [ConfigError] = []
        var number = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            do throws(LineFault) {
                if let entry = try entry(in: line) { entries.append(entry) }
            } catch {
                guard errors.count < ConfigReading.errorsMax else { break }
                let column = String(decoding: line.prefix(error.offset), as: UTF8.self)
                    .unicodeScalars.count
                let mark = SourceMark(line: number, column: column + 1)
                errors.append(
                    ConfigError(
                        file: file, mark: mark, message: error.message,
                        excerpt: text.excerpt(at: mark)))
            }
        }
        return (entries, errors)
    }

    /// What is wrong with a line, and how many bytes from its start.
    private struct LineFault: Error {
        var offset: Int
        var message: String
    }

    /// The entry of a line; nil if it has none. Errors have their place in the line.
    private static func entry(in line: ArraySlice<UInt8>) throws(LineFault) -> DaySet.Entry? {
        let content = line.prefix { $0 != UInt8(ascii: "#") }
        func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 || byte == 13 }
        guard let first = content.firstIndex(where: { !isBlank($0) }),
            let last = content.lastIndex(where: { !isBlank($0) })
        else { return nil }
        let start = first - line.startIndex
        guard let text = String(validating: content[first...last], as: UTF8.self) else {
            throw LineFault(offset: start, message: "is not UTF-8 here; save it as UTF-8")
        }
        do throws(ScheduleError) { return try DaySet.Entry(text) } catch {
            throw LineFault(offset: start + error.offset, message: error.message)
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Reads the characters, names and numbers of a field.
extension CronField {
    func isAt(_ character: Unicode.Scalar) -> Bool {
        place < end && bytes[place] == UInt8(ascii: character)
    }

    func isLetter(_ place: Int) -> Bool {
        place < end && (97...122).contains(bytes[place] | 0x20)
    }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard isAt(character) else { return false }
        place += 1
        return true
    }

    func error(_ message: String) -> ScheduleError {
        ScheduleError(place, "\(kind.name): \(message)")
    }

    /// Records how Debian's cron interprets the part from `start` to the current place.
    mutating func note(_ start: Int, _ what: String) {
        let part = String(decoding: bytes[start..<place], as: UTF8.self)
        differences.append("\(kind.name): \"\(part)\": Debian's cron \(what)")
    }

    /// Records full names, which Debian's cron refuses.
    mutating func noteNames(_ start: Int) {
        let words = bytes[start..<place].split { !(97...122).contains($0 | 0x20) }
        guard words.contains(where: { $0.count > 3 }) else { return }
        note(start, "refuses it; it knows \(kind.shortNames.joined(separator: ", "))")
    }

    mutating func step() throws(ScheduleError) -> Int? {
        guard skip("/") else { return nil }
        let step = try number()
        guard step > 0 else { throw error("a step of 0 leads nowhere") }
        return step
    }

    /// Parses a number in the range, or a name.
    mutating func value() throws(ScheduleError) -> (value: Int, isName: Bool) {
        let start = place
        let letters = bytes[place..<end].prefix { (97...122).contains($0 | 0x20) }
        if !letters.isEmpty {
            var word = String(decoding: letters, as: UTF8.self).lowercased()
            // For `friL`, which must be written with the number of the day, the day is accepted
            // here and the letter is refused later.
            if kind.isWeekday, word.utf8.count == 4, word.last == "l" { word.removeLast() }
            guard let index = kind.names.firstIndex(where: { $0 == word || $0.prefix(3) == word })
            else {
                throw error(
                    kind.names.isEmpty
                        ? "a number is missing"
                        : "\"\(word)\" is not one of \(kind.shortNames.joined(separator: ", "))"
                            + (nearestName(word, among: kind.shortNames + kind.names).map {
                                " (did you mean \"\($0)\"?)"
                            } ?? ""))
            }
            place += word.utf8.count
            return (index + kind.range.lowerBound, true)
        }
        let value = try number()
        guard kind.range.contains(value) else {
            place = start
            throw error("must be \(kind.range.lowerBound) to \(kind.range.upperBound)")
        }
        return (value, false)
    }

    mutating func number() throws(ScheduleError) -> Int {
        var value: Int?
        while place < end, (48...57).contains(bytes[place]) {
            value = (value ?? 0) * 10 + Int(bytes[place] - 48)
            guard value ?? 0 <= 1_000_000 else { throw error("the number is too large") }
            place += 1
        }
        guard let value else { throw error("a number is missing") }
        return value
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The five fields of a line of an fcrontab, where `~` takes values out of a range.
struct FcronFields: Hashable {
    /// The values of minute, hour, day, month and weekday, in their order; 0 is Sunday.
    var values: [[Int]]
    /// Whether each field is `*`, so that it restricts nothing.
    var isStar: [Bool]

    private static let ranges = [0...59, 0...23, 1...31, 1...12, 0...7]
    private static let names: [[String]] = [
        [], [], [], CronFieldReader.Kind.month.names, CronFieldReader.Kind.weekday.names,
    ]

    /// - Throws: `CronFault`.
    init(_ words: [String]) throws(CronFault) {
        (values, isStar) = ([], [])
        for (index, word) in words.prefix(5).enumerated() {
            var found: Set<Int> = []
            for part in word.split(separator: ",", omittingEmptySubsequences: false) {
                found.formUnion(try Self.part(part, index))
            }
            if index == 4 { found = Set(found.map { $0 % 7 }) }
            guard !found.isEmpty else { throw CronFault(message: "\"\(word)\" matches nothing") }
            values.append(found.sorted())
            isStar.append(word == "*")
        }
        guard values.count == 5 else { throw CronFault(message: "a field of the time is missing") }
    }

    private static func part(_ text: Substring, _ index: Int) throws(CronFault) -> Set<Int> {
        let pieces = text.split(separator: "~", omittingEmptySubsequences: false)
        let sides = pieces[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        var range = ranges[index]
        if sides[0] != "*" {
            let ends = sides[0].split(
                separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
            let first = try number(ends[0], index)
            let last = ends.count > 1 ? try number(ends[1], index) : first
            guard first <= last else {
                throw CronFault(message: "the range \(sides[0]) runs backwards")
            }
            range = first...last
        } else if index == 4 {
            range = 0...6
        }
        var step = 1
        if sides.count > 1 {
            guard let count = Int(sides[1]), (1...1000).contains(count) else {
                throw CronFault(message: "the step of \"\(text)\" is not a number above 0")
            }
            step = count
        }
        var found = Set(stride(from: range.lowerBound, through: range.upperBound, by: step))
        for piece in pieces.dropFirst() {
            let value = try number(piece, index)
            found.remove(value)
            if index == 4 { found.remove((value + 7) % 14 == 0 ? 0 : value == 0 ? 7 : value) }
        }
        return found
    }

    private static func number(_ text: Substring, _ index: Int) throws(CronFault) -> Int {
        if let place = names[index].firstIndex(of: text.lowercased()) {
            return place + ranges[index].lowerBound
        }
        guard let value = Int(text), ranges[index].contains(value) else {
            throw CronFault(
                message:
                    "\"\(text.prefix(32))\" is not from \(ranges[index].lowerBound) to \(ranges[index].upperBound)"
            )
        }
        return value
    }

    /// The fields as a crontab line has them, with the values in place of `~`.
    var cron: String {
        zip(values, isStar).map { values, isStar in
            isStar ? "*" : values.map(String.init).joined(separator: ",")
        }.joined(separator: " ")
    }

    /// The same times as a calendar event, for which both day fields must match.
    var calendar: String {
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let weekdays = isStar[4] ? "" : values[4].map { days[$0] }.joined(separator: ",") + " "
        func list(_ index: Int) -> String {
            isStar[index] ? "*" : values[index].map(String.init).joined(separator: ",")
        }
        return "\(weekdays)*-\(list(3))-\(list(2)) \(list(1)):\(list(0)):00"
    }

    /// Keeps only the first value of each run of values of a field, or of the whole field.
    mutating func thin(_ index: Int, toOne: Bool, from start: Int = 0) {
        let all = values[index]
        let later = all.first { $0 >= start } ?? all[0]
        values[index] =
            toOne ? [later] : all.filter { value in !all.contains(value - 1) }
        isStar[index] = false
    }
}

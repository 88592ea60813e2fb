// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension CronField {
    /// The kind of a field: its name, its range, and the names of its values.
    struct Kind {
        var name: String
        var range: ClosedRange<Int>
        /// The range for random values if the line gives none: days that every month has, and each
        /// weekday once.
        var drawn: ClosedRange<Int>
        /// The full names; three letters are enough in a line.
        var names: [String] = []

        static let minute = Kind(name: "minute", range: 0...59, drawn: 0...59)
        static let hour = Kind(name: "hour", range: 0...23, drawn: 0...23)
        static let day = Kind(name: "day of the month", range: 1...31, drawn: 1...28)
        static let month = Kind(
            name: "month", range: 1...12, drawn: 1...12,
            names: [
                "january", "february", "march", "april", "may", "june", "july", "august",
                "september", "october", "november", "december",
            ])
        static let weekday = Kind(
            name: "day of the week", range: 0...7, drawn: 0...6,
            names: [
                "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
            ])
        /// The fields in the order of a crontab line.
        static let all = [minute, hour, day, month, weekday]

        var isWeekday: Bool { range.upperBound == 7 }
        var isDay: Bool { range.upperBound == 31 }
        var shortNames: [String] { names.map { String($0.prefix(3)) } }
    }
}

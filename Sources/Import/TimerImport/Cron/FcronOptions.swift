// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The options of fcrontab(5) that a line has, by their full names.
struct FcronOptions: Hashable {
    private(set) var values: [String: [String]] = [:]

    private static let abbreviations = [
        "b": "bootrun", "f": "first", "m": "mail", "n": "nice", "r": "runfreq", "s": "serial",
        "j": "jitter",
    ]

    private static let known: Set = [
        "bootrun", "dayand", "dayor", "erroronlymail", "exesev", "first", "forcemail", "jitter",
        "lavg",
        "lavg1", "lavg5", "lavg15", "lavgand", "lavgonce", "lavgor", "mail", "mailfrom", "mailto",
        "nice",
        "nolog", "noticenotrun", "random", "rebootreset", "reset", "runas", "runatreboot",
        "runfreq",
        "runonce", "serial", "serialonce", "stdout", "strict", "timezone", "tzdiff", "until",
        "volatile",
    ]

    /// Adds the options of `name,name(argument,…)`.
    ///
    /// - Throws: `CronFault`. Some of them may have been added then.
    mutating func add(_ text: String) throws(CronFault) {
        var rest = text[...]
        while !rest.isEmpty {
            let word = rest.prefix { $0 != "," && $0 != "(" }
            rest = rest.dropFirst(word.count)
            var arguments: [String] = []
            if rest.first == "(" {
                guard let end = rest.firstIndex(of: ")") else {
                    throw CronFault(message: "the option \(word) has no closing parenthesis")
                }
                arguments = rest[rest.index(after: rest.startIndex)..<end]
                    .split(separator: ",", omittingEmptySubsequences: false)
                    .map { Self.unquoted($0) }
                rest = rest[rest.index(after: end)...]
            }
            guard rest.isEmpty || rest.first == "," else {
                throw CronFault(message: "after the option \(word) a comma is missing")
            }
            rest = rest.dropFirst()
            let name = Self.abbreviations[String(word)] ?? String(word)
            guard Self.known.contains(name) else {
                throw CronFault(message: "fcron does not know the option \"\(word)\"")
            }
            if name == "reset" { values = [:] } else { values[name] = arguments }
        }
    }

    private static func unquoted(_ text: Substring) -> String {
        let isQuoted = text.count >= 2 && text.first == "\"" && text.last == "\""
        return String(isQuoted ? text.dropFirst().dropLast() : text)
    }

    /// Whether an option without a value, or with one that means yes, is set.
    func isOn(_ name: String, default standard: Bool = false) -> Bool {
        guard let arguments = values[name] else { return standard }
        return !["no", "false", "0"].contains(arguments.first?.lowercased() ?? "yes")
    }

    func text(_ name: String) -> String? { values[name]?.first }

    /// The load averages of 1, 5 and 15 minutes below which a run starts; 0: they do not matter.
    private var loads: [Double] {
        let all = values["lavg"] ?? []
        return ["lavg1", "lavg5", "lavg15"].enumerated().map { index, name in
            let text = values[name]?.first ?? (index < all.count ? all[index] : "0")
            guard let load = Double(text), (0.01...100_000).contains(load) else { return 0 }
            return load
        }
    }

    /// What must be true when a run is about to start; nil: nothing.
    var condition: TomlValue? {
        guard loads[0] > 0 else { return nil }
        var condition = ImportedCondition()
        condition.loadBelow = loads[0]
        condition.waits = true
        // Without `until`, fcron waits for as long as it takes.
        condition.waitMax =
            text("until").flatMap { Self.seconds($0) }.flatMap {
                $0 > 0 ? TimeSpan.compactText(.seconds($0)) : nil
            } ?? "100y"
        return condition.value
    }

    /// What timerd cannot do of the options, as sentences.
    var losses: [String] {
        var found: [String] = []
        let loads = loads
        if loads.dropFirst().contains(where: { $0 > 0 }) {
            found.append(
                "the load averages of 5 and 15 minutes (lavg) are not taken into account"
                    + (isOn("lavgor") && loads[0] > 0
                        ? ", so that the run waits for that of 1 minute (lavgor)" : ""))
        }
        if loads[0] > 0, text("until") != nil {
            found.append("fcron runs it after this time in any case (until); this job is skipped")
        }
        if isOn("volatile") {
            found.append("volatile is not possible: the elapsed time is kept when timerd restarts")
        }
        if isOn("rebootreset") {
            found.append("rebootreset is not possible: the elapsed time is kept over a boot")
        }
        if isOn("runonce") { found.append("runonce is not possible; the job runs each time") }
        if isOn("noticenotrun") {
            found.append(
                "missed runs send no message (noticenotrun); see late-after in timerd.toml(5)"
            )
        }
        if isOn("forcemail") { found.append("a run without output sends no mail (forcemail)") }
        if text("tzdiff").map({ $0 != "0" }) == true {
            found.append("tzdiff is left out; set timezone")
        }
        return found
    }

    /// Seconds of a time value such as `3w2d5h1`; the last number without a letter is in minutes.
    static func seconds(_ text: String) -> Int64? {
        let units: [UInt8: Int64] = [
            UInt8(ascii: "m"): 28 * 86_400, UInt8(ascii: "w"): 7 * 86_400,
            UInt8(ascii: "d"): 86_400,
            UInt8(ascii: "h"): 3600, UInt8(ascii: "s"): 1,
        ]
        var (sum, number): (Int64, Int64?) = (0, nil)
        for byte in text.utf8 {
            if (48...57).contains(byte) {
                number = min(1_000_000_000, (number ?? 0) * 10 + Int64(byte - 48))
            } else {
                guard let unit = units[byte], let count = number else { return nil }
                sum += count * unit
                number = nil
            }
        }
        sum += (number ?? 0) * 60
        return text.isEmpty || sum > 1_000_000_000 ? nil : sum
    }
}

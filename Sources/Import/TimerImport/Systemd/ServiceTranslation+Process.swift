// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension ServiceTranslation {
    // MARK: - Scheduling

    mutating func translateProcess() {
        if let index = unit.last("Service", "UMask") {
            let mask = unit[index].value
            let isOctal = mask.utf8.allSatisfy { (48...55).contains($0) }
            if isOctal, (1...4).contains(mask.utf8.count) {
                unit.mark(index, .mapped)
                set("umask", .string(mask))
            } else {
                unit.mark(index, .lost("not a mode in octal digits"))
            }
        }
        if let nice = integer("Nice", in: -20...19) { set("nice", .integer(Int64(nice))) }
        if let score = integer("OOMScoreAdjust", in: -1000...1000) {
            set("oom-score", .integer(Int64(score)))
        }
        translateInputOutputClass()
        translateProcessorPolicy()
    }

    private mutating func translateInputOutputClass() {
        // An empty value resets both keys.
        let indexes = unit.list("Service", "IOSchedulingClass", "IOSchedulingPriority")
        var (word, priority): (String?, Int?)
        for index in indexes {
            unit.mark(index, .mapped)
            let value = unit[index].value
            if unit[index].key == "IOSchedulingClass" {
                guard let known = Self.inputOutputClasses[value] else {
                    unit.mark(index, .lost("not a class of ioprio_set(2)"))
                    continue
                }
                word = known
            } else if let number = Int(value), (0...7).contains(number) {
                priority = number
            } else {
                unit.mark(index, .lost("not a number from 0 to 7"))
            }
        }
        guard word != nil || priority != nil else { return }
        set("io-class", .string(word ?? "best-effort"))
        guard let priority else { return }
        switch word ?? "best-effort" {
        case "realtime", "best-effort": set("io-priority", .integer(Int64(priority)))
        default:
            for index in indexes where unit[index].key == "IOSchedulingPriority" {
                unit.mark(index, .unneeded("the class has no priorities"))
            }
        }
    }

    private static let inputOutputClasses = [
        "none": "none", "0": "none", "realtime": "realtime", "1": "realtime",
        "best-effort": "best-effort", "2": "best-effort", "idle": "idle", "3": "idle",
    ]

    private mutating func translateProcessorPolicy() {
        let priority = integer("CPUSchedulingPriority", in: 0...99)
        let place = unit.last("Service", "CPUSchedulingPriority")
        guard let index = unit.last("Service", "CPUSchedulingPolicy") else {
            if let place, priority != nil {
                unit.mark(
                    place, .unneeded("it has no effect without CPUSchedulingPolicy=fifo or rr"))
            }
            return
        }
        let policy = unit[index].value
        guard ["other", "batch", "idle", "fifo", "rr"].contains(policy) else {
            return unit.mark(index, .lost("not a policy of sched_setscheduler(2)"))
        }
        unit.mark(index, .mapped)
        set("cpu-policy", .string(policy))
        if policy == "fifo" || policy == "rr" {
            set("cpu-priority", .integer(Int64(max(1, priority ?? 1))))
        } else if let place, priority != nil {
            unit.mark(place, .unneeded("the policy has no priorities"))
        }
    }

    // MARK: - Limits

    private static let limitNames = [
        ("LimitCPU", "cpu"), ("LimitFSIZE", "fsize"), ("LimitDATA", "data"),
        ("LimitSTACK", "stack"), ("LimitCORE", "core"), ("LimitRSS", "rss"),
        ("LimitNOFILE", "nofile"), ("LimitAS", "as"), ("LimitNPROC", "nproc"),
        ("LimitMEMLOCK", "memlock"),
    ]

    private static let otherLimits = [
        "LimitLOCKS", "LimitSIGPENDING", "LimitMSGQUEUE", "LimitNICE", "LimitRTPRIO",
        "LimitRTTIME",
    ]

    mutating func translateLimits() {
        var limits: [TomlEntry] = []
        for (key, name) in Self.limitNames {
            guard let index = unit.last("Service", key) else { continue }
            let parts = unit[index].value.split(
                separator: ":", maxSplits: 1, omittingEmptySubsequences: false
            ).map { UnitFile.trimmed($0) }
            guard let soft = parts.first.flatMap({ Self.limit($0, of: name) }) else {
                unit.mark(index, .lost("not a limit that a job can have"))
                continue
            }
            unit.mark(index, .mapped)
            if parts.count == 2, parts[1] != parts[0] {
                unit.mark(index, .lost("the hard limit is the same as the soft limit, \(parts[0])"))
            }
            limits.append(TomlEntry(name, soft))
        }
        for key in Self.otherLimits {
            guard let index = unit.last("Service", key) else { continue }
            unit.mark(index, .lost("timerd does not have this limit"))
        }
        if !limits.isEmpty { set("limits", .table(limits)) }
    }

    private static func limit(_ text: String, of name: String) -> TomlValue? {
        if text == "infinity" { return .string("infinity") }
        switch name {
        case "cpu":
            guard let span = try? UnitValue.span(text), span <= .seconds(100 * 31_557_600) else {
                return nil
            }
            let (seconds, rest) = span.components
            return .integer(seconds + (rest > 0 ? 1 : 0))
        case "nofile", "nproc":
            guard let number = UnitValue.bytes(text), number <= UInt64(Int32.max) else {
                return nil
            }
            return .integer(Int64(number))
        default: return UnitValue.bytes(text).map { .integer(Int64($0)) }
        }
    }

    // MARK: - Privileges

    mutating func translateConfinement() {
        if let flag = unit.boolean("Service", "NoNewPrivileges") {
            if flag.value {
                set("no-new-privileges", .boolean(true))
            } else {
                unit.mark(flag.index, .unneeded("it is the default"))
            }
        }
        translateCapabilities()
        for (key, name) in [
            ("AppArmorProfile", "apparmor-profile"), ("SELinuxContext", "selinux-context"),
        ] {
            guard let index = unit.last("Service", key), let value = expanded(index) else {
                continue
            }
            set(name, .string(value))
        }
        translateCredentials()
    }

    /// A set of timerd is exactly what a run has: the bounding set of root, and the ambient set of
    /// another user.
    private mutating func translateCapabilities() {
        let bounding = capabilities("CapabilityBoundingSet")
        let ambient = capabilities("AmbientCapabilities")
        let isRoot =
            !unit.has("Service", "DynamicUser")
            && unit.last("Service", "User").map { ["root", "0"].contains(unit[$0].value) } ?? true
        var result: Set<String>?
        if isRoot {
            result = bounding?.names
            if let ambient, bounding == nil {
                mark(ambient.indexes, .unneeded("root has all capabilities"))
            }
        } else if let ambient {
            result = bounding.map { ambient.names.intersection($0.names) } ?? ambient.names
            if let bounding, bounding.names != ambient.names {
                mark(
                    bounding.indexes,
                    .lost(
                        "the bounding set is that of the ambient capabilities, so that set-user-ID programs get no others"
                    ))
            }
        } else if let bounding {
            mark(
                bounding.indexes,
                .lost(
                    "set-user-ID programs can have other capabilities; no-new-privileges = true prevents it"
                ))
        }
        guard let result else { return }
        set("capabilities", .strings(CapabilitySet.names.filter(result.contains)))
    }

    private mutating func mark(_ indexes: [Int], _ outcome: LoadedUnit.Outcome) {
        for index in indexes { unit.mark(index, outcome) }
    }

    /// The set that the assignments of a key make; nil if there is none.
    private mutating func capabilities(_ key: String) -> (names: Set<String>, indexes: [Int])? {
        guard unit.has("Service", key) else { return nil }
        let all = Set(CapabilitySet.names)
        let indexes = unit.list("Service", key)
        var set: Set<String>?
        for index in indexes {
            unit.mark(index, .mapped)
            let value = unit[index].value
            let isInverted = value.hasPrefix("~")
            let words = (isInverted ? value.dropFirst() : value[...])
                .split(whereSeparator: \.isWhitespace).map { $0.uppercased() }
            let unknown = words.filter { !all.contains($0) }
            if !unknown.isEmpty {
                unit.mark(index, .lost("unknown capability \(unknown.joined(separator: ", "))"))
            }
            let named = all.intersection(words)
            if isInverted {
                set = (set ?? all).subtracting(named)
            } else {
                set = (set ?? []).union(named)
            }
        }
        return (set ?? [], indexes)
    }

    private mutating func translateCredentials() {
        var entries: [TomlEntry] = []
        for index in unit.list("Service", "LoadCredential") {
            guard let value = expanded(index) else { continue }
            let parts = value.split(
                separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts.first ?? "")
            let isName =
                !name.isEmpty && name.utf8.count <= 255
                && name.utf8.allSatisfy { byte in
                    (48...57).contains(byte) || (97...122).contains(byte | 0x20)
                        || "._@-".utf8.contains(byte)
                }
            guard isName, parts.count == 2, parts[1].hasPrefix("/"), entries.count < 100 else {
                unit.mark(index, .lost("a credential of a job is a name and the path of a file"))
                continue
            }
            entries.removeAll { $0.key == name }
            entries.append(TomlEntry(name, .string(String(parts[1]))))
        }
        if !entries.isEmpty { set("credentials", .table(entries)) }
    }

    // MARK: - Output

    mutating func translateOutput() {
        for key in ["StandardOutput", "StandardError"] {
            guard let index = unit.last("Service", key) else { continue }
            switch unit[index].value {
            case "journal", "inherit", "syslog":
                unit.mark(index, .unneeded("the output is in the log of timerd"))
            default:
                unit.mark(
                    index, .lost("the output is in the log of timerd; redirect it in the command"))
            }
        }
        if let index = unit.last("Service", "LogRateLimitIntervalSec"),
            let span = span(["LogRateLimitIntervalSec"]), let span
        {
            if span > .zero, span < .seconds(1) {
                unit.mark(index, .lost("the interval has at least 1 s"))
            } else {
                set(
                    "log-rate-limit-interval",
                    span == .zero ? .string("none") : .span(span))
            }
        }
        if let burst = integer("LogRateLimitBurst", in: 0...1_000_000_000) {
            if burst > 0 {
                set("log-rate-limit-burst", .integer(Int64(burst)))
            } else if !keys.contains(where: { $0.key == "log-rate-limit-interval" }) {
                set("log-rate-limit-interval", .string("none"))
            }
        }
    }
}

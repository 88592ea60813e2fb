// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// What must be true before a service starts, which becomes `condition`: `Condition…=`, `Assert…=`, and the units that
/// it needs. `ExecCondition=` is with the commands.
extension ServiceTranslation {
    mutating func translateConditions() {
        readConditions("Condition")
        readConditions("Assert")
        let asksForOthers = condition.value != nil
        readMounts()
        let lines = UnitNeeds.keys.map { ($0, unit.list("Unit", $0)) }
        // What is behind the network on the same lines is no loss then.
        condition.isNetworkOnline = lines.contains { _, indexes in
            indexes.contains {
                unit[$0].value.split(whereSeparator: \.isWhitespace)
                    .contains { $0 == UnitNeeds.network }
            }
        }
        for (key, indexes) in lines { for index in indexes { readUnits(index, key) } }
        if condition.isNetworkOnline {
            condition.waits = true
            // One table has one answer to what happens otherwise.
            if asksForOthers {
                notes.append(
                    "systemd waits for the network, and skips the run at once if another condition is not met; the job "
                        + "waits for both, and is skipped after wait-max of its condition"
                )
            }
        }
        if let value = condition.value { set("condition", value) }
    }

    // MARK: - Condition…= and Assert…=

    /// The part of a condition behind its key, without what negates it.
    private struct Parameter {
        var index: Int
        /// The key without `Condition` or `Assert`.
        var kind: Substring
        var isTrigger: Bool
        var isNegated: Bool
        var text: String
    }

    /// - Parameter family: `Condition`, or `Assert`, which makes the start fail and not be skipped.
    private mutating func readConditions(_ family: String) {
        let kinds = UnitKey.conditions.split(whereSeparator: \.isWhitespace)
        // An empty value of one of them resets all of them.
        let indexes = unit.list("Unit", keys: kinds.map { "\(family)\($0)" })
        let parameters = indexes.map { parameter($0, family) }
        let triggers = parameters.count { $0.isTrigger }
        for parameter in parameters {
            // One alone must be true, as if it had no `|`.
            if parameter.isTrigger, triggers > 1 {
                unit.mark(
                    parameter.index,
                    .lost(
                        "of the \(triggers) conditions with | one is enough, and timerd has only conditions that must all be met; the run starts nevertheless"
                    ))
                continue
            }
            guard add(parameter) else { continue }
            guard family == "Assert" else { continue }
            unit.mark(
                parameter.index,
                .lost("systemd logs an error if it is not met, and the run is skipped"))
        }
    }

    private func parameter(_ index: Int, _ family: String) -> Parameter {
        func blanks(_ text: Substring) -> Substring { text.drop { $0 == " " || $0 == "\t" } }
        var rest = unit[index].value[...]
        let isTrigger = rest.first == "|"
        if isTrigger { rest = blanks(rest.dropFirst()) }
        let isNegated = rest.first == "!"
        if isNegated { rest = blanks(rest.dropFirst()) }
        return Parameter(
            index: index, kind: unit[index].key.dropFirst(family.count), isTrigger: isTrigger,
            isNegated: isNegated, text: String(rest))
    }

    /// Adds a condition that timerd has, and marks its line.
    /// - Returns: whether it was added. The line of one that timerd does not have is not marked.
    private mutating func add(_ parameter: Parameter) -> Bool {
        switch parameter.kind {
        case "PathExists":
            guard let path = path(parameter, among: condition.pathExists) else { return false }
            condition.pathExists.append(path)
        case "PathIsMountPoint":
            guard let path = path(parameter, among: condition.mounted) else { return false }
            condition.mounted.append(path)
        case "ACPower":
            guard let flag = UnitValue.boolean(parameter.text) else {
                unit.mark(
                    parameter.index, .lost("it is not a boolean, so that it is never met"))
                return false
            }
            let isWanted = flag != parameter.isNegated
            guard condition.acPower ?? isWanted == isWanted else {
                unit.mark(
                    parameter.index, .lost("it contradicts another one, so that nothing ever runs"))
                return false
            }
            condition.acPower = isWanted
            unit.mark(parameter.index, .mapped)
        default: return false
        }
        return true
    }

    /// The path of a condition, which it marks; nil if systemd ignores it, or there are too many.
    private mutating func path(_ parameter: Parameter, among known: [String]) -> String? {
        guard let path = expanded(specifiers.expand(parameter.text), parameter.index) else {
            return nil
        }
        guard path.utf8.first == UInt8(ascii: "/") else {
            unit.mark(
                parameter.index, .lost("it is not an absolute path, and systemd ignores the line"))
            return nil
        }
        if let fault = fault(in: path, among: known) {
            unit.mark(parameter.index, .lost(fault))
            return nil
        }
        return parameter.isNegated ? "!\(path)" : path
    }

    // MARK: - Mounts

    /// What `RequiresMountsFor=` needs are the mounts on the way to a path, and not the path itself.
    private mutating func readMounts() {
        for index in unit.list("Unit", "RequiresMountsFor") {
            var result = LineResult()
            for path in words(index) {
                guard path.utf8.first == UInt8(ascii: "/") else {
                    result.lose("\"\(path)\" is not an absolute path, and systemd ignores it")
                    continue
                }
                for mount in mounts where mount.holds(path) {
                    need(mount.path, isAutomatic: mount.isAutomatic, &result)
                }
            }
            result.mark(index, of: &unit, unneeded: "there is no mount of its own on the way")
        }
    }

    /// What becomes of a line with several words.
    private struct LineResult {
        var losses: [String] = []
        var isMapped = false
        /// The units that the run does not wait for, and those that it does not start either.
        var (after, needed): ([String], [String]) = ([], [])

        mutating func lose(_ why: String) { if !losses.contains(why) { losses.append(why) } }

        func mark(_ index: Int, of unit: inout LoadedUnit, unneeded why: String) {
            var losses = losses
            if !after.isEmpty {
                losses.append(
                    "runs follow only other jobs (follows), so that the run does not wait until \(Self.list(after)) has "
                        + "started")
            }
            if !needed.isEmpty {
                losses.append(
                    "timerd starts no units, so that the run neither starts \(Self.list(needed)) nor waits for it"
                        + (needed.contains { $0.hasSuffix(".service") }
                            ? "; command in condition of timerd.toml(5) can ask whether a service is active"
                            : ""))
            }
            if !losses.isEmpty {
                unit.mark(index, .lost(losses.joined(separator: "; ")))
            } else if !isMapped, unit[index].outcome == .mapped {
                unit.mark(index, .unneeded(why))
            }
        }

        private static func list(_ names: [String]) -> String { names.joined(separator: " or ") }
    }

    /// Adds a mount without which the run is skipped.
    private mutating func need(_ path: String, isAutomatic: Bool, _ result: inout LineResult) {
        if !condition.mounted.contains(path) {
            if let fault = fault(in: path, among: condition.mounted) { return result.lose(fault) }
            condition.mounted.append(path)
        }
        result.isMapped = true
        if !isAutomatic {
            result.lose("systemd mounts \(path) if it is not mounted, and the job is skipped then")
        }
    }

    /// Why a path cannot be one of a condition; nil if it can.
    private func fault(in path: String, among known: [String]) -> String? {
        if path.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) {
            return "a path in condition has no control characters"
        }
        return known.count < ImportedCondition.pathsMax
            ? nil : "a condition of timerd has at most \(ImportedCondition.pathsMax) paths"
    }

    // MARK: - Units

    /// What becomes of a line with the units that a service needs, or is ordered after.
    private mutating func readUnits(_ index: Int, _ key: String) {
        var result = LineResult()
        for text in words(index) {
            guard let name = UnitName(text) else {
                result.lose("\"\(text)\" is not the name of a unit, and systemd ignores it")
                continue
            }
            switch UnitNeeds.need(of: name, by: key, isOnline: condition.isNetworkOnline) {
            case .network: result.isMapped = true
            case .mount(let path):
                let mount = mounts.first { $0.path == path }
                need(path, isAutomatic: mount?.isAutomatic == true, &result)
            case .mountBefore(let path):
                guard !condition.mounted.contains(path) else { continue }
                result.lose(
                    "the run does not need \(name); see mounted in condition of timerd.toml(5)")
            case .nothing: continue
            case .order: if !result.after.contains(text) { result.after.append(text) }
            case .unit: if !result.needed.contains(text) { result.needed.append(text) }
            }
        }
        result.mark(index, of: &unit, unneeded: "timerd itself starts after it")
    }
}

/// What a unit needs of another one.
enum UnitNeeds {
    /// The keys that name units which must be there, or come first.
    static let keys = ["Requires", "Requisite", "BindsTo", "BindTo", "Wants", "After"]

    enum Need {
        case network
        /// A file system at this path.
        case mount(String)
        /// A file system at this path, if something else mounts it.
        case mountBefore(String)
        /// It is there before timerd is.
        case nothing
        /// It comes first, which timerd has no equivalent for.
        case order
        /// It must be there, which timerd has no equivalent for.
        case unit
    }

    static let network = "network-online.target"

    /// What timerd itself starts after, as every service with the default dependencies does, or by its own unit.
    private static let first: Set = [
        "sysinit.target", "basic.target", "sockets.target", "timers.target", "paths.target",
        "slices.target", "local-fs.target", "local-fs-pre.target", "swap.target",
        "cryptsetup.target",
        "time-set.target", "nss-user-lookup.target", "tmp.mount", "-.mount", "-.slice",
        "system.slice", "dbus.socket", "systemd-journald.service", "systemd-journald.socket",
        "systemd-remount-fs.service", "systemd-tmpfiles-setup.service", "systemd-udevd.service",
        "systemd-sysctl.service", "systemd-random-seed.service", "systemd-modules-load.service",
        "timerd.service",
    ]

    /// What a machine with a network has behind it.
    private static let beforeNetwork: Set = [
        "network.target", "network-pre.target", "networking.service", "systemd-networkd.service",
        "systemd-networkd-wait-online.service", "NetworkManager.service",
        "NetworkManager-wait-online.service", "connman.service", "dhcpcd.service", "wicked.service",
    ]

    /// - Parameters:
    ///   - key: one of `keys`.
    ///   - isOnline: whether the unit is also ordered after the network.
    static func need(of name: UnitName, by key: String, isOnline: Bool) -> Need {
        if name.description == network { return .network }
        if first.contains(name.description) { return .nothing }
        if isOnline, beforeNetwork.contains(name.description) { return .nothing }
        if name.type == "mount" {
            let path = UnitName.unescaped(name.stem)
            let whole = path.hasPrefix("/") ? path : "/\(path)"
            return ["Wants", "After"].contains(key) ? .mountBefore(whole) : .mount(whole)
        }
        return key == "After" ? .order : .unit
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension ServiceTranslation {
    // MARK: - Users and groups

    mutating func translateIdentity() {
        let dynamic = unit.boolean("Service", "DynamicUser")
        let user = unit.last("Service", "User")
        if let user { account(user, key: "user") }
        if let dynamic, dynamic.value {
            // Without a user the job would run as root.
            if user == nil {
                guard Self.isAccount(unit.name.prefix) else {
                    return refuse(
                        dynamic.index,
                        "systemd makes a user for it while it runs; name a user of its own with User="
                    )
                }
                set("user", .string(unit.name.prefix))
            }
            unit.mark(
                dynamic.index,
                .lost("timerd makes no users; the runs fail until there is one of that name"))
        } else if let dynamic {
            unit.mark(dynamic.index, .unneeded("it is the default"))
        }
        if let group = unit.last("Service", "Group") { account(group, key: "group") }
        guard let pam = unit.last("Service", "PAMName") else { return }
        if user == nil {
            unit.mark(pam, .unneeded("it has no effect without User="))
        } else if let name = expanded(pam) {
            set("pam-service", .string(name))
        }
    }

    private mutating func account(_ index: Int, key: String) {
        let name = expanded(index) ?? ""
        if name == "0" { return set(key, .string("root")) }
        guard Self.isAccount(name) else {
            return refuse(
                index,
                "timerd takes no number and no such name as \(key); without it, the job would have other rights"
            )
        }
        set(key, .string(name))
    }

    private static func isAccount(_ name: String) -> Bool {
        guard VariableName.isValid(String(name.prefix(1))), name.utf8.count <= 31 else {
            return false
        }
        return name.utf8.allSatisfy { byte in
            (48...57).contains(byte) || (97...122).contains(byte | 0x20) || byte == 95 || byte == 45
        }
    }

    // MARK: - Directories

    mutating func translateDirectory() {
        for key in ["RootDirectory", "RootImage"] {
            guard let index = unit.last("Service", key) else { continue }
            if unit[index].value == "/" {
                unit.mark(index, .unneeded("it is the default"))
            } else {
                refuse(index, "a job cannot run in another root directory")
            }
        }
        guard let index = unit.last("Service", "WorkingDirectory") else {
            return set("working-directory", .string("/"))
        }
        var path = expanded(index) ?? "/"
        if path.hasPrefix("-") {
            path.removeFirst()
            unit.mark(index, .lost("a run fails if the directory is missing"))
        }
        // The home directory is the default of timerd.
        if path == "~" { return }
        guard path.hasPrefix("/") else {
            unit.mark(index, .lost("not an absolute path, and systemd ignores it"))
            return set("working-directory", .string("/"))
        }
        set("working-directory", .string(path))
    }

    // MARK: - Variables

    mutating func translateEnvironment() {
        var names: [String] = []
        var values: [String: String] = [:]
        for index in unit.list("Service", "Environment") {
            for word in words(index) {
                guard let (name, value) = variable(word, index) else { continue }
                if values.updateValue(value, forKey: name) == nil { names.append(name) }
            }
        }
        for index in unit.list("Service", "UnsetEnvironment") {
            for word in words(index) {
                let parts = word.split(
                    separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let name = String(parts.first ?? "")
                if let value = values[name], parts.count == 1 || value == parts[1] {
                    values[name] = nil
                    names.removeAll { $0 == name }
                } else {
                    unit.mark(
                        index,
                        .lost(
                            "timerd cannot remove a variable that it sets itself, or one of a file")
                    )
                }
            }
        }
        if !names.isEmpty {
            set("environment", .table(names.map { TomlEntry($0, .string(values[$0] ?? "")) }))
        }
        translateVariableFiles()
        translatePassedVariables()
    }

    private mutating func variable(_ word: String, _ index: Int) -> (name: String, value: String)? {
        guard let equals = word.firstIndex(of: "="),
            VariableName.isValid(String(word[..<equals]))
        else {
            unit.mark(index, .lost("\"\(word)\" is not a variable, and systemd ignores it"))
            return nil
        }
        let name = String(word[..<equals])
        guard !VariableName.isReserved(name) else {
            unit.mark(index, .lost("\(name) is a variable that only timerd sets"))
            return nil
        }
        return (name, String(word[word.index(after: equals)...]))
    }

    private mutating func translateVariableFiles() {
        var isSet = false
        for index in unit.list("Service", "EnvironmentFile") {
            guard let path = expanded(index) else { continue }
            let plain = path.hasPrefix("-") ? String(path.dropFirst()) : path
            guard plain.hasPrefix("/") else {
                unit.mark(index, .lost("not an absolute path, and systemd ignores it"))
                continue
            }
            guard !plain.contains(where: { "*?[".contains($0) }) else {
                unit.mark(index, .lost("a job has one file of variables, and no pattern"))
                continue
            }
            guard !isSet else {
                unit.mark(index, .lost("a job has one file of variables, which is the first one"))
                continue
            }
            isSet = true
            set("environment-file", .string(path))
            if hasSeveralCommands {
                unit.mark(
                    index,
                    .lost(
                        "systemd reads it before each command, and timerd once before the first one, so that what a "
                            + "command writes to it comes too late"))
            }
            if unit.has("Service", "User") || unit.has("Service", "DynamicUser") {
                unit.mark(
                    index,
                    .lost(
                        "systemd reads it as root, and timerd as the user of the job, who must be able to"
                    ))
            }
        }
    }

    private mutating func translatePassedVariables() {
        var names: [String] = []
        for index in unit.list("Service", "PassEnvironment") {
            let words = words(index)
            let valid = words.filter { VariableName.isValid($0) && !VariableName.isReserved($0) }
            names += valid.filter { !names.contains($0) }
            unit.mark(
                index,
                .lost(
                    valid.count == words.count
                        ? "the values are those of the runner of timerd, not those of systemd"
                        : "some of them are not variables that a job can have"))
        }
        if !names.isEmpty { set("pass-environment", .strings(names)) }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension ServiceTranslation {
    /// The limit of the configuration (`TomlNode.argumentsMax`).
    private static let argumentsMax = 4096

    mutating func translateCommands() {
        let before = commands("ExecCondition")
        let pre = commands("ExecStartPre")
        let main = commands("ExecStart")
        var post = commands("ExecStartPost")
        for key in ["ExecStop", "ExecStopPost"] {
            for index in unit.list("Service", key) {
                unit.mark(index, .lost("timerd runs no command after a run; add it to the command"))
            }
        }
        guard let first = main.first else {
            return refuse(
                nil, "there is no command in ExecStart=, so that a job would have nothing to run")
        }
        if type != "oneshot" {
            if main.count > 1 {
                return refuse(
                    main[1].index,
                    "systemd refuses more than one command without Type=oneshot; so does the import"
                )
            }
            for command in post {
                unit.mark(
                    command.index,
                    .lost(
                        "systemd runs it while the command is running, and the job does not run it")
                )
            }
            post = []
        }
        setCondition(before)
        if pre.isEmpty, post.isEmpty, main.count == 1 {
            single(first.command, first.index)
        } else {
            hasSeveralCommands = true
            chain((pre + main + post).map(\.command))
        }
    }

    /// The commands of `ExecCondition=`: an exit code from 1 to 254 skips the run, and 255 or a signal fails it, as with
    /// `command` in the condition of a job.
    private mutating func setCondition(_ commands: [(command: UnitCommand, index: Int)]) {
        guard let first = commands.first else { return }
        let isOne = commands.count == 1 && !first.command.prefixes.ignoresFailure
        if isOne, let words = first.command.plain {
            guard words.count <= Self.argumentsMax else {
                return refuse(first.index, "it has more than \(Self.argumentsMax) arguments")
            }
            condition.command = words
            return
        }
        let all = commands.map(\.command)
        let line = isOne ? "exec \(first.command.shell)" : Self.joined(all)
        condition.command = ["/bin/sh", "-c", Self.splitting(all) + line]
        guard !isOne else { return }
        for (command, index) in commands where !command.prefixes.ignoresFailure {
            unit.mark(
                index, .lost("if a signal ends it, the run is skipped, and has not failed"))
        }
    }

    /// The commands of all assignments of a key, which it marks.
    private mutating func commands(_ key: String) -> [(command: UnitCommand, index: Int)] {
        var result: [(command: UnitCommand, index: Int)] = []
        for index in unit.list("Service", key) {
            var reader = UnitCommandReader(specifiers: specifiers)
            let commands = reader.commands(unit[index].value)
            let notes = reader.notes + commands.flatMap(notes)
            unit.mark(index, notes.isEmpty ? .mapped : .lost(notes.joined(separator: "; ")))
            result += commands.map { ($0, index) }
            guard let failure = reader.failure else { continue }
            if failure.isFatal {
                refuse(index, "\(failure.message), and systemd does not load \(unit.name)")
            } else {
                unit.mark(index, .lost("\(failure.message), and systemd ignores that command"))
            }
        }
        return result
    }

    private func notes(on command: UnitCommand) -> [String] {
        var notes: [String] = []
        if let name = command.ownName {
            notes.append("the program gets its path as its name and not \"\(name)\"")
        }
        let hasUser = unit.has("Service", "User") || unit.has("Service", "DynamicUser")
        switch command.prefixes.privileges {
        case "+"? where hasUser, "!"? where hasUser:
            notes.append("it runs with the rights of the job's user, and not with those of root")
        default: break
        }
        if command.splitsWords {
            notes.append(
                "quotes in the value of a variable are not removed when it is split into words")
        }
        return notes
    }

    private mutating func single(_ command: UnitCommand, _ index: Int) {
        if let words = command.plain {
            guard words.count <= Self.argumentsMax else {
                return refuse(index, "it has more than \(Self.argumentsMax) arguments")
            }
            set("command", .strings(words))
        } else {
            set("shell", .string(Self.splitting([command]) + "exec " + command.shell))
        }
        if command.prefixes.ignoresFailure {
            set("success-exit-codes", .array((0...255).map { .integer($0) }))
            set("success-signals", .strings(SuccessExitStatus.signals))
            unit.mark(
                index,
                .lost("systemd also ignores that it cannot be started, and the job fails then"))
        }
    }

    /// One line for the shell that runs each command if the one before it has succeeded.
    private mutating func chain(_ commands: [UnitCommand]) {
        set("shell", .string(Self.splitting(commands) + Self.joined(commands)))
    }

    /// The commands for a shell that ends with the first of them that fails.
    private static func joined(_ commands: [UnitCommand]) -> String {
        commands.map { $0.prefixes.ignoresFailure ? "{ \($0.shell) || :; }" : $0.shell }
            .joined(separator: " && ")
    }

    /// systemd splits the value of a variable into words, and does not replace patterns in it.
    private static func splitting(_ commands: [UnitCommand]) -> String {
        commands.contains(where: \.splitsWords) ? "set -f; " : ""
    }

    // MARK: - Standard input

    mutating func translateInput() {
        let texts = unit.list("Service", "StandardInputText", "StandardInputData")
        let input = unit.last("Service", "StandardInput")
        let word = input.map { unit[$0].value } ?? (texts.isEmpty ? "null" : "data")
        if let input {
            switch word {
            case "null", "inherit": unit.mark(input, .unneeded("it is the default"))
            case "data": unit.mark(input, .mapped)
            default: unit.mark(input, .lost("standard input is /dev/null"))
            }
        }
        guard word == "data" else {
            for index in texts { unit.mark(index, .unneeded("StandardInput= is not data")) }
            return
        }
        var bytes: [UInt8] = []
        for index in texts { bytes += inputBytes(index) }
        guard !bytes.isEmpty else { return }
        guard bytes.count <= 64 << 10, !bytes.contains(0),
            let text = String(validating: bytes, as: UTF8.self)
        else {
            for index in texts {
                unit.mark(
                    index,
                    .lost("standard input of a job is UTF-8 text of at most 64 KiB without NUL"))
            }
            return
        }
        set("stdin", .string(text))
    }

    private mutating func inputBytes(_ index: Int) -> [UInt8] {
        if unit[index].key == "StandardInputData" {
            unit.mark(index, .mapped)
            guard let bytes = Self.base64(unit[index].value) else {
                unit.mark(index, .lost("it is not Base64, and systemd ignores it"))
                return []
            }
            return bytes
        }
        // Blanks and quotes are part of the text, so that it is read like one word in quotes.
        do throws(UnitWords.Failure) {
            let expansion = specifiers.expand(try UnitWords.unescaped(unit[index].value))
            guard let text = expanded(expansion, index) else { return [] }
            return Array("\(text)\n".utf8)
        } catch {
            unit.mark(index, .lost("\(error.message), and systemd ignores the line"))
            return []
        }
    }

    /// - Complexity: O(*n*).
    private static func base64(_ text: String) -> [UInt8]? {
        let alphabet = Array(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var values: [UInt8: UInt32] = [:]
        for (value, byte) in alphabet.enumerated() { values[byte] = UInt32(value) }
        var digits = text.utf8.filter { !" \t\r\n".utf8.contains($0) }[...]
        guard digits.count.isMultiple(of: 4) else { return nil }
        while digits.last == UInt8(ascii: "="), digits.count % 4 != 2 { digits.removeLast() }
        var (bytes, buffer, bits): ([UInt8], UInt32, Int) = ([], 0, 0)
        for digit in digits {
            guard let value = values[digit] else { return nil }
            buffer = (buffer << 6 | value) & 0xffff
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
            }
        }
        return bytes
    }
}

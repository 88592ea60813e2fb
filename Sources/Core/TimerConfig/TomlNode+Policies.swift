// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension TomlNode {
    /// A time span; nil for `none` or `infinity`.
    func spanOrNone() throws(Fault) -> Duration? {
        if case .string("none") = value { return nil }
        if case .string("infinity") = value { return nil }
        return try span()
    }

    /// A number in a range, with or without a fraction.
    func number(in range: ClosedRange<Double>) throws(Fault) -> Double {
        let number: Double
        switch value {
        case .integer(let whole): number = Double(whole)
        case .float(let real): number = real
        default: throw Fault(mark, "must be a number, not \(value.kind)")
        }
        guard range.contains(number) else {
            throw Fault(
                mark, "\(number) is out of range; from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func jobName() throws(Fault) -> Job.Name {
        try .read(try string(), at: mark)
    }

    /// The name of a user or group, by the strict rule of systemd ("User/Group Name Syntax"). A
    /// name of digits could be a number to one program and a name to another.
    func account() throws(Fault) -> String {
        let name = try string()
        if let fault = Self.fault(inAccount: name) { throw Fault(mark, fault) }
        return name
    }

    /// The error in the name of a user or group; nil if it is valid.
    private static func fault(inAccount name: String) -> String? {
        let isWord = name.utf8.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
        }
        guard let first = name.utf8.first, isWord, name.utf8.count <= 31,
            first != UInt8(ascii: "-"), !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first)
        else {
            return
                "\"\(name)\" is not a valid name: a letter or '_', then letters, digits, '_' and '-', 31 "
                + "at most; numbers are refused"
        }
        return nil
    }

    /// Names of users, and of groups with an `@` before them, at least one.
    func allowedUsers() throws(Fault) -> AllowedUsers {
        let allowed = try accounts()
        guard !allowed.users.isEmpty || !allowed.groups.isEmpty else {
            throw Fault(
                mark, "no job could run; name users, or remove the key to allow all of them")
        }
        return allowed
    }

    /// Names of users, and of groups with an `@` in front; or none.
    func accounts() throws(Fault) -> AllowedUsers {
        guard case .array(let nodes) = value else {
            throw Fault(
                mark, "must be an array such as [\"alice\", \"@staff\"], not \(value.kind)")
        }
        guard nodes.count <= Self.argumentsMax else {
            throw Fault(mark, "has \(nodes.count) names; at most \(Self.argumentsMax)")
        }
        var allowed = AllowedUsers(users: [], groups: [])
        let names = try nodes.readEach { (node) throws(Fault) in
            let text = try node.string()
            let isGroup = text.utf8.first == UInt8(ascii: "@")
            let name = isGroup ? String(text.utf8.dropFirst()) ?? "" : text
            if let fault = Self.fault(inAccount: name) { throw Fault(node.mark, fault) }
            return (name: name, isGroup: isGroup)
        }
        for (name, isGroup) in names {
            if isGroup { allowed.groups.append(name) } else { allowed.users.insert(name) }
        }
        return allowed
    }

    /// The name of a PAM service, which is the name of a file; nil for `none`. PAM converts the
    /// name to lower case, so capital letters are refused.
    func pamService() throws(Fault) -> String? {
        let name = try string()
        if name == "none" { return nil }
        let isWord = name.utf8.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || [UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains(byte)
        }
        guard isWord, !name.isEmpty, !name.hasPrefix("."), name.utf8.count <= 64 else {
            throw Fault(
                mark,
                "\"\(name)\" is not the name of a file in /etc/pam.d such as \"cron\": small letters, digits, '_', "
                    + "'-' and '.', at most 64, the first not '.'; or \"none\"")
        }
        guard name != "other" else {
            throw Fault(
                mark,
                "\"other\" is what PAM uses for services that it does not know; name a service such as \"cron\""
            )
        }
        return name
    }

    /// A file mode, as octal digits in quotes.
    func mode() throws(Fault) -> UInt32 {
        if case .integer = value {
            throw Fault(mark, "must be octal digits in quotes, such as \"0022\"")
        }
        let text = try string()
        guard (1...4).contains(text.utf8.count), let mode = UInt32(digits: text, radix: 8),
            mode <= 0o777
        else { throw Fault(mark, "\"\(text)\" must be octal digits up to \"0777\"") }
        return mode
    }

    /// A size in bytes: a whole number, or a text with a binary unit.
    func size(upTo most: UInt64) throws(Fault) -> UInt64 {
        let size: UInt64
        if case .integer(let number) = value {
            guard number >= 0 else { throw Fault(mark, "cannot be negative") }
            size = UInt64(number)
        } else {
            size = try Self.size(in: try string(), at: mark)
        }
        guard size <= most else { throw Fault(mark, "is too large; at most \(most) bytes") }
        return size
    }

    private static func size(in text: String, at mark: SourceMark) throws(Fault) -> UInt64 {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let shift: UInt64? =
            switch text.dropFirst(digits.count) {
            case "", "B": 0
            case "K", "KiB": 10
            case "M", "MiB": 20
            case "G", "GiB": 30
            case "T", "TiB": 40
            default: nil
            }
        guard let shift, let number = UInt64(digits) else {
            throw Fault(mark, "\"\(text)\" is not a size such as \"64KiB\" or \"1G\"")
        }
        let (size, overflow) = number.multipliedReportingOverflow(by: 1 << shift)
        guard !overflow else { throw Fault(mark, "\"\(text)\" is too large") }
        return size
    }

    /// Resource limits by name; nil means no limit.
    func limits() throws(Fault) -> [Execution.Limit: UInt64?] {
        guard case .table(let entries) = value else {
            throw Fault(mark, "must be a table such as { nofile = 4096 }, not \(value.kind)")
        }
        var limits: [Execution.Limit: UInt64?] = [:]
        let values = try entries.readEach { (entry) throws(Fault) in
            guard let limit = Execution.Limit(rawValue: entry.key) else {
                let names = Execution.Limit.allCases.map(\.rawValue)
                let hint =
                    nearestName(entry.key, among: names).map { " (did you mean \"\($0)\"?)" } ?? ""
                throw Fault(
                    entry.mark,
                    "unknown limit \"\(entry.key)\"\(hint); one of \(names.joined(separator: ", "))"
                )
            }
            return (limit, try entry.node.limit(limit))
        }
        for (limit, value) in values { limits[limit] = .some(value) }
        return limits
    }

    /// As in systemd.exec(5): bytes, a count, or a time span for CPU time.
    private func limit(_ limit: Execution.Limit) throws(Fault) -> UInt64? {
        if case .string("infinity") = value { return nil }
        switch limit {
        case .cpu:
            if case .integer(let seconds) = value, seconds >= 0 { return UInt64(seconds) }
            let span = try span()
            let seconds = span.components.seconds + (span.components.attoseconds > 0 ? 1 : 0)
            return UInt64(seconds)
        case .nofile, .nproc: return UInt64(try integer(in: 0...Int64(Int32.max)))
        case .as, .core, .data, .fsize, .memlock, .rss, .stack:
            return try size(upTo: UInt64(Int64.max))
        }
    }

    /// One exit code, or an array of at least so many of them.
    func exitCodes(min: Int) throws(Fault) -> Set<Int32> {
        guard case .array(let nodes) = value else {
            return [Int32(try integer(in: 0...255))]
        }
        let codes = Set(
            try nodes.readEach { (node) throws(Fault) in Int32(try node.integer(in: 0...255)) })
        guard codes.count >= min else {
            throw Fault(mark, "must have at least one code, such as [0]")
        }
        return codes
    }

    /// The name of one signal, or an array of such names.
    func signals() throws(Fault) -> Set<String> {
        guard case .array(let nodes) = value else { return [try signal()] }
        return Set(try nodes.readEach { (node) throws(Fault) in try node.signal() })
    }

    private func signal() throws(Fault) -> String {
        let name = try string()
        if let signal = SuccessExitStatus.signal(named: name) { return signal }
        let near = Self.nearestSignal(name).map { " (did you mean \"\($0)\"?)" } ?? ""
        throw Fault(
            mark, "\"\(name)\" is not a signal that ends a process\(near); signal(7) lists them")
    }

    /// Others write them in lower case.
    private static func nearestSignal(_ name: String) -> String? {
        guard name.utf8.count <= 64 else { return nil }
        let capitals = name.uppercased()
        let whole = capitals.hasPrefix("SIG") ? capitals : "SIG\(capitals)"
        return SuccessExitStatus.signal(named: whole)
            ?? nearestName(whole, among: SuccessExitStatus.signals)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

extension CommandBody: RequestBody {
    static let example = #"{"note": "disk swap"}"#

    /// The values of a command, as an endpoint takes them.
    ///
    /// - Parameter keys: those that the body of this command may have; any other key is an error.
    static func read(_ keys: [String], of body: [UInt8]) throws(ControlRequest.Fault) -> CommandBody
    {
        guard !body.isEmpty else { return CommandBody() }
        return try read(keys, from: body).checked()
    }

    func checked() throws(ControlRequest.Fault) -> CommandBody {
        var command = self
        if command.note?.isEmpty == true { command.note = nil }
        if let note = command.note, let fault = CommandBody.fault(inNote: note) {
            throw .badBody(fault)
        }
        if let until = command.until, WallInstant(rfc3339: until) == nil {
            throw .badBody("until must be an instant such as 2026-12-24T18:00:00Z (RFC 3339)")
        }
        guard command.until == nil || command.forUsec == nil else {
            throw .badBody("until and for_usec exclude each other")
        }
        if let span = command.forUsec, !(1...CommandBody.forUsecMax).contains(span) {
            throw .badBody("for_usec must be from 1 to \(CommandBody.forUsecMax)")
        }
        if let fault = CommandBody.fault(inEnvironment: command.environment ?? []) {
            throw .badBody(fault)
        }
        if let fault = CommandBody.fault(inArguments: command.arguments ?? []) {
            throw .badBody(fault)
        }
        if let machine = command.machine, MachineName(machine) == nil {
            throw .badBody("machine must be the name of a machine of the fleet")
        }
        if let count = command.count, !(0...CommandBody.countMax).contains(count) {
            throw .badBody("count must be from 0 to \(CommandBody.countMax)")
        }
        return command
    }
}

extension CommandBody {
    /// The error in variables; nil if they are valid. Their values are never repeated, because they
    /// may be secret.
    public static func fault(inEnvironment lines: [String]) -> String? {
        var bytes = 0
        for (index, line) in lines.enumerated() {
            let name = Self.name(in: line)
            guard VariableName.isValid(String(name)), name.utf8.count < line.utf8.count else {
                return "environment: the entry \(index + 1) is not NAME=value"
            }
            guard !line.utf8.contains(0) else {
                return "environment: the value of \(name) has a NUL character"
            }
            bytes += line.utf8.count - 1
        }
        guard lines.count <= RunVariables.countMax, bytes <= RunVariables.bytesMax else {
            return
                "environment: at most \(RunVariables.countMax) variables with \(RunVariables.bytesMax) bytes"
        }
        return nil
    }

    /// The error in arguments; nil if they are valid. The daemon knows which of them the job allows.
    public static func fault(inArguments words: [String]) -> String? {
        guard words.count <= RunArguments.countMax else {
            return "arguments: has \(words.count) words; at most \(RunArguments.countMax)"
        }
        if let fault = words.lazy.compactMap({ RunArguments.fault(inWord: $0) }).first {
            return "arguments: \(fault)"
        }
        return RunArguments(words).repeated.map {
            "arguments: \($0.debugDescription) is there twice"
        }
    }

    /// The part before the first `=`. It is found by bytes, because `=` may form one character with
    /// what follows it.
    private static func name(in line: String) -> Substring {
        Substring(line.utf8.prefix { $0 != UInt8(ascii: "=") })
    }

    /// The variables of `environment`, which were checked when it was parsed.
    public var variables: RunVariables {
        var values: [String: String] = [:]
        for line in environment ?? [] {
            let name = Self.name(in: line)
            values[String(name)] = String(Substring(line.utf8[name.endIndex...].dropFirst()))
        }
        return RunVariables(values)
    }
}

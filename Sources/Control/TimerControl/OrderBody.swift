// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

extension OrderBody: RequestBody {
    static let example = #"{"note": "disk swap"}"#

    /// The values of a command, as an endpoint takes them.
    ///
    /// - Parameter keys: those that the body of this command may have; any other key is an error.
    static func read(_ keys: [String], of body: [UInt8]) throws(ControlRequest.Fault) -> OrderBody {
        guard !body.isEmpty else { return OrderBody() }
        return try read(keys, from: body).checked()
    }

    func checked() throws(ControlRequest.Fault) -> OrderBody {
        var order = self
        if order.note?.isEmpty == true { order.note = nil }
        if let note = order.note, let fault = OrderBody.fault(inNote: note) {
            throw .badBody(fault)
        }
        if let until = order.until, WallInstant(rfc3339: until) == nil {
            throw .badBody("until must be an instant such as 2026-12-24T18:00:00Z (RFC 3339)")
        }
        guard order.until == nil || order.forUsec == nil else {
            throw .badBody("until and for_usec exclude each other")
        }
        if let span = order.forUsec, !(1...OrderBody.forUsecMax).contains(span) {
            throw .badBody("for_usec must be from 1 to \(OrderBody.forUsecMax)")
        }
        if let fault = OrderBody.fault(inEnvironment: order.environment ?? []) {
            throw .badBody(fault)
        }
        if let fault = OrderBody.fault(inArguments: order.arguments ?? []) {
            throw .badBody(fault)
        }
        if let machine = order.machine, MachineName(machine) == nil {
            throw .badBody("machine must be the name of a machine of the fleet")
        }
        if let count = order.count, !(0...OrderBody.countMax).contains(count) {
            throw .badBody("count must be from 0 to \(OrderBody.countMax)")
        }
        return order
    }
}

extension OrderBody {
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

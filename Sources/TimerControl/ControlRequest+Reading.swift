// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension ControlRequest {
    /// Why an HTTP request is none of the requests there are.
    public enum Fault: Error, Hashable, Sendable {
        /// There is nothing at this path.
        case notFound(String)
        /// The path is good, the method is not; these are allowed.
        case methodNotAllowed([String])
        /// The body cannot be used.
        case badBody(String)
        /// The query behind the path cannot be used.
        case badQuery(String)
        /// The body has a key that this request does not know; these are known.
        case unknownKey(String, known: [String])
        /// The query has a parameter that this request does not know; these are known.
        case unknownParameter(String, known: [String])
    }

    /// The most bytes a request's body may have.
    public static let bodyBytesMax = 65_536
    /// The most bytes of a body that names many jobs: enough for 100 000 of them.
    public static let orderBytesMax = 8 << 20

    /// What a path leads to.
    private enum Resource {
        case jobs, job(Job.Name), verb(Order.Verb), why(Job.Name), log(Job.Name), kill(Job.Name)
        case order(Order.Verb, Job.Name)
        case runs, run(Run.ID), reload
        case oneOffs, oneOff(Job.Name), cancelOneOff(Job.Name)

        /// The methods it is for.
        var methods: [String] {
            switch self {
            case .jobs, .job, .why, .log, .runs, .run, .oneOffs: ["GET", "HEAD", "OPTIONS"]
            case .kill, .order, .oneOff, .cancelOneOff: ["POST", "OPTIONS"]
            case .verb, .reload: ["GET", "HEAD", "POST", "OPTIONS"]
            }
        }
    }

    /// Reads a request of HTTP.
    ///
    /// - Parameter path: as it comes, percent-encoded and with the query; of an absolute URL, what follows
    ///   the host is taken.
    /// - Complexity: O(*n*) in the bytes.
    public init(method: String, path: String, body: [UInt8]) throws(Fault) {
        let target = Target(path)
        let resource = try Self.resource(at: target)
        // HEAD is GET without the body of the answer (RFC 9110, 9.3.2).
        let isPost = method == "POST"
        guard resource.methods.contains(method), method != "OPTIONS" else {
            throw .methodNotAllowed(resource.methods)
        }
        var query = try QueryText(target.query)
        switch resource {
        case .jobs: self = .list
        case .job(let job): self = .show(job)
        case .verb(let verb) where isPost:
            let (jobs, order) = try OrderBody.readMany(verb, from: body)
            self = .orders(verb, jobs, order)
        case .verb(let verb):
            guard let job = Job.Name(verb.rawValue) else { throw .notFound(path) }
            self = .show(job)
        case .why(let job): self = .why(job)
        case .log(let job): self = .log(job, run: try query.run(), after: try query.after())
        case .kill(let job):
            self = .kill(job, run: try query.run(), try KillBody(reading: body))
        case .order(let verb, let job):
            self = .order(verb, job, try OrderBody.read(verb, from: body))
        case .runs: self = .history(try HistoryQuery(&query))
        case .run(let run): self = .run(run)
        case .reload where isPost: self = try query.flag("strict") ? .strictReload : .reload
        case .reload: self = .previewReload
        case .oneOffs: self = .oneOffs(base: try query.base())
        case .oneOff(let job): self = .takeOneOff(job)
        case .cancelOneOff(let job): self = .cancelOneOff(job)
        }
        try query.finish()
        // The others have read theirs.
        switch self {
        case .order, .orders, .kill: break
        default: if !body.isEmpty { _ = try NoBody.read([], from: body) }
        }
    }

    /// The methods that may be used at a path, for the answer to OPTIONS.
    public static func methods(at path: String) throws(Fault) -> [String] {
        try resource(at: Target(path)).methods
    }

    /// The most bytes the body of such a request may have.
    ///
    /// - Parameter mayChange: whether the client may change anything; only such a one may send long lists.
    public static func bodyBytesMax(
        method: String, path: String, mayChange: Bool
    ) -> Int {
        guard mayChange, method == "POST", case .verb? = try? resource(at: Target(path)) else {
            return bodyBytesMax
        }
        return orderBytesMax
    }

    private static func resource(at target: Target) throws(Fault) -> Resource {
        var parts: [String] = []
        for part in target.path.split(separator: "/", omittingEmptySubsequences: true) {
            guard let text = QueryText.decode(part) else { throw .notFound(String(target.path)) }
            parts.append(text)
        }
        func name() throws(Fault) -> Job.Name {
            guard let name = Job.Name(parts[2]) else { throw .notFound(parts[2]) }
            return name
        }
        guard parts.first == "v1", parts.count > 1 else { throw .notFound(String(target.path)) }
        switch (parts[1], parts.count) {
        case ("runs", 2): return .runs
        case ("runs", 3):
            guard let run = Run.ID(parts[2]) else { throw .notFound(parts[2]) }
            return .run(run)
        case ("reload", 2): return .reload
        case ("one-offs", 2): return .oneOffs
        case ("one-offs", 3): return .oneOff(try name())
        case ("one-offs", 4) where parts[3] == "cancel": return .cancelOneOff(try name())
        case ("jobs", 2): return .jobs
        case ("jobs", 3):
            if let verb = Order.Verb(rawValue: parts[2]), verb != .kill { return .verb(verb) }
            return .job(try name())
        case ("jobs", 4) where parts[3] == "why": return .why(try name())
        case ("jobs", 4) where parts[3] == "log": return .log(try name())
        case ("jobs", 4) where parts[3] == "kill": return .kill(try name())
        case ("jobs", 4):
            guard let verb = Order.Verb(rawValue: parts[3]) else { break }
            return .order(verb, try name())
        default: break
        }
        throw .notFound(String(target.path))
    }

    /// The target of a request (RFC 9112, 3.2): a path and a query, behind the scheme and the host of an
    /// absolute one.
    private struct Target {
        var path: Substring
        var query: Substring

        init(_ text: String) {
            var rest = text[...]
            if let scheme = ["http://", "https://"].first(where: { rest.hasPrefix($0) }) {
                rest = rest.dropFirst(scheme.count).drop { $0 != "/" && $0 != "?" }
            }
            let halves = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            path = halves[0]
            query = halves.count > 1 ? halves[1] : ""
        }
    }

    /// For requests without keys.
    private struct NoBody: Decodable, RequestBody {
        static var example: String { "{}" }
    }
}

/// The part of a path behind `?`, of which each parameter is taken once.
struct QueryText {
    private var values: [String: String] = [:]
    private var taken: [String] = []

    static func write(_ pairs: [(String, String?)]) -> String {
        let given = pairs.compactMap { name, value in value.map { "\(name)=\(encode($0))" } }
        return given.isEmpty ? "" : "?" + given.joined(separator: "&")
    }

    init(_ text: Substring) throws(ControlRequest.Fault) {
        for part in text.split(separator: "&") {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decode(halves[0]),
                let value = Self.decode(halves.count > 1 ? halves[1] : "")
            else { throw .badQuery("\"\(part)\" is no name=value") }
            guard values.updateValue(value, forKey: name) == nil else {
                throw .badQuery("\(name) is given twice")
            }
        }
    }

    /// The value of a parameter that the request knows.
    mutating func take(_ name: String) -> String? {
        taken.append(name)
        return values.removeValue(forKey: name)
    }

    /// A parameter that is 1 or 0; false without it.
    mutating func flag(_ name: String) throws(ControlRequest.Fault) -> Bool {
        switch take(name) {
        case "1", "true": return true
        case "0", "false", nil: return false
        default: throw .badQuery("\(name) must be 1 or 0")
        }
    }

    /// To be called once all parameters that the request knows are taken.
    func finish() throws(ControlRequest.Fault) {
        guard let other = values.keys.min() else { return }
        throw .unknownParameter(other, known: taken)
    }

    mutating func run() throws(ControlRequest.Fault) -> Run.ID? {
        guard let text = take("run") else { return nil }
        guard let run = Run.ID(text) else { throw .badQuery("\"\(text)\" is no run") }
        return run
    }

    /// What a name is made from by adding a number.
    mutating func base() throws(ControlRequest.Fault) -> String? {
        guard let text = take("base") else { return nil }
        guard text.utf8.count <= OneOffsReply.baseLengthMax, Job.Name(text) != nil else {
            throw .badQuery(
                "base must be the beginning of a job name, of \(OneOffsReply.baseLengthMax) "
                    + "characters at most")
        }
        return text
    }

    mutating func after() throws(ControlRequest.Fault) -> UInt64? {
        guard let text = take("after") else { return nil }
        guard let number = UInt64(digits: text) else {
            throw .badQuery("after must be a whole number")
        }
        return number
    }

    /// Everything but the unreserved characters of RFC 3986 and the colon, which a query may have.
    private static func encode(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            let isPlain =
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || "-._~:".utf8.contains(byte)
            if isPlain {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return result
    }

    /// Percent-encoding undone; nil if two hexadecimal digits are missing behind a `%`, or for what is no
    /// UTF-8.
    static func decode(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit),
                let low = rest.popFirst().flatMap(digit)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension HistoryQuery {
    init(_ query: inout QueryText) throws(ControlRequest.Fault) {
        self.init()
        if let text = query.take("job") {
            guard let name = Job.Name(text) else { throw .badQuery("\"\(text)\" is no job") }
            job = name
        }
        failed = try query.flag("failed")
        if let text = query.take("since") {
            guard let instant = WallInstant(rfc3339: text) else {
                throw .badQuery("since must be an instant such as 2026-12-24T18:00:00Z (RFC 3339)")
            }
            since = instant
        }
        if let text = query.take("limit") {
            guard let number = Int(digits: text), (1...Self.limitMax).contains(number) else {
                throw .badQuery("limit must be from 1 to \(Self.limitMax)")
            }
            limit = number
        }
    }
}

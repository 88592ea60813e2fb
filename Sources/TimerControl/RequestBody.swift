// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The body of a request, a JSON object. Every key in it must be known and given once, so that a
/// misspelt key cannot change the meaning of the request.
protocol RequestBody: Decodable {
    /// A valid body, for the error about an invalid one.
    static var example: String { get }
}

extension RequestBody {
    /// Parses a body, which may have only these keys.
    static func read(_ keys: [String], from body: [UInt8]) throws(ControlRequest.Fault) -> Self {
        let document: JSONDocument
        do throws(JSONDocument.Fault) { document = try JSONDocument(body) } catch {
            throw .badBody("the body is no JSON such as \(example): \(error)")
        }
        guard let names = document.memberNames else {
            throw .badBody("the body must be a JSON object such as \(example)")
        }
        var seen: Set<String> = []
        for name in names {
            guard keys.contains(name) else { throw .unknownKey(name, known: keys) }
            guard seen.insert(name).inserted else { throw .badBody("\(name) is given twice") }
        }
        if let name = document.nullMember {
            throw .badBody("\(name) is null; leave it out instead")
        }
        do {
            return try JSONDecoding(document: document, node: 0).value(Self.self)
        } catch let error as DecodingError {
            throw .badBody("the body must be JSON such as \(example): \(error.place)")
        } catch {
            throw .badBody("the body must be JSON such as \(example)")
        }
    }
}

extension DecodingError {
    /// The place of the value that cannot be used, and why.
    fileprivate var place: String {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context),
            .keyNotFound(_, let context), .dataCorrupted(let context):
            context.debugDescription
        @unknown default: "a value cannot be used"
        }
    }
}

/// The jobs of a command.
public enum JobSelection: Hashable, Sendable {
    /// These jobs, at least one.
    case jobs([Job.Name])
    /// All jobs of the configuration.
    case all
    /// The jobs with these pauses, at least one, each named once. A job whose pause has changed
    /// meanwhile is left as it is.
    case pauses([NamedPause])
}

/// The pause of one job, as a list showed it.
public struct NamedPause: Codable, Hashable, Sendable {
    /// The job's name.
    public var job: String
    /// When it was paused, RFC 3339.
    public var since: String
    /// Who paused it.
    public var by: String
    /// The note about it.
    public var note: String?
    /// When it ends by itself, RFC 3339.
    public var until: String?
    /// Whether active runs are suspended as well; absent if not.
    public var withRun: Bool?

    /// The pause of a job.
    public init(job: String, _ pause: PauseStatus) {
        self.job = job
        (since, by, note) = (pause.since, pause.by, pause.note)
        (until, withRun) = (pause.until, pause.withRun)
    }

    enum CodingKeys: CodingKey, CaseIterable { case by, job, note, since, until, withRun }

    /// Any name of a member.
    private struct Name: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    private static let names = ["by", "job", "note", "since", "until", "with_run"]

    /// Every key must be known and given once.
    public init(from decoder: any Decoder) throws {
        var seen: Set<String> = []
        for name in try decoder.container(keyedBy: Name.self).allKeys.map(\.stringValue) {
            let fault =
                !Self.names.contains(name)
                ? "unknown key \"\(name.prefix(100))\"; a pause has "
                    + Self.names.joined(separator: ", ")
                : seen.insert(name).inserted ? nil : "\(name) is given twice"
            guard let fault else { continue }
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "pauses: \(fault)"))
        }
        let members = try decoder.container(keyedBy: CodingKeys.self)
        job = try members.decode(String.self, forKey: .job)
        since = try members.decode(String.self, forKey: .since)
        by = try members.decode(String.self, forKey: .by)
        note = try members.decodeIfPresent(String.self, forKey: .note)
        until = try members.decodeIfPresent(String.self, forKey: .until)
        withRun = try members.decodeIfPresent(Bool.self, forKey: .withRun)
    }

    /// The same for the scheduler; nil if one of the instants is not valid.
    public var seen: SeenPause? {
        guard let since = WallInstant(rfc3339: since) else { return nil }
        let end = until.flatMap { WallInstant(rfc3339: $0) }
        guard (end == nil) == (until == nil) else { return nil }
        return SeenPause(since: since, by: by, note: note, until: end, withRun: withRun ?? false)
    }
}

/// The values of a command for many jobs.
struct OrdersBody: Codable, RequestBody {
    static let example = #"{"jobs": ["backup", "report"]}"#

    var all: Bool?
    var count: Int?
    var environment: [String]?
    var forUsec: Int64?
    var jobs: [String]?
    var note: String?
    var pauses: [NamedPause]?
    var until: String?
    var withRun: Bool?

    init(_ jobs: JobSelection, _ order: OrderBody) {
        switch jobs {
        case .all: all = true
        case .jobs(let names): self.jobs = names.map(\.description)
        case .pauses(let pauses): self.pauses = pauses
        }
        (count, forUsec, note) = (order.count, order.forUsec, order.note)
        (until, withRun, environment) = (order.until, order.withRun, order.environment)
    }

    var order: OrderBody {
        OrderBody(
            note: note, until: until, forUsec: forUsec, withRun: withRun, count: count,
            environment: environment)
    }

    func selection() throws(ControlRequest.Fault) -> JobSelection {
        if let pauses {
            guard all == nil, jobs == nil else {
                throw .badBody("jobs, all and pauses exclude each other")
            }
            return try Self.selection(of: pauses)
        }
        switch (all ?? false, jobs) {
        case (true, nil): return .all
        case (true, .some): throw .badBody("jobs and all exclude each other")
        case (false, nil), (false, []):
            throw .badBody(#"name jobs, as in \#(Self.example), or say {"all": true}"#)
        case (false, let jobs?):
            var names: [Job.Name] = []
            var seen: Set<Job.Name> = []
            for text in jobs {
                let name = try Self.name(text, in: "jobs")
                // A job that is named twice counts once.
                if seen.insert(name).inserted { names.append(name) }
            }
            return .jobs(names)
        }
    }

    private static func name(
        _ text: String, in key: String
    ) throws(ControlRequest.Fault) -> Job.Name {
        guard let name = Job.Name(text) else {
            throw .badBody(
                "\(key): \"\(text.prefix(100))\": \(Job.Name.fault(in: text) ?? "not a job name")")
        }
        return name
    }

    private static func selection(
        of pauses: [NamedPause]
    ) throws(ControlRequest.Fault) -> JobSelection {
        guard !pauses.isEmpty else { throw .badBody("pauses: name at least one") }
        var seen: [Job.Name: NamedPause] = [:]
        for pause in pauses {
            // A pause that is named twice counts once. A job has only one pause at a time.
            let former = seen.updateValue(pause, forKey: try name(pause.job, in: "pauses"))
            guard former == nil || former == pause else {
                throw .conflict("pauses: \"\(pause.job)\" is given twice, in two pauses")
            }
            guard pause.seen != nil else {
                throw .badBody(
                    "pauses: since and until must be instants such as 2026-12-24T18:00:00Z (RFC 3339)"
                )
            }
        }
        return .pauses(pauses)
    }
}

extension OrderBody: RequestBody {
    static let example = #"{"note": "disk swap"}"#

    /// The keys of this command.
    static func keys(of verb: Order.Verb) -> [String] {
        switch verb {
        case .pause: ["for_usec", "note", "until", "with_run"]
        case .skipNext: ["count"]
        case .run: ["environment"]
        case .resume, .start, .stop, .retry, .kill: []
        }
    }

    static func read(
        _ verb: Order.Verb, from body: [UInt8]
    ) throws(ControlRequest.Fault) -> OrderBody {
        guard !body.isEmpty else { return OrderBody() }
        return try read(keys(of: verb), from: body).checked()
    }

    static func readMany(
        _ verb: Order.Verb, from body: [UInt8]
    ) throws(ControlRequest.Fault) -> (JobSelection, OrderBody) {
        let selecting = ["all", "jobs"] + (verb == .resume ? ["pauses"] : [])
        let read = try OrdersBody.read(
            selecting + keys(of: verb), from: body.isEmpty ? Array("{}".utf8) : body)
        return (try read.selection(), try read.order.checked())
    }

    private func checked() throws(ControlRequest.Fault) -> OrderBody {
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
            let isWord = name.utf8.allSatisfy {
                $0 == UInt8(ascii: "_") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
            }
            guard let first = name.utf8.first, first > UInt8(ascii: "9"), isWord,
                name.utf8.count < line.utf8.count
            else { return "environment: the entry \(index + 1) is not NAME=value" }
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

extension KillBody: RequestBody {
    static let example = #"{"signal": "HUP"}"#

    init(reading body: [UInt8]) throws(ControlRequest.Fault) {
        guard !body.isEmpty else { return }
        self = try Self.read(["signal"], from: body)
        guard let signal, Self.number(of: signal) == nil else { return }
        let names = Self.signals.map(\.name).joined(separator: ", ")
        throw .badBody("unknown signal \"\(signal.prefix(100))\"; one of \(names)")
    }
}

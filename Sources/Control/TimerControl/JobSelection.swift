// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The jobs that a command is for.
public enum JobSelection: Hashable, Sendable {
    /// These jobs, at least one.
    case jobs([Job.Name])
    /// All jobs of the configuration when the command is executed.
    case all
    /// The jobs with these pauses, at least one, each named once. A job whose pause has changed
    /// meanwhile is left as it is.
    case pauses([NamedPause])
}

/// The pause of one job, as a list showed it.
public struct NamedPause: Codable, Hashable, Sendable {
    public var job: String
    /// When the pause began, RFC 3339.
    public var since: String
    /// Who paused it, as it was displayed.
    public var by: String
    /// What the user wrote about it; absent if nothing.
    public var note: String?
    /// When it ends by itself, RFC 3339; absent if it does not.
    public var until: String?
    /// Whether active runs are suspended as well; absent if not.
    public var withRun: Bool?

    /// The pause of a job, as a list showed it.
    public init(job: String, _ pause: PauseStatus) {
        self.job = job
        (since, by, note) = (pause.since, pause.by, pause.note)
        (until, withRun) = (pause.until, pause.withRun)
    }

    enum CodingKeys: CodingKey, CaseIterable { case by, job, note, since, until, withRun }

    /// Accepts every name of a member, so that an unknown one can be refused.
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

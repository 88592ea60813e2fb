// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The next firings of the source of a job beside those of the job that was made of it (`--check`).
public struct FiringComparison: Hashable, Sendable {
    /// How many firings are compared of each job.
    public static let count = 50

    public var job: Job.Name
    public var place: SourcePlace
    /// When the source fires next, oldest first.
    public var source: [WallInstant]
    /// When the job fires next, oldest first.
    public var result: [WallInstant]

    public init(
        job: Job.Name, place: SourcePlace, source: [WallInstant], result: [WallInstant]
    ) {
        (self.job, self.place, self.source, self.result) = (job, place, source, result)
    }

    /// A line for each instant at which only one of the two fires; none if both are equal. What is
    /// behind the last firing of the shorter side is not compared if both have `count` firings.
    ///
    /// - Parameter text: the text of an instant.
    /// - Complexity: O(*n*).
    public func differences(_ text: (WallInstant) -> String) -> [String] {
        var end: WallInstant?
        if source.count >= Self.count, result.count >= Self.count {
            end = min(source[source.count - 1], result[result.count - 1])
        }
        let isCompared: (WallInstant) -> Bool = { instant in end.map { instant <= $0 } ?? true }
        let (before, after) = (Set(source), Set(result))
        let lost = source.filter { isCompared($0) && !after.contains($0) }
        let new = result.filter { isCompared($0) && !before.contains($0) }
        return
            (lost.map { ($0, "only the source fires at \(text($0))") }
            + new.map { ($0, "only the job fires at \(text($0))") })
            .sorted { $0.0 < $1.0 }.map { "\(place): job \(job): \($0.1)" }
    }
}

extension ImportedJob {
    /// The next firings by the keys `cron` or `calendar`, `timezone`, `dst-gap` and `dst-overlap`, at
    /// most `count`; nil for a job with another schedule.
    ///
    /// - Parameters:
    ///   - local: the machine's time zone.
    ///   - zone: the rules of a zone by its name.
    /// - Throws: `ScheduleError`, or what `zone` throws.
    public func firings(
        _ count: Int = FiringComparison.count, after start: WallInstant, local: ZoneRules,
        zone: (String) throws -> ZoneRules
    ) throws -> [WallInstant]? {
        var rules = local
        if case .string(let name) = value(of: "timezone") { rules = try zone(name) }
        var sources: [WallSchedule.Source] = []
        for text in texts(of: "cron") { sources.append(.cron(try CronSpec(text), rules)) }
        for text in texts(of: "calendar") {
            let spec = try CalendarSpec(text)
            sources.append(.calendar(spec, try spec.zoneName.map(zone) ?? rules))
        }
        guard !sources.isEmpty else { return nil }
        let schedule = WallSchedule(
            sources, gap: word(of: "dst-gap").flatMap(DSTRule.Gap.init(rawValue:)),
            overlap: word(of: "dst-overlap").flatMap(DSTRule.Overlap.init(rawValue:)))
        var (instants, at): ([WallInstant], WallInstant) = ([], start)
        while instants.count < count, let next = schedule.next(after: at) {
            instants.append(next)
            at = next
        }
        return instants
    }

    private func word(of key: String) -> String? {
        guard case .string(let word) = value(of: key) else { return nil }
        return word
    }

    private func texts(of key: String) -> [String] {
        switch value(of: key) {
        case .string(let text): [text]
        case .array(let values):
            values.compactMap { if case .string(let text) = $0 { text } else { nil } }
        default: []
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What one event showed of runs and of the messages about them.
struct Episode {
    /// Something that happened, in the order in which it was written.
    enum Happening {
        /// A run was closed.
        case ended(PlainEnd)
        /// A run was handed to the runner.
        case started(job: Int, run: String, isFrequent: Bool)
        /// The job has another name.
        case renamed(from: Int, to: Int)
        /// The job is not in the configuration any more.
        case removed(Int)
    }

    var happened: [Happening] = []
    /// The messages, one text each.
    var told: [String] = []
    /// The stored incidents after the event, one text each.
    var incidents: Set<String> = []
}

/// The end of a run.
struct PlainEnd {
    /// The job, by its current name; nil if it is not in the configuration.
    var job: Int?
    var run: String
    var attempt: Int
    var hasSucceeded: Bool
    var hasFailed: Bool
    var isLost: Bool
    var isReplaced: Bool
    /// Whether a next attempt was recorded by the same event.
    var willRetry = false
}

/// Compares the messages about jobs with the definitions: a firing failed if its last attempt did;
/// so many failed firings in a row are one incident, which the next success ends. It follows what
/// was written about runs, and uses no code of the agenda.
struct IncidentChecker {
    /// The jobs with an even number name all notifiers, and the others none.
    static func isWatched(_ job: Int) -> Bool { job % 2 == 0 }

    private struct Count {
        var failed = 0
        var lost = 0
    }

    private var counts: [Int: Count] = [:]
    private var expected: [String] = []
    /// After how many failures each notifier tells about failures.
    private static let after = ["n1": 1, "n2": 3]

    /// The first difference between the messages and the definitions; nil if there is none.
    static func fault(in episodes: [Episode]) -> String? {
        var checker = IncidentChecker()
        for (index, episode) in episodes.enumerated() {
            checker.follow(episode)
            if checker.expected.sorted() != episode.told.sorted() {
                return "event \(index): told \(episode.told.sorted()), expected "
                    + "\(checker.expected.sorted()) after \(episode.happened)"
            }
            if checker.incidents != episode.incidents {
                return "event \(index): incidents \(episode.incidents.sorted()), expected "
                    + "\(checker.incidents.sorted()) after \(episode.happened)"
            }
        }
        return nil
    }

    private mutating func follow(_ episode: Episode) {
        expected = []
        for one in episode.happened {
            switch one {
            case .ended(let end): follow(end)
            case .started(let job, let run, let isFrequent):
                guard Self.isWatched(job), !isFrequent else { continue }
                expected.append(Self.text("hc", "start", job, run, 0))
            case .renamed(let from, let to):
                counts[to] = counts.removeValue(forKey: from)
                // A name that nobody is told about, or was not before, begins with nothing.
                if !Self.isWatched(from) || !Self.isWatched(to) { counts[to] = nil }
            case .removed(let job): counts[job] = nil
            }
        }
    }

    private mutating func follow(_ end: PlainEnd) {
        guard let job = end.job, Self.isWatched(job) else { return }
        var count = counts[job] ?? Count()
        if end.hasFailed {
            expected.append(Self.text("hc", "failure", job, end.run, 0, end.willRetry))
        }
        if end.hasSucceeded {
            expected.append(Self.text("hc", "success", job, end.run, 0))
            expected.append(Self.text("n2", "success", job, end.run, 0))
            for (name, after) in Self.after where count.failed >= after {
                expected.append(Self.text(name, "recovery", job, end.run, count.failed))
            }
            if count.lost > 0 { expected.append(Self.text("n3", "recovery", job, end.run, 0)) }
            count = Count()
        } else if (end.hasFailed && !end.willRetry) || (end.isReplaced && end.attempt > 1) {
            count.failed += 1
            for (name, after) in Self.after where count.failed == after {
                expected.append(Self.text(name, "failure", job, end.run, count.failed))
            }
            if end.isLost {
                count.lost += 1
                if count.lost == 1 { expected.append(Self.text("n3", "lost", job, end.run, 1)) }
            }
        }
        counts[job] = count
    }

    private var incidents: Set<String> {
        var texts: Set<String> = []
        for (job, count) in counts {
            for (name, after) in Self.after where count.failed > 0 {
                texts.insert(
                    Self.incident(name, "failure", job, count.failed, count.failed >= after))
            }
            if count.lost > 0 { texts.insert(Self.incident("n3", "lost", job, count.lost, true)) }
        }
        return texts
    }

    static func text(
        _ notifier: String, _ kind: String, _ job: Int, _ run: String, _ count: Int,
        _ willRetry: Bool = false
    ) -> String {
        "\(notifier) \(kind) \(job) \(run) \(count)" + (willRetry ? " retry" : "")
    }

    static func incident(
        _ notifier: String, _ kind: String, _ job: Int, _ count: Int, _ isTold: Bool
    ) -> String {
        "\(notifier) \(kind) \(job) \(count)" + (isTold ? " told" : "")
    }
}

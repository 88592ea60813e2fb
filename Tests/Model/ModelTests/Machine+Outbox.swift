// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The outbox of the simulated machine, and what it observes for `IncidentChecker`.
extension Machine {
    /// The notifiers of every configuration.
    static let notifiers: [Notifier] = [
        notifier("n1", [.failure, .recovery]), notifier("n2", [.failure, .recovery, .success], 3),
        notifier("n3", [.lost, .recovery]),
        Notifier.Name("w").map {
            Notifier(
                name: $0, transport: .mail(to: ["root"], from: nil, contentType: nil),
                on: [.late, .long, .stale, .skipped, .pausedLong, .recovery],
                repeatInterval: .nanoseconds(WatchChecker.repeatSpan))
        },
        Notifier.Name("hc").map {
            Notifier(name: $0, transport: .ping(.url("https://a/"), .healthchecks))
        },
    ].compactMap(\.self)

    private static func notifier(
        _ name: String, _ on: Set<NotificationKind>, _ after: Int = 1
    ) -> Notifier? {
        Notifier.Name(name).map {
            Notifier(
                name: $0, transport: .mail(to: ["root"], from: nil, contentType: nil), on: on,
                after: after)
        }
    }

    /// The configuration, as the parser would create it.
    func jobSet(_ jobs: [PlainJob]) -> JobSet {
        JobSet(
            jobs.map(Job.init), notifiers: Self.notifiers,
            slots: timeline.slots.enumerated().map {
                RunSlot(name: Self.slotNames[$0.offset], max: $0.element)
            })
    }

    func observeEnd(_ ended: RunSummary) {
        let row = rows.first { $0.run.id == ended.id }
        let owner = row?.owner ?? ended.id.firing.job
        var isLost = false
        if case .lost = ended.outcome { isLost = true }
        episode.happened.append(
            .ended(
                PlainEnd(
                    job: agenda.definition(of: owner) == nil ? nil : index(owner),
                    run: "\(ended.id)", attempt: ended.id.attempt,
                    hasSucceeded: ended.result == .success, hasFailed: ended.failed,
                    isLost: isLost, isReplaced: ended.outcome == .replaced)))
        if let job = episode.happened.last.flatMap(Self.job(of:)) {
            watch.happened.append(
                .ended(
                    job, hasSucceeded: ended.result == .success, hasFailed: ended.failed,
                    isTooLate: ended.outcome == .lost(.deadline), hasBegun: row?.began != nil))
        }
        ends.append((episode.happened.count - 1, owner, ended.id))
    }

    func observeStart(_ run: Run) {
        let owner = rows.first { $0.run.id == run.id }?.owner ?? run.id.firing.job
        guard let job = agenda.definition(of: owner) else { return }
        var isFrequent = false
        if case .every(let span) = job.schedule { isFrequent = span < .seconds(30) }
        watch.happened.append(.started(index(owner)))
        episode.happened.append(
            .started(job: index(owner), run: "\(run.id)", isFrequent: isFrequent))
    }

    func observe(_ told: [JobNotification], _ changes: [IncidentChange]) {
        observeWatch(told)
        episode.told += told.filter { $0.notifier.description != "w" }.map { one in
            IncidentChecker.text(
                one.notifier.description, one.kind.rawValue, one.job.map(index) ?? -1,
                one.run.map { "\($0)" } ?? "", one.failedInARow, one.willRetry)
        }
        for change in changes {
            switch change {
            case .set(let incident): incidents[incident.id] = incident
            case .remove(let id): incidents[id] = nil
            }
        }
    }

    func observeRename(_ renaming: Renaming) {
        watch.happened.append(.renamed(from: index(renaming.from), to: index(renaming.to)))
        episode.happened.append(.renamed(from: index(renaming.from), to: index(renaming.to)))
        for incident in incidents.values where incident.id.job == renaming.from {
            incidents[incident.id] = nil
            var renamed = incident
            renamed.id.job = renaming.to
            incidents[renamed.id] = renamed
        }
    }

    /// Ends the observation of an event.
    func closeEpisode() {
        // The next attempt has the same firing, under the current name of the job.
        for (place, owner, run) in ends {
            guard case .ended(var end) = episode.happened[place] else { continue }
            end.willRetry = newRows.contains {
                $0.firing.job == owner && $0.firing.scheduled == run.firing.scheduled
                    && $0.attempt == run.attempt + 1
            }
            episode.happened[place] = .ended(end)
        }
        episode.incidents = Set(
            incidents.values.filter { $0.id.notifier.description != "w" }.map { incident in
                IncidentChecker.incident(
                    incident.id.notifier.description, incident.id.kind.rawValue,
                    index(incident.id.job), incident.count, incident.notified != nil)
            })
        timeline.episodes.append(episode)
        episode = Episode()
        ends = []
        newRows = []
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The tables `[notify.NAME]`, and the rules about notifiers and jobs.
extension Decoder {
    /// The most notifiers, in all files.
    static let notifiersMax = 100

    mutating func readNotifiers(_ entry: TomlEntry, _ reader: inout FileReader) {
        for key in reader.table(entry) {
            if let notifier = readNotifier(key, &reader) { notifiers.append(notifier) }
        }
    }

    private mutating func readNotifier(
        _ key: TomlEntry, _ reader: inout FileReader
    ) -> Notifier? {
        let subject = "notifier \"\(key.shown)\""
        let before = reader.count
        guard
            let (name, entries): (Notifier.Name, _) = reader.table(
                key, of: "notify", &notifierPlaces,
                most: (Self.notifiersMax, "notifiers"), subject)
        else { return nil }
        var draft = NotifierDraft()
        var keys = Set(entries.map(\.key))
        for entry in entries {
            guard let found = NotifierKey.all.first(where: { $0.name == entry.key }) else {
                let names = NotifierKey.all.map(\.name)
                reader.unknown(entry, "key", among: names, subject: subject)
                // The other key was probably meant, so it is not said to be missing.
                if let near = nearestName(entry.key, among: names) { keys.insert(near) }
                continue
            }
            reader.attempt("\(subject): \(entry.key)") { () throws(Fault) in
                try found.read(entry.node, &draft)
                draft.marks[entry.key] = entry.node.mark
            }
        }
        guard reader.count == before else {
            for fault in draft.faults(keys, at: key.mark) {
                reader.report(fault, subject)
            }
            return nil
        }
        return reader.attempt(subject) { () throws(Fault) in
            try draft.notifier(named: name, at: key.mark)
        }
    }

    /// The notifiers that can be used: one that runs a job needs the job.
    func usableNotifiers(_ errors: inout [ConfigError]) -> [Notifier] {
        guard !notifiers.isEmpty else { return [] }
        let jobs = Set(jobs.map(\.name))
        return notifiers.filter { notifier in
            guard case .job(let job) = notifier.transport, !jobs.contains(job),
                !rejected.contains(job.description)
            else { return true }
            let place = notifierPlaces[notifier.name.description]
            let near = nearestName(job.description, among: jobs.map(\.description))
            errors.append(
                ConfigError(
                    file: place?.file ?? "", mark: place?.mark,
                    message: "notifier \"\(notifier.name)\": job: there is no job \"\(job)\""
                        + (near.map { " (did you mean \"\($0)\"?)" } ?? ""),
                    excerpt: place?.excerpt))
            return false
        }
    }

    /// Lets a notifier set the variables with its facts for runs of its job.
    func allowVariables(of notifiers: [Notifier], in jobs: inout [Job]) {
        let names = Set(
            notifiers.compactMap { notifier in
                if case .job(let job) = notifier.transport { job } else { nil }
            })
        guard !names.isEmpty else { return }
        for index in jobs.indices where names.contains(jobs[index].name) {
            jobs[index].execution.runVariables.formUnion(RunVariables.ofNotifications)
        }
    }

    /// A job can only name notifiers that are there. A job that a notifier runs cannot be told about
    /// by running a job: that could go on for ever.
    /// - Complexity: O(*n*) in the number of jobs.
    func leaveOutWithWrongNotifiers(_ found: inout RuleFaults) {
        guard !isSingle, !notifyPlaces.isEmpty else { return }
        var runners: Set<Notifier.Name> = []
        var targets: [Job.Name: Notifier.Name] = [:]
        for notifier in notifiers + (surroundings?.notifiers ?? []) {
            guard case .job(let job) = notifier.transport else { continue }
            runners.insert(notifier.name)
            targets[job] = notifier.name
        }
        let known = Set(notifierPlaces.keys).union(surroundings?.notifierNames ?? [])
        var lacksTables = false
        leaveOut(&found, at: notifyPlaces) { job in
            let names = job.policy.notify
            guard !names.isEmpty else { return nil }
            if let name = names.first(where: { !known.contains($0.description) }) {
                lacksTables = true
                return "notify: " + Self.noTable("notify", name.description, among: known)
            }
            return nil
        }
        if lacksTables { found.lacksTables = true }
        guard !targets.isEmpty else { return }
        // A default of the main file is right for the other jobs.
        leaveOut(&found, at: notifyPlaces.filter { !$0.value.mark.isInherited }) { job in
            let names = job.policy.notify
            guard !names.isEmpty, names.allSatisfy({ known.contains($0.description) })
            else { return nil }
            guard let target = targets[job.name], let name = names.first(where: runners.contains)
            else { return nil }
            return
                "notify: the notifier \"\(target)\" runs this job, so \"\(name)\", which runs a job too, "
                + "cannot tell about it; name others, or notify = []"
        }
    }
}

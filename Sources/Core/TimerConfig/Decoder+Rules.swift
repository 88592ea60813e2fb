// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerZones

/// What can be said only once all files are read: rules about several jobs, and about jobs and `[daemon]`.
extension Decoder {
    func reading() -> ConfigReading {
        var errors = errors
        var kept = jobs
        var rejected = rejected
        let before = rejected.count
        let found = ruleFaults()
        errors += found.errors
        let unlisted = unlisted + found.unlisted
        if !found.wrong.isEmpty {
            kept.removeAll { found.wrong.contains($0.name) }
            rejected += jobs.lazy.filter { found.wrong.contains($0.name) }
                .map(\.name.description)
        }
        var faults = faults(with: rejected[before...])
        if found.blamesMainFile { faults.isWhole = true }
        let notifierErrors = errors.count
        let notifiers = usableNotifiers(&errors)
        allowVariables(of: notifiers, in: &kept)
        if errors.count > notifierErrors { faults.isWhole = true }
        if jobs.count > settings.jobsMax {
            faults.isWhole = true
            let extra = jobs[settings.jobsMax...]
            kept = Array(kept.prefix(settings.jobsMax))
            rejected += extra.map(\.name.description)
            let place = places[extra[settings.jobsMax].name.description]
            errors.append(
                ConfigError(
                    file: place?.file ?? "", mark: place?.mark,
                    message: "there are \(jobs.count) jobs; the last \(extra.count) are left out "
                        + "(raise jobs-max in [daemon])"))
        }
        leavePlaces(&kept)
        applyDates(to: &kept)
        let shares = shares(of: kept)
        let lines = kept.map { UInt32(clamping: place(of: $0.name)?.mark.line ?? 0) }
        nameForMachine(&kept)
        let unused = unusedSlots() + datesWarnings(of: kept)
        // Who is in a group may change at any time. Two names of files may be equal as texts and differ
        // in their bytes.
        let isLasting =
            errors.isEmpty && settings.allowedUsers?.groups.isEmpty ?? true
            && Set(ends.map(\.file)).count == ends.count
        return ConfigReading(
            jobSet: JobSet(kept, notifiers: notifiers, slots: slots), shares: shares,
            lines: lines, settings: settings, errors: errors,
            errorCount: errors.count + unlisted, rejected: rejected,
            defaultsErrors: defaultsErrors, warnings: warnings + unused,
            warningCount: warningCount + unused.count, noteCount: noteCount, faults: faults,
            settingsFiles: settingsFiles,
            contents: isLasting
                ? ConfigContents(
                    files: lasting, settings: settings, defaults: mainDefaults?.hash ?? 0,
                    notifiers: notifiers, slots: slots) : nil,
            unchanged: unchanged, zones: zones.known, missingZones: zones.missing,
            datesFiles: datesFiles, lacksTables: found.lacksTables)
    }

    /// Adds the files of these jobs, and which jobs are in the files that have errors.
    ///
    /// - Complexity: O(*n*) in the number of jobs.
    private func faults(with rejected: ArraySlice<String>) -> ConfigFaults {
        var faults = faults
        let main = ends.first?.file
        for name in rejected {
            guard let file = places[name]?.file else { continue }
            if file == main { faults.isWhole = true } else { faults.files.insert(file) }
        }
        guard !faults.files.isEmpty else { return faults }
        for (name, place) in places where faults.files.contains(place.file) {
            if let job = Job.Name(name) { faults.jobs[job] = place.file }
        }
        return faults
    }

    static func count(_ more: Int) -> String {
        plural(more, "more error")
    }

    /// - Parameter kept: some of `jobs`, in their order.
    /// - Complexity: O(*n*) in the number of jobs.
    private func shares(of kept: [Job]) -> [(file: String, jobs: Int)] {
        var (next, begin) = (0, 0)
        return ends.map { file, end in
            let first = next
            for job in jobs[begin..<end] where next < kept.count && kept[next].name == job.name {
                next += 1
            }
            begin = end
            return (file, next - first)
        }
    }

    /// Applies all rules to all jobs, so that an error of one does not hide that of another.
    /// - Complexity: O(*n*) in the number of jobs.
    private func ruleFaults() -> RuleFaults {
        var found = RuleFaults(jobs: jobs)
        leaveOutDuplicateRenames(&found)
        // Jobs that are left out already are checked too, so that all of their errors are reported.
        if !halfRead.isEmpty { found.jobs += halfRead.map(\.job) }
        leaveOutTooConcurrent(&found)
        leaveOutDisallowed(&found)
        leaveOutWithoutFleet(&found)
        leaveOutWithWrongNotifiers(&found)
        leaveOutWithWrongSlots(&found)
        leaveOutWithWrongDates(&found)
        leaveOutWithWrongFollows(&found)
        return found
    }

    /// A job cannot take the account of one that is there, nor two the account of one.
    /// - Complexity: O(*n*) in the number of jobs.
    private func leaveOutDuplicateRenames(_ found: inout RuleFaults) {
        guard jobs.contains(where: { $0.renamedFrom != nil }) else { return }
        var renames: [Job.Name: Job.Name] = [:]
        let names = Set(jobs.map(\.name))
        let before = found.unlisted
        leaveOut(&found, at: renamings) { job in
            guard let old = job.renamedFrom else { return nil }
            if let other = renames.updateValue(job.name, forKey: old) {
                return
                    "renamed-from: \"\(old)\" is already the earlier name of \"\(other)\"; only one job can be renamed from it"
            }
            guard names.contains(old) else { return nil }
            return
                "renamed-from: \"\(old)\" is still a job; remove one of them, or remove renamed-from"
        }
        let more = found.unlisted - before
        guard more > 0, let last = found.errors.last else { return }
        found.errors.append(
            ConfigError(file: last.file, message: "and \(Self.count(more)) of renamed-from"))
        found.unlisted -= 1
    }

    /// A job cannot have more runs at once than all jobs together: users would rely on a number that is never reached.
    /// - Complexity: O(*n*) in the number of jobs.
    private func leaveOutTooConcurrent(_ found: inout RuleFaults) {
        guard !maxima.isEmpty else { return }
        let most = settings.maxConcurrent
        leaveOut(&found, at: maxima) { job in
            guard job.policy.concurrencyMax ?? 0 > most else { return nil }
            return "concurrency-max: is more than max-concurrent of [daemon], which is \(most); "
                + "lower this one or raise that one"
        }
    }

    /// A job can only run as one of the users that `allowed-users` names, if there are any.
    /// - Complexity: O(*n*) in the number of jobs, and where this machine is asked, the look-ups of their users.
    private func leaveOutDisallowed(_ found: inout RuleFaults) {
        guard let allowed = settings.allowedUsers else { return }
        let machine = checks?.machine
        let unknown = Set(halfRead.filter { $0.refused.contains("user") }.map(\.job.name))
        leaveOut(&found, at: users) { job in
            guard let user = job.execution.user else {
                return unknown.contains(job.name)
                    ? nil
                    : "names no user, though [daemon] has allowed-users; add user = with one of them"
            }
            guard !allowed.users.contains(user) else { return nil }
            // Without the machine it is not known who is in a group. The runner looks it up before each run.
            if !allowed.groups.isEmpty {
                guard machine?.isMember(user, of: allowed.groups) == false else { return nil }
            }
            return
                "user: \"\(user)\" is not one of allowed-users of [daemon]; name one of them, or add "
                + "this one there"
        }
    }

    /// Notes the jobs that `fault` finds something wrong with. Only the first of them are reported.
    /// - Parameter marks: where it is written. A job that is not in there is marked itself.
    func leaveOut(
        _ found: inout RuleFaults,
        at marks: [Job.Name: (mark: SourceMark, excerpt: String?)], for fault: (Job) -> String?
    ) {
        var count = 0
        for job in found.jobs {
            guard let message = fault(job) else { continue }
            count += 1
            found.wrong.insert(job.name)
            guard count <= ConfigReading.errorsMax else { continue }
            let place = places[job.name.description]
            let mark = marks[job.name]?.mark ?? place?.mark
            var file = place?.file ?? ""
            if let main = mainDefaults, mark?.isInherited == true {
                file = main.file
                found.blamesMainFile = true
            }
            found.errors.append(
                ConfigError(
                    file: file, mark: mark?.plain,
                    message: "job \"\(job.name)\": \(message)",
                    excerpt: marks[job.name]?.excerpt, job: job.name.description))
        }
        found.unlisted += max(0, count - ConfigReading.errorsMax)
    }

    /// That a job names a table which is not there, and which one was probably meant.
    static func noTable(_ kind: String, _ name: String, among known: Set<String>) -> String {
        let near = nearestName(name, among: known.sorted())
        return "there is no table [\(kind).\(name)]"
            + (near.map { " (did you mean \"\($0)\"?)" } ?? "")
    }

    /// Gives the jobs that allow runs at the same time, without a number of their own, the default one: no job alone
    /// takes every place.
    /// - Complexity: O(*n*) in the number of jobs.
    private func leavePlaces(_ kept: inout [Job]) {
        let most = DaemonSettings.concurrencyMax(
            ofPlaces: concurrentRunsMax ?? settings.maxConcurrent)
        // First which: most configurations have none, and a change copies all jobs.
        let found = kept.indices.filter { index in
            let policy = kept[index].policy
            return policy.concurrency == .allow && policy.concurrencyMax == nil
                && kept[index].fleet == nil
        }
        for index in found { kept[index].policy.concurrencyMax = most }
    }
}

/// What the rules find that are about several jobs or tables.
struct RuleFaults {
    /// The jobs to which the rules apply.
    var jobs: [Job]
    /// The names of those that are left out.
    var wrong: Set<Job.Name> = []
    var errors: [ConfigError] = []
    /// How many errors are only counted.
    var unlisted = 0
    /// Whether a job refers to a table that is not there.
    var lacksTables = false
    /// Whether a default of the main file is wrong for a job of another file.
    var blamesMainFile = false
}

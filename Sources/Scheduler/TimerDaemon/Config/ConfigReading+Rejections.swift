// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerConfig
package import TimerControl
import TimerCore

extension ConfigReading {
    /// The jobs and files that were not loaded, each with its errors.
    ///
    /// - Complexity: O(*n*) in the number of errors and of rejected jobs.
    package var rejections: [Rejection] { rejections(of: rejected) }

    /// What its errors mean for the jobs, such as `2 errors; 1 job is not loaded, 3 are`.
    package var errorSummary: String {
        let count = jobSet.jobs.count
        let jobs =
            rejected.isEmpty
            ? "\(plural(count, "job is", "jobs are")) loaded"
            : "\(plural(rejected.count, "job is", "jobs are")) not loaded, "
                + plural(count, "is", "are")
        return "\(plural(errorCount, "error")); \(jobs)"
    }

    /// The rejections of a reload that uses a part of the configuration. It includes the jobs that
    /// do not change because their file is refused, and leaves out the files, which are reported
    /// separately.
    func rejections(with part: ConfigPart?) -> [Rejection] {
        guard let part else { return rejections }
        let kept = Set(part.kept.map(\.job.description))
        let ofFiles = Dictionary(grouping: errors) { $0.file }
        let ofJobs = Dictionary(grouping: errors) { $0.job }
        return rejections(
            of: rejected.filter { Job.Name($0) != nil && !kept.contains($0) })
            + part.kept.map { job, file in
                let own = ofJobs[job.description] ?? ofFiles[file] ?? []
                return Rejection(name: job.description, errors: own.map(\.description))
            }
    }

    private func rejections(of rejected: [String]) -> [Rejection] {
        let ofJobs = Dictionary(grouping: errors) { $0.job }
        let ofFiles = Dictionary(grouping: errors) { $0.file }
        return rejected.map { name in
            let own = (ofJobs[name] ?? ofFiles[name] ?? []).map(\.description)
            let other = "another error of its file keeps it from being loaded; see `timerd check`"
            let defaults = defaultsErrors.map(\.description)
            return Rejection(
                name: name, errors: own.isEmpty ? (defaults.isEmpty ? [other] : defaults) : own)
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The names of templates, such as `dump@`, of which the configuration makes jobs such as `dump@shop`.
extension Job.Name {
    /// Whether it is the name of a template, and so of no job.
    public var isTemplate: Bool { Self.isTemplate(description) }

    /// The same of a text that may be no name.
    public static func isTemplate(_ text: String) -> Bool { text.utf8.last == UInt8(ascii: "@") }

    /// Whether it is the name of a job that is made of a template.
    public func isInstance(of template: Job.Name) -> Bool {
        template.isTemplate && description.utf8.count > template.description.utf8.count
            && description.utf8.starts(with: template.description.utf8)
    }
}

extension [Job.Name] {
    /// The names with all jobs of a template in place of its name. A template without a job stays.
    ///
    /// - Parameter jobs: all jobs.
    /// - Complexity: O(*n* *m*) in the templates and the jobs.
    public func replacingTemplates(among jobs: [Job.Name]) -> [Job.Name] {
        guard contains(where: \.isTemplate) else { return self }
        var seen: Set<Job.Name> = []
        return flatMap { name -> [Job.Name] in
            guard name.isTemplate else { return [name] }
            let instances = jobs.filter { $0.isInstance(of: name) }
            return instances.isEmpty ? [name] : instances
        }.filter { seen.insert($0).inserted }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The templates of a file, and the tables of their instances.
struct JobTemplates {
    /// The templates by their names. One that is wrong has no instances.
    private(set) var templates: [String: JobTemplate] = [:]
    /// The tables of instances, by the names of their jobs.
    private(set) var own: [String: TomlEntry] = [:]
    /// The names of tables that look like those of instances, and are none.
    private(set) var strays: Set<String> = []

    var isEmpty: Bool { templates.isEmpty }

    mutating func add(_ template: JobTemplate) { templates[template.name] = template }

    /// Adds a table of the file if it is one of an instance.
    ///
    /// - Returns: the templates whose job it could be, if it is of none of them.
    /// - Complexity: O(1); a name has at most 64 characters.
    mutating func addOwn(_ key: TomlEntry) -> [JobTemplate] {
        let name = key.key
        guard name.utf8.count <= Job.Name.lengthMax, templates[name] == nil else { return [] }
        let ends = name.utf8.indices.filter { name.utf8[$0] == UInt8(ascii: "@") }
        let possible = ends.compactMap { templates[String(name[...$0])] }
        guard !possible.isEmpty else { return [] }
        guard possible.contains(where: { $0.isWrong || $0.hasInstance(of: name) }) else {
            strays.insert(name)
            return possible
        }
        own[name] = key
        return []
    }
}

extension Decoder {
    /// Finds the templates among the jobs of a file, with the tables of their instances.
    mutating func readTemplates(
        among table: [TomlEntry], _ reader: inout FileReader
    ) -> JobTemplates {
        var found = JobTemplates()
        for key in table where Job.Name.isTemplate(key.key) {
            found.add(readTemplate(key, &reader))
        }
        guard !found.isEmpty else { return found }
        for key in table {
            for template in found.addOwn(key) {
                let instance = key.key.dropFirst(template.name.count)
                reader.report(
                    Fault(
                        key.mark,
                        "is not an instance of [job.\"\(template.name)\"]; add \"\(instance)\" to its instances, "
                            + "or give this job another name"), "job \"\(key.shown)\"")
            }
        }
        return found
    }

    private mutating func readTemplate(
        _ key: TomlEntry, _ reader: inout FileReader
    ) -> JobTemplate {
        let subject = "job \"\(key.shown)\""
        let wrong = JobTemplate(name: key.key, entries: [], instances: [])
        let place = templatePlaces[key.key].map { "\($0.file):\($0.mark.line)" }
        guard let _: Job.Name = reader.name(key, usedIn: place, subject), place == nil else {
            return wrong
        }
        templatePlaces[key.key] = Place(file: reader.document.file, mark: key.mark)
        guard !isOneOff, case .table(let entries) = key.node.value,
            let list = entries.first(where: { $0.key == "instances" })
        else {
            reader.report(
                Fault(
                    key.mark,
                    isOneOff
                        ? "a one-off job has no instances, and a name that ends in @ is that of a template"
                        : "a name that ends in @ is that of a template: add instances = [\"a\", \"b\"], of which each is a "
                            + "job \(key.shown)a, or take the @ away"), subject)
            return wrong
        }
        let instances = reader.attempt("\(subject): instances") { () throws(Fault) in
            try JobTemplate.instances(list.node, of: key.key)
        }
        return JobTemplate(
            name: key.key, entries: entries.filter { $0.key != "instances" },
            instances: instances ?? [])
    }

    /// Reads the jobs of a template. What is wrong with the template is reported once.
    ///
    /// - Parameter own: the tables of its instances, by the names of their jobs.
    mutating func readInstances(
        of template: JobTemplate, _ own: [String: TomlEntry], _ defaults: Draft,
        _ reader: inout FileReader
    ) {
        guard !template.isWrong else {
            leaveOut(template.name.shortened(to: 100))
            return
        }
        reader.seen = []
        defer { reader.seen = nil }
        let areRight = checkPercents(in: template.entries, "job \"\(template.name)\"", &reader)
        for instance in template.instances {
            let name = template.name + instance.name
            let table = own[name]
            var keys: [TomlEntry] = []
            var isRight = areRight
            if let table {
                let before = reader.count
                keys = reader.table(table, as: "job.\"\(name)\"", "job \"\(name)\"")
                isRight = reader.count == before && isRight
                isRight = checkPercents(in: keys, "job \"\(name)\"", &reader) && isRight
            }
            let entries = template.entries(of: instance.name, own: keys)
            isRight = checkFleet(of: entries, "job \"\(name)\"", &reader) && isRight
            let mark = table?.mark ?? instance.mark
            let node = TomlNode(mark: mark, value: .table(entries))
            let job = readJob(TomlEntry(key: name, mark: mark, node: node), defaults, &reader)
            if let job, isRight { append(job) } else { leaveOut(name) }
        }
    }

    private func checkPercents(
        in entries: [TomlEntry], _ subject: String, _ reader: inout FileReader
    ) -> Bool {
        let faults = JobTemplate.faults(in: entries)
        for (key, fault) in faults { reader.report(fault, "\(subject): \(key)") }
        return faults.isEmpty
    }

    /// The name of a machine takes the place in the name of the job that that of the instance has.
    private func checkFleet(
        of entries: [TomlEntry], _ subject: String, _ reader: inout FileReader
    ) -> Bool {
        guard let fleet = entries.first(where: { $0.key == "fleet" }),
            case .string("each") = fleet.node.value
        else { return true }
        reader.report(
            Fault(
                fleet.node.mark,
                "fleet: \"each\" does not go with instances: the job of each machine is named after the machine, as "
                    + "NAME@MACHINE, and could have the name of an instance; use fleet = \"one\", or a table for each job"
            ), subject)
        return false
    }
}

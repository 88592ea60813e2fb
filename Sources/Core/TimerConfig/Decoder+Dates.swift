// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The tables `[dates.NAME]`, their files, and the rules about dates and jobs.
extension Decoder {
    /// The most lists of dates, in all files.
    static let dateListsMax = 1000

    mutating func readDates(_ entry: TomlEntry, _ reader: inout FileReader) {
        for key in reader.table(entry) { readList(key, &reader) }
    }

    private mutating func readList(_ key: TomlEntry, _ reader: inout FileReader) {
        let subject = "dates \"\(key.shown)\""
        let before = reader.count
        guard
            let (name, entries): (DateList.Name, _) = reader.table(
                key, of: "dates", &datesPlaces, most: (Self.dateListsMax, "lists of dates"), subject
            )
        else { return }
        var draft = DatesDraft()
        for entry in entries { reader.read(entry, of: subject, into: &draft) }
        let names = DatesDraft.keys.map(\.name)
        let areThere = names.map { name in entries.contains { $0.key == name } }
        if reader.count == before || areThere.allSatisfy(\.self) {
            reader.attempt(subject) { () throws(Fault) in
                try Draft.checkOne(of: areThere, among: names, at: key.mark)
            }
        }
        guard reader.count == before else { return }
        let found = draft.file.flatMap { read($0, subject, &reader) } ?? draft.dates?.value
        guard let found, reader.count == before else { return }
        dateLists[name] = DateList(name: name, days: DaySet(found))
    }

    /// Reads the file of a list, whose errors have their places in it.
    private mutating func read(
        _ file: Marked<String>, _ subject: String, _ reader: inout FileReader
    ) -> [DaySet.Entry]? {
        guard readsDates else { return [] }
        let path = DatesFile.path(file.value, beside: reader.document.file)
        guard let files else {
            reader.report(
                Fault(file.mark, "a file of dates cannot be read here; use dates"),
                "\(subject): file")
            return nil
        }
        let bytes: [UInt8]
        do throws(ConfigError) {
            bytes = try files.readDates(path)
            datesFiles[path] = ConfigContents.hash(bytes)
        } catch {
            datesFiles[path] = error.hashValue
            reader.report(Fault(file.mark, "\(error)"), "\(subject): file")
            return nil
        }
        let (entries, errors) = DatesFile.read(bytes, file: path)
        for error in errors { reader.report(error) }
        return errors.isEmpty ? entries : nil
    }

    /// A job can only name lists of dates that are there and have no error.
    /// - Complexity: O(*n*) in the number of jobs.
    func leaveOutWithWrongDates(_ found: inout RuleFaults) {
        guard !isSingle, !dateUses.isEmpty else { return }
        let known = Set(datesPlaces.keys).union(surroundings?.dateNames ?? [])
        var lacksTables = false
        leaveOut(&found, at: dateUses.mapValues { ($0.mark, $0.excerpt) }) { job in
            for (key, name) in dateUses[job.name]?.use.names ?? [] where dateList(name) == nil {
                guard known.contains(name.description) else {
                    lacksTables = true
                    return "\(key): " + Self.noTable("dates", name.description, among: known)
                }
                return "\(key): the dates \"\(name)\" have an error; correct it first"
            }
            return nil
        }
        if lacksTables { found.lacksTables = true }
    }

    private func dateList(_ name: DateList.Name) -> DateList? {
        dateLists[name] ?? surroundings?.dateLists[name]
    }

    /// Gives the jobs the dates of the lists that they name. Jobs with the same lists share them.
    /// - Complexity: O(*n*) in the number of jobs, if some name lists.
    func applyDates(to kept: inout [Job]) {
        guard !dateUses.isEmpty else { return }
        var byNames: [[String]: Boxed<FiringRules>] = [:]
        for index in kept.indices {
            guard let use = dateUses[kept[index].name]?.use,
                case .wall(var schedule) = kept[index].schedule
            else { continue }
            let names = use.names.map { "\($0.key) \($0.name)" }
            let rules = byNames[names] ?? Boxed(wrappedValue: rules(of: use))
            byNames[names] = rules
            schedule.rules = Self.adding(schedule.rules?.wrappedValue.everyNth, to: rules)
            kept[index].schedule = .wall(schedule)
        }
    }

    /// Warns of lists that no job names, of lists whose dates are all past, and of jobs that their
    /// lists keep from every run of some years.
    ///
    /// - Parameter kept: the jobs with their lists.
    func datesWarnings(of kept: [Job]) -> [ConfigWarning] {
        guard let checks, !isSingle, !datesPlaces.isEmpty || !dateUses.isEmpty else { return [] }
        var warnings: [ConfigWarning] = []
        func warn(
            _ code: ConfigWarning.Code,
            at place: (file: String, mark: SourceMark, excerpt: String?), _ message: String
        ) {
            warnings.append(
                ConfigWarning(
                    code: code, file: place.file, mark: place.mark, message: message,
                    excerpt: place.excerpt))
        }
        // Nothing is said of jobs that are left out or not read.
        let used =
            unchanged.isEmpty && faults.files.isEmpty && !faults.isWhole
            ? Set(dateUses.values.flatMap { $0.use.names.map(\.name.description) }) : nil
        let yesterday = checks.now - .seconds(86_400)
        for (name, place) in datesPlaces.sorted(by: { $0.key < $1.key }) {
            let subject = "dates \"\(name)\""
            if let used, !used.contains(name) {
                warn(
                    .unusedDates, at: place, "\(subject): no job names them in except or only-on")
            }
            guard let list = DateList.Name(name).flatMap({ dateLists[$0] }),
                let last = list.days.last, last < ZoneRules.utc.date(at: yesterday)
            else { continue }
            warn(
                .pastDates, at: place,
                "\(subject): all of its dates are past, the last is \(last.text); add those to come"
            )
        }
        for job in kept where dateUses[job.name] != nil {
            guard let use = dateUses[job.name], case .wall(let schedule) = job.schedule,
                let reason = schedule.neverAllowed(at: checks.now),
                warnings.count < ConfigReading.errorsMax
            else { continue }
            let file =
                use.mark.isInherited ? mainDefaults?.file : places[job.name.description]?.file
            warn(
                .init(rawValue: ScheduleFinding.Code.neverAllowed.rawValue),
                at: (file ?? "", use.mark.plain, use.excerpt),
                "job \"\(job.name)\": \(reason)")
        }
        return warnings
    }

    private static func adding(
        _ everyNth: EveryNth?, to rules: Boxed<FiringRules>
    ) -> Boxed<FiringRules> {
        guard let everyNth else { return rules }
        var all = rules.wrappedValue
        all.everyNth = everyNth
        return Boxed(wrappedValue: all)
    }

    private func rules(of use: DateUse) -> FiringRules {
        FiringRules(
            except: (use.except?.value ?? []).compactMap(dateList),
            onlyOn: (use.onlyOn?.value ?? []).compactMap(dateList))
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Makes jobs of timers of systemd and of the services that they start.
///
/// It reads no files: the caller loads the units.
public struct SystemdImport {
    /// The files of a unit that the caller found, or why there are none.
    public enum Loaded {
        /// The main file, then the drop-ins in the order in which they apply.
        ///
        /// - Parameter isEnabled: whether systemd starts the unit by itself; nil if it is not known.
        case files([UnitFile], isEnabled: Bool?)
        /// A link to /dev/null, or an empty file.
        case masked(path: String)
        /// There is no file of it, and where that was expected.
        case missing(searched: String)
        /// It cannot be read, for this reason.
        case unreadable(path: String, reason: String)
    }

    public struct Options: Sendable {
        /// The instance for templates that are named without one.
        public var instance: String?
        /// Whether intervals also start again after each boot.
        public var isLikeSystemd = false
        /// The names that jobs of others have.
        public var takenJobs: Set<String> = []
        /// What this machine mounts, other than the root.
        public var mounts: [ImportedMount] = []
        /// What specifiers stand for on this machine, such as the host name for `H`.
        public var machine: [Character: String] = [:]
        /// Whether this machine has a time zone with this name.
        public var hasZone: @Sendable (String) -> Bool = { _ in true }

        public init() {}
    }

    public internal(set) var result = ImportResult()
    /// The timers that became jobs, in their order.
    public private(set) var timers: [UnitName] = []

    let options: Options
    let load: (UnitName) -> Loaded
    var namer: JobNamer
    /// A service that two timers start is in the report once.
    private var reported: Set<String> = []
    private var names: Set<UnitName> = []
    /// The services that systemd starts when another one ends, and which jobs do that.
    var handlers = UnitHandlers()

    /// - Parameters:
    ///   - units: the names of the timers; templates take the instance of the options.
    ///   - load: finds the files of a unit.
    /// - Complexity: O(*n*) in the size of the units.
    public init(_ units: [UnitName], options: Options, load: @escaping (UnitName) -> Loaded) {
        (self.options, self.load) = (options, load)
        namer = JobNamer(taken: options.takenJobs)
        for unit in units { add(unit) }
        // Last, so that a job of a timer has the name of its timer.
        addHandlers()
    }

    private mutating func add(_ name: UnitName) {
        var name = name
        if name.isTemplate {
            guard let instance = options.instance, let unit = name.instantiated(instance) else {
                return refuse(
                    "\(name)",
                    "it is a template; name its instance with --instance, as in \(name.prefix)@INSTANCE.timer"
                )
            }
            name = unit
        }
        // A name that is given twice is one timer.
        guard names.insert(name).inserted else { return }
        guard name.type == "timer" else { return refuse("\(name)", "it is not a timer") }
        guard let (timer, isEnabled) = unit(name) else { return }
        guard let service = service(of: timer) else { return }
        translate(timer, service, isEnabled: isEnabled)
    }

    private mutating func refuse(_ file: String, _ why: String) {
        result.report.add(SourcePlace(file), "", .refused(why))
    }

    /// A unit that systemd would load; nil if it would not, which the report says.
    private mutating func unit(_ name: UnitName) -> (LoadedUnit, isEnabled: Bool?)? {
        switch load(name) {
        case .masked(let path): refuse(path, "\(name) is masked, so that systemd never starts it")
        case .missing(let searched): refuse("\(name)", "there is no such unit in \(searched)")
        case .unreadable(let path, let reason): refuse(path, reason)
        case .files(let files, let isEnabled):
            let unit = LoadedUnit(name, files: files)
            guard unit.isFatal else { return (unit, isEnabled) }
            account(for: unit, [])
        }
        return nil
    }

    func specifiers(of unit: LoadedUnit) -> UnitSpecifiers {
        UnitSpecifiers(
            machine: UnitSpecifiers.systemManager.merging(options.machine) { $1 }, name: unit.name,
            path: unit.files.first?.path ?? "")
    }

    /// The service that the timer starts: that of `Unit=`, or that of its own name.
    private mutating func service(of timer: LoadedUnit) -> LoadedUnit? {
        var copy = timer
        var name = timer.name.withType("service")
        var place = SourcePlace(timer.files.first?.path ?? "")
        func refusal(_ reason: String) -> LoadedUnit? {
            account(for: timer, [], refusal: (place, reason))
            return nil
        }
        if let index = copy.last("Timer", "Unit") {
            place = copy[index].place
            let text = specifiers(of: timer).expand(copy[index].value).text
            guard let unit = UnitName(text) else {
                return refusal("\"\(text)\" is not the name of a unit")
            }
            name = unit
        }
        guard let name, name.type == "service", !name.isTemplate else {
            return refusal(
                "it starts \(name?.description ?? "no unit"), and only services can become jobs")
        }
        if case .missing(let searched) = load(name) {
            return refusal(
                "there is no \(name) in \(searched), so that it is not known what to run")
        }
        guard let service = unit(name)?.0 else {
            return refusal("\(name) cannot be used")
        }
        return service
    }

    private mutating func translate(
        _ timerUnit: LoadedUnit, _ serviceUnit: LoadedUnit, isEnabled: Bool?
    ) {
        var timer = TimerTranslation(
            timerUnit, specifiers: specifiers(of: timerUnit), isLikeSystemd: options.isLikeSystemd,
            hasZone: options.hasZone)
        var service = ServiceTranslation(
            serviceUnit, specifiers: specifiers(of: serviceUnit), mounts: options.mounts)
        let plans = timer.plans()
        service.translate()
        timer.mark("Unit", in: "Timer", .mapped)
        let description = timer.description(ifNeeded: !serviceUnit.has("Unit", "Description"))
        timer.markRest()
        var jobs: [ImportedJob] = []
        var refusal: (place: SourcePlace, reason: String)?
        if service.refusal == nil, plans.isEmpty {
            refusal =
                timer.lostTrigger
                ?? (
                    SourcePlace(timerUnit.files.first?.path ?? ""),
                    "nothing in it starts the service"
                )
        } else if service.refusal == nil {
            let chain = [serviceUnit.name]
            let found = handlers(of: &service, jobs: plans.count, chain: chain)
            jobs = plans.map { job($0, timer, service, description, isEnabled) }
            for (handler, event) in found {
                handlers.uses += jobs.map {
                    UnitHandlers.Use(handler: handler, event: event, job: $0.name, chain: chain)
                }
            }
            result.jobs += jobs
            timers.append(timerUnit.name)
        }
        account(for: timer.unit, jobs, refusal: refusal)
        account(for: service.unit, jobs, refusal: service.refusal)
    }

    mutating func account(
        for unit: LoadedUnit, _ jobs: [ImportedJob],
        refusal: (place: SourcePlace, reason: String)? = nil
    ) {
        guard let path = unit.files.first?.path, reported.insert(path).inserted else { return }
        unit.account(in: &result.report, jobs: jobs.map(\.name), refusal: refusal)
    }

    private mutating func job(
        _ plan: TimerTranslation.Plan, _ timer: TimerTranslation, _ service: ServiceTranslation,
        _ description: String?, _ isEnabled: Bool?
    ) -> ImportedJob {
        let name = timer.unit.name
        var job = ImportedJob(
            namer.name(from: name.stem + plan.suffix, else: "timer"), at: plan.place,
            source: timer.unit.text(of: "Timer") + service.commandText)
        if let description { job.set("description", .string(description)) }
        job.set(service.keys, schedule: plan.keys)
        let notes = plan.notes + timer.unit.notes + service.notes + service.unit.notes
        for note in notes { job.note(note) }
        if isEnabled == false {
            job.note(
                "\(name) is not enabled, so that systemd does not start it by itself; timerd runs the job"
            )
        }
        return job
    }
}

extension ImportedJob {
    /// Sets the keys of a service, with the schedule behind the command.
    mutating func set(_ service: [TomlEntry], schedule: [TomlEntry]) {
        for entry in service {
            set(entry.key, entry.value)
            guard entry.key == "command" || entry.key == "shell" else { continue }
            for entry in schedule { set(entry.key, entry.value) }
        }
    }
}

extension TimerTranslation {
    /// The description of the timer, for a service that has none.
    mutating func description(ifNeeded isNeeded: Bool) -> String? {
        guard isNeeded else {
            mark("Description", in: "Unit", .unneeded("the job has the description of the service"))
            return nil
        }
        guard let text = value(of: "Description", in: "Unit") else { return nil }
        mark("Description", in: "Unit", .mapped)
        return specifiers.expand(text).text
    }
}

extension LoadedUnit {
    /// The lines of a section, as they are written.
    func text(of section: String, where isIncluded: (String) -> Bool = { _ in true }) -> [String] {
        assignments.filter { $0.section == section && isIncluded($0.key) }.map {
            UnitFile.trimmed($0.text)
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The services of `OnFailure=` and `OnSuccess=`, which become jobs that notifiers run.
struct UnitHandlers {
    /// The end of a service after which systemd starts the other unit.
    enum Event: String, CaseIterable {
        case failure
        case success

        /// The key of a unit that names the other one.
        var key: String { self == .failure ? "OnFailure" : "OnSuccess" }
    }

    /// A job that lets another one run when it ends.
    struct Use {
        var handler: UnitName
        var event: Event
        /// The jobs of the service that names the handler.
        var jobs: [Job.Name]
    }

    /// What was made of each of them; the reason if nothing could be.
    var services: [UnitName: Result<ServiceTranslation, Refusal>] = [:]
    var uses: [Use] = []

    /// Why a unit cannot become a job, as the end of a sentence.
    struct Refusal: Error { var reason: String }

    /// The most notifiers of a job, which is the limit of the configuration.
    static let usesMax = 20
    /// The schedule of a job that only a notifier runs: this long after a boot.
    static let never = "100y"
}

extension SystemdImport {
    /// The handlers of a service that can be jobs. Its lines say what becomes of the others.
    mutating func handlers(
        of service: inout ServiceTranslation
    ) -> [(handler: UnitName, event: UnitHandlers.Event)] {
        var found: [(handler: UnitName, event: UnitHandlers.Event)] = []
        for (text, event, index) in service.handlers {
            do throws(UnitHandlers.Refusal) {
                let name = try handler(text)
                if found.contains(where: { $0 == (name, event) }) { continue }
                guard found.count < UnitHandlers.usesMax else {
                    throw UnitHandlers.Refusal(
                        reason: "a job has at most \(UnitHandlers.usesMax) notifiers")
                }
                found.append((name, event))
                guard event == .failure else { continue }
                service.unit.mark(
                    index,
                    .lost(
                        "the job of \(name) runs when a run fails after one that succeeded, and not again for each "
                            + "further failure; see repeat in timerd.toml(5)"))
            } catch {
                service.unit.mark(
                    index,
                    .lost("\(error.reason); to be told about it, see notify in timerd.toml(5)"))
            }
        }
        return found
    }

    /// The unit of this name, if it can be a job.
    private mutating func handler(_ text: String) throws(UnitHandlers.Refusal) -> UnitName {
        guard let name = UnitName(text), !name.isTemplate else {
            throw UnitHandlers.Refusal(reason: "\"\(text)\" is not the name of a unit")
        }
        let service: Result<ServiceTranslation, UnitHandlers.Refusal>
        if let known = handlers.services[name] {
            service = known
        } else {
            do throws(UnitHandlers.Refusal) { service = .success(try translation(of: name)) } catch
            {
                service = .failure(error)
            }
            handlers.services[name] = service
        }
        _ = try service.get()
        return name
    }

    private func translation(
        of name: UnitName
    ) throws(UnitHandlers.Refusal) -> ServiceTranslation {
        guard name.type == "service" else {
            throw UnitHandlers.Refusal(
                reason: "timerd does not start \(name), because only services can become jobs")
        }
        guard case .files(let files, _) = load(name) else {
            throw UnitHandlers.Refusal(reason: "there is no \(name) that can be used")
        }
        let unit = LoadedUnit(name, files: files)
        guard !unit.isFatal else {
            throw UnitHandlers.Refusal(reason: "systemd does not load \(name)")
        }
        var service = ServiceTranslation(unit, specifiers: specifiers(of: unit))
        service.translate()
        if let refusal = service.refusal {
            throw UnitHandlers.Refusal(
                reason: "\(name) cannot become a job (\(refusal.place): \(refusal.reason))")
        }
        for handler in service.handlers {
            service.unit.mark(
                handler.index, .lost("a job that a notifier runs cannot let another one run"))
        }
        return service
    }

    /// Adds the jobs of the handlers, and the notifiers that run them.
    mutating func addHandlers() {
        var names: [UnitName: Job.Name] = [:]
        var notifiers = NotifierNames()
        let places = Dictionary(
            uniqueKeysWithValues: result.jobs.enumerated().map { ($1.name, $0) })
        for use in handlers.uses {
            guard let job = names[use.handler] ?? addJob(of: use.handler) else { continue }
            names[use.handler] = job
            let keys = [
                TomlEntry("job", .string(job.description)),
                TomlEntry("on", .strings([use.event.rawValue])),
                // systemd has no limit for how often it starts the unit.
                TomlEntry("per-hour", .integer(10_000)),
            ]
            let name = notifiers.name(
                of: keys, wanted: "\(job)-on-\(use.event.rawValue)", in: &result)
            for index in use.jobs.compactMap({ places[$0] }) {
                result.jobs[index].add(notifier: name)
            }
        }
    }

    /// Adds the job of a handler, which has no time of its own.
    private mutating func addJob(of name: UnitName) -> Job.Name? {
        guard case .success(let service)? = handlers.services[name] else { return nil }
        let place = SourcePlace(service.unit.files.first?.path ?? "")
        var job = ImportedJob(
            namer.name(from: name.stem, else: "handler"), at: place,
            source: service.commandText + ["Only its notifier runs it; on-boot is never reached."])
        job.set(
            service.keys, schedule: [TomlEntry("on-boot", .string(UnitHandlers.never))])
        for note in service.notes + service.unit.notes { job.note(note) }
        if service.unit.files.contains(where: \.namesMonitorVariables) {
            job.note(
                "systemd sets MONITOR_UNIT and similar variables; the job has TIMERD_NOTIFY_JOB and others in their place"
            )
        }
        result.jobs.append(job)
        account(for: service.unit, [job])
        return job.name
    }
}

extension ImportedJob {
    fileprivate mutating func add(notifier: String) {
        var names: [TomlValue] = []
        if case .array(let known)? = value(of: "notify") { names = known }
        set("notify", .array(names + [.string(notifier)]))
    }
}

extension UnitFile {
    /// Whether a line uses the variables with which systemd tells the facts to a handler.
    fileprivate var namesMonitorVariables: Bool {
        lines.contains { line in
            guard case .assignment(_, _, let value) = line.content else { return false }
            return value.contains("MONITOR_")
        }
    }
}

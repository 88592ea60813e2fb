// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The services of `OnFailure=` and `OnSuccess=`, which become jobs that follow the jobs of the service.
struct UnitHandlers {
    /// The end of a service after which systemd starts the other unit.
    enum Event: String, CaseIterable {
        case failure
        case success

        /// The key of a unit that names the other one.
        var key: String { self == .failure ? "OnFailure" : "OnSuccess" }
    }

    /// A unit that systemd starts at the end of a job.
    struct Use {
        var handler: UnitName
        var event: Event
        /// The job of the service that names the handler.
        var job: Job.Name
        /// That service, and those that led to it.
        var chain: [UnitName]
    }

    /// What was made of each of them; the reason if nothing could be.
    var services: [UnitName: Result<ServiceTranslation, Refusal>] = [:]
    /// What is to become jobs. The jobs that these make can add others.
    var uses: [Use] = []
    /// How much the jobs of handlers leave of the largest configuration, in bytes: each service may name several, and so
    /// on.
    var bytesLeft = Toml.bytesMax

    /// Why a unit cannot become a job, as the end of a sentence.
    struct Refusal: Error { var reason: String }

    /// The most handlers of a service that become jobs.
    static let perServiceMax = 20
}

extension SystemdImport {
    /// The handlers of a service that can be jobs. Its lines say what becomes of the others.
    ///
    /// - Parameters:
    ///   - count: how many jobs the service becomes, which have a handler each.
    ///   - chain: the units that led to the service, and the service.
    mutating func handlers(
        of service: inout ServiceTranslation, jobs count: Int, chain: [UnitName]
    ) -> [(handler: UnitName, event: UnitHandlers.Event)] {
        var found: [(handler: UnitName, event: UnitHandlers.Event)] = []
        for (text, event, index) in service.handlers {
            do throws(UnitHandlers.Refusal) {
                let name = try handler(text)
                if found.contains(where: { $0 == (name, event) }) { continue }
                guard !chain.contains(name) else {
                    throw UnitHandlers.Refusal(
                        reason: "\(name) would follow itself, which no job can")
                }
                handlers.bytesLeft -= count * size(of: name)
                guard found.count < UnitHandlers.perServiceMax, handlers.bytesLeft > 0 else {
                    throw UnitHandlers.Refusal(
                        reason: "there are too many jobs for OnFailure= and OnSuccess=")
                }
                found.append((name, event))
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

    /// About the size of the job of a handler in the output, in bytes.
    private func size(of handler: UnitName) -> Int {
        guard case .success(let service)? = handlers.services[handler] else { return 0 }
        let lines = service.unit.notes + service.keys.map { "\($0.key) = \($0.value)" }
        return lines.reduce(Self.handlerBytes) { $0 + $1.utf8.count }
    }

    /// About the size of the smallest job of a handler in the output, in bytes.
    private static let handlerBytes = 200

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
        var service = ServiceTranslation(
            unit, specifiers: specifiers(of: unit), mounts: options.mounts)
        service.translate()
        if let refusal = service.refusal {
            throw UnitHandlers.Refusal(
                reason: "\(name) cannot become a job (\(refusal.place): \(refusal.reason))")
        }
        return service
    }

    /// Adds the jobs of the handlers: one for each job that they follow, because a job that follows several runs only after
    /// all of them.
    mutating func addHandlers() {
        // Jobs of handlers can have handlers too, so that there may be more meanwhile.
        var index = 0
        while index < handlers.uses.count {
            addJob(of: handlers.uses[index])
            index += 1
        }
    }

    private mutating func addJob(of use: UnitHandlers.Use) {
        guard case .success(var service)? = handlers.services[use.handler] else { return }
        let chain = use.chain + [use.handler]
        let found = handlers(of: &service, jobs: 1, chain: chain)
        let place = SourcePlace(service.unit.files.first?.path ?? "")
        var job = ImportedJob(
            namer.name(from: use.handler.stem, else: "handler"), at: place,
            source: service.commandText
                + ["\(use.event.key)=\(use.handler) of \(use.chain.last?.description ?? "")"])
        let cause = [
            TomlEntry("job", .string(use.job.description)),
            TomlEntry("on", .string(use.event.rawValue)),
        ]
        job.set(service.keys, schedule: [TomlEntry("follows", .table(cause))])
        for note in service.notes + service.unit.notes { job.note(note) }
        if service.unit.files.contains(where: \.namesMonitorVariables) {
            job.note(
                "systemd sets MONITOR_UNIT and similar variables; the job has TIMERD_CAUSE_JOB, TIMERD_CAUSE_RUN and "
                    + "TIMERD_CAUSE_RESULT in their place"
            )
        }
        handlers.uses += found.map { handler, event in
            UnitHandlers.Use(handler: handler, event: event, job: job.name, chain: chain)
        }
        result.jobs.append(job)
        account(for: service.unit, [job])
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

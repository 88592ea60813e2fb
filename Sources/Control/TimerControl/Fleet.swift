// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The fleet that the machine belongs to, and its connection to it.
public struct FleetReply: Codable, Hashable, Sendable {
    /// The name of the fleet.
    public var fleetName: String
    /// The name of the machine that answers.
    public var machine: String
    /// `connected`; `away` while etcd cannot be reached; `unusable` if it must not be used;
    /// `standby` if this machine is connected and may not start runs.
    public var state: String
    /// What is wrong, and what to do next; absent if nothing is.
    public var problem: String?
    /// The address of etcd that answered last; absent before any has.
    public var endpoint: String?
    /// The version of etcd there; absent if it is not known.
    public var etcdVersion: String?
    /// Since when the whole fleet is held, RFC 3339; absent if it is not.
    public var heldSince: String?
    /// Who holds it; absent if it is not held.
    public var heldBy: String?
    /// Whether this machine starts no runs of the fleet until it is undrained.
    public var drained: Bool
    /// The machines that are connected, as this machine last knew.
    public var machines: [Machine]
    /// What etcd does not have any more, and whether it comes back with `adopt`; absent if there is
    /// nothing to adopt, or if `adopt` forms a new fleet.
    public var adoptionLoss: Loss?

    /// What etcd had when this machine last saw it: also skipped runs, and elapsed time.
    public struct Loss: Codable, Hashable, Sendable {
        /// Which machines bring back the pauses, the skipped runs, the elapsed times and the hold.
        public enum Memory: String, Sendable {
            /// All that are connected, and this one is among those that remember them.
            case own
            /// Those that remember them; this one does not.
            case others
            /// None: the fleet in etcd is another one, or not all machines had this version of timerd.
            case noMachine = "none"
        }

        /// Whether the fleet was held, and without memory is not any more.
        public var held: Bool
        /// Which machines bring that back: with `own` this one, or another one that has seen more;
        /// with `others` only other machines; with `none` no machine.
        public var memory: String
        /// The jobs that were paused, and without memory are not any more.
        public var pausedJobs: [String]

        /// A loss as described.
        public init(held: Bool, paused: [String], memory: Memory) {
            self.held = held
            self.memory = memory.rawValue
            pausedJobs = paused
        }
    }

    /// A machine that is connected to the fleet.
    public struct Machine: Codable, Hashable, Sendable {
        /// Its name in the fleet.
        public var machine: String
        /// Its labels, for jobs that select machines by them.
        public var labels: [String]
        /// Whether it may start runs; if not, `unfit` says why.
        public var fit: Bool
        /// Why it may not: `drained`; `clock` if its clock is wrong; `joining` if it has just
        /// joined. Absent if it may, or if it has an older version of timerd, which does not say
        /// it.
        public var unfit: String?
        /// How far its clock is ahead of that of etcd at least.
        public var skewMsecMin: Int64?
        /// How far its clock is ahead of that of etcd at most.
        public var skewMsecMax: Int64?
        /// The jobs of which it has another definition than the machine that answers.
        public var driftedJobs: [String]
        /// The version of timerd that runs on it.
        public var version: String

        public init(
            machine: String, labels: [String], fit: Bool, unfit: String? = nil,
            skew: ClosedRange<Int64>?, drifted: [String], version: String
        ) {
            self.machine = machine
            self.labels = labels
            self.fit = fit
            self.unfit = unfit
            skewMsecMin = skew?.lowerBound
            skewMsecMax = skew?.upperBound
            driftedJobs = drifted
            self.version = version
        }
    }

    public init(
        fleet: String, machine: String, state: String, problem: String? = nil,
        endpoint: String? = nil, etcdVersion: String? = nil, heldSince: String? = nil,
        heldBy: String? = nil, drained: Bool, machines: [Machine], adoptionLoss: Loss? = nil
    ) {
        self.adoptionLoss = adoptionLoss
        fleetName = fleet
        self.machine = machine
        self.state = state
        self.problem = problem
        self.endpoint = endpoint
        self.etcdVersion = etcdVersion
        self.heldSince = heldSince
        self.heldBy = heldBy
        self.drained = drained
        self.machines = machines
    }
}

/// What the fleet knows of a job that its machines share.
public struct FleetJobStatus: Codable, Hashable, Sendable {
    /// Up to when all that is due counts as started or skipped, because the clock of a machine was
    /// ahead, RFC 3339; absent if that is not in the future.
    public var accountedUntil: String?
    /// Whether the fleet uses another definition than this machine has, so that this machine stands
    /// by; absent if not.
    public var drifted: Bool?
    /// Who holds the whole fleet; absent if it is not held.
    public var heldBy: String?
    /// Since when the whole fleet is held, RFC 3339; absent if it is not.
    public var heldSince: String?
    /// The machines that may start it, the first one first; only in answers about one job.
    public var eligibleMachines: [String]?
    /// The latest run that is over, on any machine.
    public var lastRun: Run?
    /// The runs that are not over, on all machines.
    public var openRuns: [Run]
    /// Why what the fleet has of the job cannot be read here, so that this machine does not start
    /// it; absent if it can.
    public var problem: String?
    /// Whether this machine has no connection to the fleet, so that all this may have changed;
    /// absent if not.
    public var stale: Bool?

    /// A run on a machine of the fleet.
    public struct Run: Codable, Hashable, Sendable {
        /// When its process started, RFC 3339; absent if it has not, or if that is not known.
        public var began: String?
        /// When it ended or was skipped, RFC 3339; absent while it is active.
        public var ended: String?
        /// The machine that has it, or that skipped it.
        public var machine: String
        /// How it ended.
        public var outcome: String?
        /// The identity of the run.
        public var run: String
        /// How far it is.
        public var state: String

        init(_ run: FleetJobView.MachineRun) {
            began = run.began?.rfc3339Micros
            ended = run.ended?.rfc3339Micros
            machine = run.machine.description
            outcome = run.outcome?.description
            self.run = run.run.description
            state = run.state
        }
    }

    /// - Parameter view: nil if nothing is known of the fleet yet.
    init(_ view: FleetJobView?) {
        drifted = view?.isDrifted == true ? true : nil
        lastRun = view?.last.map { Run($0) }
        openRuns = view?.live.map { Run($0) } ?? []
        problem = view?.fault
        accountedUntil = view?.accountedUntil?.rfc3339Micros
        stale = view?.isStale != false ? true : nil
        heldBy = view?.hold?.by.description
        heldSince = view?.hold?.since.rfc3339Micros
        eligibleMachines = view?.machines?.map(\.description)
    }
}

/// A command for the fleet, as a client sends it.
public struct FleetCommandBody: Codable, Hashable, Sendable {
    /// What to do with the fleet, with one machine or with one job.
    public enum Verb: String, CaseIterable, Codable, Hashable, Sendable {
        /// Start nothing on any machine, until `release`.
        case hold
        /// Let the machines of the fleet start runs again.
        case release
        /// Start nothing on this machine, until `undrain`.
        case drain
        /// Let this machine start runs again.
        case undrain
        /// Form the fleet, or accept that etcd has another state than this machine knew.
        case adopt
        /// Use this machine's definition of a job in the whole fleet.
        case define
        /// Remove what the fleet has of a job that is not configured any more.
        case forget

        /// Whether the command needs a job; the others refuse one.
        public var namesJob: Bool { self == .define || self == .forget }
    }

    public var verb: Verb
    /// The job; only for `define` and `forget`, which need it.
    public var job: String?

    public init(_ verb: Verb, job: Job.Name? = nil) {
        self.verb = verb
        self.job = job?.description
    }
}

extension FleetCommandBody: RequestBody {
    static let example = #"{"verb": "hold"}"#

    static func read(_ body: [UInt8]) throws(ControlRequest.Fault) -> FleetCommandBody {
        let command = try read(["job", "verb"], from: body.isEmpty ? Array("{}".utf8) : body)
        guard command.verb.namesJob == (command.job != nil) else {
            throw .badBody("job goes with define and forget, which need it")
        }
        if let job = command.job, Job.Name(job) == nil {
            throw .badBody("job must be the name of a job")
        }
        return command
    }
}

extension BodyForm where Value == FleetCommandBody {
    static let fleetCommand = BodyForm("FleetBody", isRequired: true, read: FleetCommandBody.read) {
        try ControlJSON.encode($0)
    }
}

/// The answer to a command for the fleet that was executed.
public struct FleetCommandReply: Codable, Hashable, Sendable {
    /// The verb of the command.
    public var verb: String

    public init(_ verb: FleetCommandBody.Verb) { self.verb = verb.rawValue }
}

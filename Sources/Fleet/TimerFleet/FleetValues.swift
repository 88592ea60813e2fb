// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore
public import TimerJSON

/// Which store this is, at `identity`.
public struct IdentityValue: FleetValue {
    /// Drawn at random when the fleet was formed.
    public var fleet: String
    /// The cluster of the store in which it was adopted. A copy that was restored is another
    /// cluster, and also a machine that knows nothing of the fleet notices that.
    public var cluster: String
    /// How often the store was adopted: 1 when the fleet is formed, one more after each loss.
    public var epoch: Int64
    /// When it was adopted, by the wall clock: nothing that was due until then is started. Perhaps it
    /// was started already, and the store lost the record.
    public var adopted: WallInstant
    /// The format of the values, by its number: this machine may not know it.
    public var format: Int64
    /// How much the log of the store is ahead of its revision, at least; nil: not known. Less means that it
    /// was restored from a snapshot.
    public var logLead: Int64?
    /// While the machines bring back what they remember: the number of the adoption of which the other
    /// values are, 0 if there were none. Nil: that is over.
    public var recovery: Int64?

    /// Creates a value.
    public init(
        fleet: String, cluster: String, epoch: Int64, adopted: WallInstant,
        format: Int64 = FleetFormat.first.rawValue, logLead: Int64? = nil, recovery: Int64? = nil
    ) {
        self.logLead = logLead
        self.recovery = recovery
        self.fleet = fleet
        self.cluster = cluster
        self.epoch = epoch
        self.adopted = adopted
        self.format = format
    }

    public init(reading fields: inout FleetFields) throws(FleetFault) {
        fleet = try fields.text("fleet")
        cluster = try fields.text("cluster")
        epoch = try fields.count("epoch")
        adopted = try fields.wall("adopted_us")
        format = try fields.format()
        logLead = try fields.optionalNumber("log_lead")
        recovery = fields.has("recovery") ? try fields.count("recovery") : nil
        // What else there is in a newer format is not known.
        if format > FleetFormat.newest.rawValue { fields.ignoreRest() }
    }

    public var members: [String: JSONValue?] {
        [
            "fleet": .string(fleet), "cluster": .string(cluster), "epoch": .integer(epoch),
            "adopted_us": adopted.json, "format": Self.json(format),
            "log_lead": logLead.map { .integer($0) }, "recovery": recovery.map { .integer($0) },
        ]
    }
}

/// The fleet clock, at `clock`: the active time of the fleet when it was written.
public struct ClockValue: FleetValue {
    /// Nanoseconds since the fleet was formed in which a daemon was running and the fleet was not
    /// held.
    public var time: Duration
    /// The number of openings: of transactions that opened accounts and wrote the clock.
    public var openings: Int64
    /// Who wrote it.
    public var by: MachineName

    /// Creates a value.
    public init(time: Duration, openings: Int64 = 0, by: MachineName) {
        self.time = time
        self.openings = openings
        self.by = by
    }

    public init(reading fields: inout FleetFields) throws(FleetFault) {
        time = try fields.span("t_ns")
        openings = try fields.count("openings")
        by = try fields.parsed("by", MachineName.init)
    }

    public var members: [String: JSONValue?] {
        ["t_ns": time.json, "openings": .integer(openings), "by": .string(by.description)]
    }
}

/// Whether the whole fleet is held, at `hold`.
///
/// The key is never deleted: the revision of its last change tells a claim also of a hold that was
/// released in the meantime.
public struct HoldValue: FleetValue {
    /// Whether nothing may start now.
    public var isHeld: Bool
    /// The reading of the fleet clock, at which it stops during the hold and continues after it.
    public var time: Duration
    /// When the last hold began, by the wall clock; nil if there never was one.
    public var since: WallInstant?
    /// When it ended; nil while the fleet is held.
    public var released: WallInstant?
    /// How long the holds before that one took in all, by the wall clock. Not negative.
    public var earlier: Duration
    /// Who made the last change.
    public var by: String
    /// The reason that the user gave.
    public var note: String?
    /// While a store recovers: the point from which this was brought back.
    public var recovered: FleetPoint?

    /// Creates a value.
    public init(
        isHeld: Bool, time: Duration, since: WallInstant? = nil, released: WallInstant? = nil,
        earlier: Duration = .zero, by: String, note: String? = nil, recovered: FleetPoint? = nil
    ) {
        self.recovered = recovered
        self.isHeld = isHeld
        self.time = time
        self.since = since
        self.released = released
        self.earlier = earlier
        self.by = by
        self.note = note
    }

    public init(reading fields: inout FleetFields) throws(FleetFault) {
        isHeld = try fields.flag("held")
        time = try fields.span("t_ns")
        since = try fields.optionalWall("since_us")
        released = try fields.optionalWall("released_us")
        earlier = fields.has("earlier_ns") ? try fields.span("earlier_ns") : .zero
        by = try fields.text("by")
        note = try fields.optionalText("note")
        recovered = try fields.optionalPoint("recovered")
    }

    public var members: [String: JSONValue?] {
        [
            "held": .boolean(isHeld), "t_ns": time.json, "since_us": since?.json,
            "released_us": released?.json,
            "earlier_ns": earlier == .zero ? nil : earlier.json, "by": .string(by),
            "note": note.map { .string($0) }, "recovered": recovered.map { .integer($0.number) },
        ]
    }
}

/// A machine whose daemon is connected, at `member/<machine>`.
public struct MemberValue: FleetValue {
    /// Which start of its daemon.
    public var incarnation: Incarnation
    /// The labels of the machine, in order, each once.
    public var labels: [String]
    /// The hashes of the definitions of its fleet jobs.
    public var definitions: [Job.Name: String]
    /// Whether it may start firings: it is not drained, and its clock is right.
    public var isFit: Bool
    /// How far its wall clock is ahead of the store's, at least and at most, in milliseconds.
    public var skew: ClosedRange<Int64>?
    /// The version of timerd.
    public var version: String
    /// The newest format that it knows, by its number.
    public var format: Int64
    /// Why it may not start firings, from the second format on; nil if it may.
    public var unfitness: Unfitness?

    /// Why a machine that is connected starts no firings.
    public enum Unfitness: String, CaseIterable, Hashable, Sendable {
        /// A user drained it.
        case drained
        /// Its wall clock differs too much from that of the store.
        case clock
        /// It has not yet compared its clocks with those of the store and of the other machines.
        case joining
    }

    /// Creates a value.
    public init(
        incarnation: Incarnation, labels: Set<String> = [], definitions: [Job.Name: String],
        isFit: Bool, skew: ClosedRange<Int64>? = nil, version: String,
        format: FleetFormat = .first, unfitness: Unfitness? = nil
    ) {
        self.format = format.rawValue
        self.unfitness = unfitness
        self.incarnation = incarnation
        self.labels = labels.sorted()
        self.definitions = definitions
        self.isFit = isFit
        self.skew = skew
        self.version = version
    }

    public init(reading fields: inout FleetFields) throws(FleetFault) {
        incarnation = try fields.parsed("inc", Incarnation.init)
        labels = []
        for label in try fields.array("labels") {
            guard case .string(let text) = label else {
                throw FleetFault("each of 'labels' must be a text")
            }
            labels.append(text)
        }
        definitions = [:]
        for (name, hash) in try fields.object("defs") {
            guard let job = Job.Name(name), case .string(let hash) = hash else {
                throw FleetFault("'defs' must have a hash for each name of a job")
            }
            definitions[job] = hash
        }
        isFit = try fields.flag("fit")
        skew = nil
        if fields.has("skew_ms") {
            let bounds = try fields.array("skew_ms")
            guard bounds.count == 2, case .integer(let low) = bounds[0],
                case .integer(let high) = bounds[1], low <= high
            else { throw FleetFault("'skew_ms' must be two numbers, the lower one first") }
            skew = low...high
        }
        version = try fields.text("version")
        format = try fields.format()
        unfitness =
            fields.has("unfit") ? try fields.parsed("unfit", Unfitness.init(rawValue:)) : nil
    }

    public var members: [String: JSONValue?] {
        let hashes = definitions.map { ($0.key.description, JSONValue.string($0.value)) }
        return [
            "inc": .string(incarnation.description), "labels": .array(labels.map { .string($0) }),
            "defs": .object(sorted: Dictionary(uniqueKeysWithValues: hashes)),
            "fit": .boolean(isFit),
            "skew_ms": skew.map { .array([.integer($0.lowerBound), .integer($0.upperBound)]) },
            "version": .string(version), "format": Self.json(format),
            "unfit": unfitness.map { .string($0.rawValue) },
        ]
    }
}

extension MemberValue {
    /// In the place of a value that cannot be read: of a machine that is connected.
    static let unreadable = MemberValue(
        incarnation: Incarnation(boot: .unknown, number: 0), definitions: [:], isFit: false,
        version: "")

    /// Whether two values of one machine give it the same rank for each job.
    static func ranksAlike(_ left: Self?, _ right: Self?) -> Bool {
        left?.isFit == right?.isFit && left?.labels == right?.labels
            && left?.definitions == right?.definitions
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerFleet
import TimerJSON

extension EtcdClient {
    // MARK: - Leases

    /// Asks for a lease. If etcd does not answer, it may have granted one, which then expires.
    ///
    /// - Parameter seconds: how long it is valid after each keepalive; etcd may give a longer one.
    public func grantLease(
        seconds: Int64
    ) throws(EtcdError) -> (lease: LeaseID, seconds: Int64, receipt: EtcdReceipt) {
        let answer = try send(
            Call(
                path: "/v3/lease/grant", body: .object(sorted: ["TTL": .string(String(seconds))]),
                isRepeatable: true))
        let (number, granted) = try reading(answer) { fields throws(ReplyFields.Fault) in
            (try fields.number("ID", as: Int64.self), try fields.number("TTL", as: Int64.self))
        }
        guard number != 0, granted >= seconds else {
            throw EtcdError(
                .notEtcd, at: answer.receipt.endpoint, "a lease of \(granted) s",
                effect: .unknown)
        }
        return (LeaseID(number), granted, answer.receipt)
    }

    /// Prolongs a lease.
    ///
    /// - Returns: the receipt; nil if the lease does not exist any more.
    public func keepAlive(_ lease: LeaseID) throws(EtcdError) -> EtcdReceipt? {
        do throws(EtcdError) {
            let answer = try send(
                Call(
                    path: "/v3/lease/keepalive",
                    body: .object(sorted: ["ID": .string(String(lease.number))]),
                    isRepeatable: true, isStream: true))
            let (number, seconds) = try reading(answer) { fields throws(ReplyFields.Fault) in
                (try fields.number("ID", as: Int64.self), try fields.number("TTL", as: Int64.self))
            }
            guard number == lease.number else {
                throw EtcdError(
                    .notEtcd, at: answer.receipt.endpoint, "another lease", effect: .unknown)
            }
            return seconds > 0 ? answer.receipt : nil
        } catch {
            guard error.code == .leaseNotFound else { throw error }
            return nil
        }
    }

    /// Ends a lease, which removes its keys.
    ///
    /// - Returns: false if it did not exist any more.
    @discardableResult
    public func revoke(_ lease: LeaseID) throws(EtcdError) -> Bool {
        do throws(EtcdError) {
            _ = try send(
                Call(
                    path: "/v3/lease/revoke",
                    body: .object(sorted: ["ID": .string(String(lease.number))]),
                    isRepeatable: true))
            return true
        } catch {
            guard error.code == .leaseNotFound else { throw error }
            return false
        }
    }

    // MARK: - Members

    /// The endpoints, by which they can be asked.
    public var endpointIndices: Range<Int> { endpoints.indices }

    /// How many endpoints are other machines or have an address of this one: not counted are those by the
    /// name of this machine alone, such as `localhost`, which may be one of the others.
    public var memberEndpoints: Int { endpoints.count { !$0.isLocal } }

    /// Asks each endpoint how it is. They are asked one after the other.
    public func statuses() -> [Result<EtcdStatus, EtcdError>] {
        endpoints.indices.map { index in Result { () throws(EtcdError) in try status(of: index) } }
    }

    /// Asks one endpoint for the state of its member, without trying another one.
    public func status(of index: Int) throws(EtcdError) -> EtcdStatus {
        try status(try ask("/v3/maintenance/status", index))
    }

    /// How far the log of etcd is, as the endpoint says that answered last; nil: it does not say that.
    public func log() -> FleetLog? {
        guard let status = try? status(of: preferred), status.logEntries > 0 else { return nil }
        return FleetLog(entries: status.logEntries, revision: status.receipt.revision)
    }

    /// Asks an endpoint how many members its cluster has.
    public func memberCount(of index: Int) throws(EtcdError) -> Int {
        try reading(try ask("/v3/cluster/member/list", index)) { fields throws(ReplyFields.Fault) in
            try fields.objects("members").count
        }
    }

    private func ask(_ path: String, _ index: Int) throws(EtcdError) -> Answer {
        try send(
            Call(path: path, body: .object([]), isRepeatable: true), to: endpoints[index],
            until: Self.deadline(after: options.timeout))
    }

    private func status(_ answer: Answer) throws(EtcdError) -> EtcdStatus {
        try reading(answer) { fields throws(ReplyFields.Fault) in
            EtcdStatus(
                receipt: answer.receipt,
                version: EtcdError.printable(try fields.text("version")),
                databaseBytes: try fields.number("dbSize"),
                hasLeader: try fields.number("leader", as: UInt64.self) != 0,
                logEntries: try fields.number(
                    fields.has("raftAppliedIndex") ? "raftAppliedIndex" : "raftIndex"),
                errors: try fields.texts("errors").map { EtcdError.printable($0) })
        }
    }

    /// Checks that the endpoints that answer are members of one cluster.
    ///
    /// - Returns: the cluster.
    /// - Throws: `EtcdError` with the code `wrongCluster` if they are not; the first error if none
    ///   answers.
    public func requireOneCluster() throws(EtcdError) -> String {
        var first: EtcdStatus?
        var failure: EtcdError?
        for result in statuses() {
            switch result {
            case .success(let status):
                guard let known = first else {
                    first = status
                    continue
                }
                guard status.receipt.cluster == known.receipt.cluster else {
                    throw EtcdError(
                        .wrongCluster, at: status.receipt.endpoint,
                        "cluster \(status.receipt.cluster), and \(known.receipt.endpoint) is "
                            + "a member of \(known.receipt.cluster)")
                }
            case .failure(let error): failure = failure ?? error
            }
        }
        if let first { return first.receipt.cluster }
        throw failure ?? EtcdError(.cancelled, at: "etcd")
    }

    // MARK: - All keys

    /// How many keys are read at a time.
    private static let keysPerCall = 256
    /// How often they are read from the beginning because etcd compacted its history meanwhile.
    private static let attemptsMax = 3

    /// Reads all keys of the fleet at one revision.
    ///
    /// - Throws: `EtcdError`.
    /// - Complexity: O(*n*) in the keys.
    public func loadAll() throws(EtcdError) -> EtcdSnapshot {
        var attempts = 1
        while true {
            do throws(EtcdError) {
                return try loadOnce()
            } catch {
                guard error.code == .compacted, attempts < Self.attemptsMax else { throw error }
                attempts += 1
            }
        }
    }

    private func loadOnce() throws(EtcdError) -> EtcdSnapshot {
        var keys = LoadedKeys()
        var (start, end) = coding.allKeys
        var limit = Self.keysPerCall
        while true {
            let answer: Answer
            do throws(EtcdError) {
                let revision = keys.receipt?.revision
                answer = try send(range(from: start, to: end, limit: limit, at: revision))
            } catch {
                // A few large values are no reason to fail.
                guard error.code == .replyTooLarge, limit > 1 else { throw error }
                limit /= 4
                continue
            }
            let page = try self.page(answer, after: start, before: end)
            try keys.add(page.pairs, answer.receipt, coding)
            guard page.hasMore, let last = page.pairs.last else {
                return keys.snapshot(at: answer.receipt)
            }
            start = last.path + [0]
        }
    }

    private func range(
        from start: [UInt8], to end: [UInt8], limit: Int, at revision: Int64?
    ) -> Call {
        var body: [String: JSONValue] = [
            "key": .string(Base64.encode(start)), "range_end": .string(Base64.encode(end)),
            "limit": .string(String(limit)),
        ]
        if let revision { body["revision"] = .string(String(revision)) }
        return Call(path: "/v3/kv/range", body: .object(sorted: body), isRepeatable: true)
    }

    /// The keys of an answer, which must be in their order: otherwise reading might never end.
    private func page(
        _ answer: Answer, after start: [UInt8], before end: [UInt8]
    ) throws(EtcdError) -> (pairs: [(path: [UInt8], value: Versioned<String>)], hasMore: Bool) {
        try reading(answer) { fields throws(ReplyFields.Fault) in
            var pairs: [(path: [UInt8], value: Versioned<String>)] = []
            var least = start
            for object in try fields.objects("kvs") {
                let pair = try coding.pair(object)
                guard !pair.path.lexicographicallyPrecedes(least),
                    pair.path.lexicographicallyPrecedes(end)
                else { throw ReplyFields.Fault(message: "keys that were not asked for") }
                least = pair.path + [0]
                pairs.append(pair)
            }
            return (pairs, try fields.flag("more"))
        }
    }

    /// Reads the fields of an answer; a fault in them becomes an error with the endpoint.
    func reading<Result>(
        _ answer: Answer, _ read: (ReplyFields) throws(ReplyFields.Fault) -> Result
    ) throws(EtcdError) -> Result {
        try Self.reading(at: answer.receipt.endpoint) { () throws(ReplyFields.Fault) in
            try read(answer.fields)
        }
    }
}

/// Collects the keys of a fleet, of which each answer has some.
private struct LoadedKeys {
    /// How many keys a fleet has at most.
    private static let keysMax = 1 << 20
    /// How many unknown keys are named; the others are left out.
    private static let unknownMax = 8

    private var values: FleetAnswer.Reads = [:]
    private var unknownKeys: [String] = []
    /// The first answer: its revision is that of all keys.
    private(set) var receipt: EtcdReceipt?

    /// Adds a page.
    ///
    /// - Complexity: O(*n*) in its keys.
    mutating func add(
        _ pairs: [(path: [UInt8], value: Versioned<String>)], _ receipt: EtcdReceipt,
        _ coding: FleetCoding
    ) throws(EtcdError) {
        let first = self.receipt ?? receipt
        self.receipt = first
        guard receipt.cluster == first.cluster else {
            throw EtcdError(
                .wrongCluster, at: receipt.endpoint,
                "cluster \(receipt.cluster) instead of \(first.cluster)")
        }
        for (path, value) in pairs {
            if let key = coding.key(path) {
                values[key] = .some(value)
            } else if unknownKeys.count < Self.unknownMax {
                unknownKeys.append(EtcdError.printable(String(decoding: path, as: UTF8.self)))
            }
        }
        guard values.count <= Self.keysMax else {
            throw EtcdError(.replyTooLarge, at: receipt.endpoint, "\(values.count) keys")
        }
    }

    /// All keys, after the last page with this receipt.
    func snapshot(at last: EtcdReceipt) -> EtcdSnapshot {
        let first = receipt ?? last
        return EtcdSnapshot(
            snapshot: FleetSnapshot(
                cluster: first.cluster, revision: first.revision, values: values),
            unknownKeys: unknownKeys, receipt: last)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerFleet
import TimerJSON

/// Translates between the fleet's keys, values and transactions and etcd's JSON.
struct FleetCoding {
    /// The name of the fleet, which is a part of each key.
    let fleet: String

    // MARK: - Keys and values

    private func path(_ key: FleetKey) -> JSONValue {
        .string(Base64.encode(key.path(in: fleet).utf8))
    }

    /// The range of all keys of the fleet: the first key, and the first key after them.
    var allKeys: (start: [UInt8], end: [UInt8]) {
        let start = Array(FleetKey.prefix(of: fleet).utf8)
        return (start, start.dropLast() + [UInt8(ascii: "/") + 1])
    }

    /// A key and its value, with the revisions.
    ///
    /// A value that is not UTF-8 becomes a text that no value of the fleet has, so that its reader
    /// reports it like each other value that cannot be read.
    func pair(
        _ fields: ReplyFields
    ) throws(ReplyFields.Fault) -> (path: [UInt8], value: Versioned<String>) {
        let bytes = try fields.bytes("value")
        let text =
            String(validating: bytes, as: UTF8.self)
            ?? "not UTF-8: \(String(decoding: bytes, as: UTF8.self))"
        return (
            try fields.bytes("key"),
            Versioned(
                text, created: try fields.number("create_revision"),
                modified: try fields.number("mod_revision"))
        )
    }

    /// The key with this path; nil if it is none of the fleet.
    func key(_ path: [UInt8]) -> FleetKey? {
        String(validating: path, as: UTF8.self).flatMap { FleetKey(path: $0, in: fleet) }
    }

    // MARK: - Transactions

    /// The body of the request for a transaction: each branch is a transaction within it.
    ///
    /// - Complexity: O(*n*) in the bytes.
    func request(_ transaction: FleetTransaction) -> JSONValue {
        .object(sorted: [
            "compare": .array(transaction.compares.map(compare)),
            "success": .array(
                transaction.branches.map { branch in
                    .object(sorted: [
                        "request_txn": .object(sorted: [
                            "compare": .array(branch.compares.map(compare)),
                            "success": .array(branch.changes.map(change)),
                            "failure": .array(branch.reads.map(read)),
                        ])
                    ])
                }),
            "failure": .array(transaction.reads.map(read)),
        ])
    }

    private func compare(_ compare: FleetCompare) -> JSONValue {
        var members: [String: JSONValue] = ["result": .string("EQUAL")]
        switch compare {
        case .modified(let key, let revision):
            members["key"] = path(key)
            members["target"] = .string("MOD")
            members["mod_revision"] = .string(String(revision))
        case .lease(let key, let lease):
            members["key"] = path(key)
            members["target"] = .string("LEASE")
            members["lease"] = .string(String(lease.number))
        case .text(let key, let text):
            members["key"] = path(key)
            members["target"] = .string("VALUE")
            members["value"] = .string(Base64.encode(text.utf8))
        }
        return .object(sorted: members)
    }

    private func change(_ change: FleetChange) -> JSONValue {
        switch change {
        case .put(let key, let text, let lease):
            var members = ["key": path(key), "value": JSONValue.string(Base64.encode(text.utf8))]
            if let lease { members["lease"] = .string(String(lease.number)) }
            return .object(sorted: ["request_put": .object(sorted: members)])
        case .delete(let key):
            return .object(sorted: ["request_delete_range": .object(sorted: ["key": path(key)])])
        }
    }

    private func read(_ key: FleetKey) -> JSONValue {
        .object(sorted: ["request_range": .object(sorted: ["key": path(key)])])
    }

    /// What etcd answered to a transaction.
    ///
    /// - Throws: `ReplyFields.Fault` if the answer does not fit the transaction.
    /// - Complexity: O(*n*) in the bytes.
    func answer(
        _ fields: ReplyFields, to transaction: FleetTransaction, receipt: EtcdReceipt
    ) throws(ReplyFields.Fault) -> FleetAnswer {
        let results = try fields.objects("responses")
        guard try fields.flag("succeeded") else {
            return FleetAnswer(
                cluster: receipt.cluster, revision: receipt.revision, branches: [],
                reads: try reads(results, of: transaction.reads))
        }
        guard results.count == transaction.branches.count else {
            throw ReplyFields.Fault(message: "\(results.count) results of branches")
        }
        var branches: [FleetAnswer.Branch] = []
        for (result, branch) in zip(results, transaction.branches) {
            guard result.has("response_txn") else {
                throw ReplyFields.Fault(message: "the result of a branch is missing")
            }
            branches.append(try self.branch(try result.object("response_txn"), of: branch))
        }
        return FleetAnswer(
            cluster: receipt.cluster, revision: receipt.revision, branches: branches)
    }

    private func branch(
        _ fields: ReplyFields, of branch: FleetTransaction.Branch
    ) throws(ReplyFields.Fault) -> FleetAnswer.Branch {
        let results = try fields.objects("responses")
        guard try fields.flag("succeeded") else {
            return .refused(try reads(results, of: branch.reads))
        }
        guard results.count == branch.changes.count else {
            throw ReplyFields.Fault(message: "\(results.count) results of changes")
        }
        for (result, change) in zip(results, branch.changes) {
            let name: String
            switch change {
            case .put: name = "response_put"
            case .delete: name = "response_delete_range"
            }
            guard result.has(name) else {
                throw ReplyFields.Fault(message: "'\(name)' is missing")
            }
        }
        return .applied
    }

    private func reads(
        _ results: [ReplyFields], of keys: [FleetKey]
    ) throws(ReplyFields.Fault) -> FleetAnswer.Reads {
        guard results.count == keys.count else {
            throw ReplyFields.Fault(message: "\(results.count) results of reads")
        }
        var reads: FleetAnswer.Reads = [:]
        for (result, key) in zip(results, keys) {
            guard result.has("response_range") else {
                throw ReplyFields.Fault(message: "'response_range' is missing")
            }
            let pairs = try result.object("response_range").objects("kvs")
            guard let first = pairs.first else {
                reads[key] = .some(nil)
                continue
            }
            let found = try pair(first)
            guard pairs.count == 1, found.path == Array(key.path(in: fleet).utf8) else {
                throw ReplyFields.Fault(message: "the value of another key")
            }
            reads[key] = .some(found.value)
        }
        return reads
    }
}

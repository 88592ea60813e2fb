// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
package import TimerFleet
import TimerRunnerProtocol

/// A key of the fleet with its versioned value.
package struct FleetEntry: Hashable, Sendable {
    package var key: FleetKey
    package var value: Versioned<String>

    package init(_ key: FleetKey, _ value: Versioned<String>) {
        self.key = key
        self.value = value
    }

    /// How many bytes it has in a frame; a few more or less do not matter.
    package var cost: Int { FleetWire.path(key).utf8.count + value.value.utf8.count + 32 }
}

extension FleetWire {
    /// The texts of keys are the same as in etcd, with a fleet of this name: the messages are about
    /// one fleet only.
    private static let fleet = "f"

    package static func path(_ key: FleetKey) -> String { key.path(in: fleet) }

    fileprivate static func key(_ path: String) throws(WireReader.Fault) -> FleetKey {
        guard let key = FleetKey(path: path, in: fleet) else { throw WireReader.Fault() }
        return key
    }
}

extension WireWriter {
    mutating func put(_ key: FleetKey) { put(FleetWire.path(key)) }

    mutating func put(_ lease: LeaseID) { put(lease.number) }

    mutating func put(_ value: Versioned<String>) {
        put(value.value)
        put(value.created)
        put(value.modified)
    }

    mutating func put(_ entry: FleetEntry) {
        put(entry.key)
        put(entry.value)
    }

    /// - Complexity: O(*n* log *n*): the keys are in the order of their texts.
    mutating func put(_ reads: FleetAnswer.Reads) {
        let sorted = reads.map { (FleetWire.path($0.key), $0.value) }.sorted { $0.0 < $1.0 }
        put(sorted) { writer, read in
            writer.put(read.0)
            writer.put(read.1) { $0.put($1) }
        }
    }

    mutating func put(_ compare: FleetCompare) {
        switch compare {
        case .modified(let key, let revision):
            put(UInt8(1))
            put(key)
            put(revision)
        case .lease(let key, let lease):
            put(UInt8(2))
            put(key)
            put(lease)
        case .text(let key, let text):
            put(UInt8(3))
            put(key)
            put(text)
        }
    }

    mutating func put(_ change: FleetChange) {
        switch change {
        case .put(let key, let text, let lease):
            put(UInt8(1))
            put(key)
            put(text)
            put(lease) { $0.put($1) }
        case .delete(let key):
            put(UInt8(2))
            put(key)
        }
    }

    mutating func put(_ transaction: FleetTransaction) {
        put(transaction.compares) { $0.put($1) }
        put(transaction.branches) { writer, branch in
            writer.put(branch.compares) { $0.put($1) }
            writer.put(branch.changes) { $0.put($1) }
            writer.put(branch.reads) { $0.put($1) }
        }
        put(transaction.reads) { $0.put($1) }
    }

    mutating func put(_ answer: FleetAnswer) {
        put(answer.cluster)
        put(answer.revision)
        put(answer.branches) { writer, branch in
            switch branch {
            case .applied: writer.put(UInt8(1))
            case .refused(let reads):
                writer.put(UInt8(2))
                writer.put(reads)
            }
        }
        put(answer.reads)
    }
}

extension WireReader {
    /// Reads a list whose elements have at least `size` bytes each.
    private mutating func list<Element>(
        of size: Int, most: Int, _ read: (inout Self) throws(Fault) -> Element
    ) throws(Fault) -> [Element] {
        var elements: [Element] = []
        for _ in 0..<(try count(of: size, most: most)) { elements.append(try read(&self)) }
        return elements
    }

    mutating func key() throws(Fault) -> FleetKey { try FleetWire.key(try string()) }

    mutating func lease() throws(Fault) -> LeaseID {
        let number = try signed()
        guard number != 0 else { throw Fault() }
        return LeaseID(number)
    }

    private mutating func value() throws(Fault) -> Versioned<String> {
        Versioned(try string(), created: try signed(), modified: try signed())
    }

    mutating func entries() throws(Fault) -> [FleetEntry] {
        try list(of: 32, most: FleetWire.snapshotKeysMax) { reader throws(Fault) in
            FleetEntry(try reader.key(), try reader.value())
        }
    }

    mutating func reads() throws(Fault) -> FleetAnswer.Reads {
        let count = try count(of: 9)
        var reads: FleetAnswer.Reads = [:]
        for _ in 0..<count {
            let key = try key()
            let value = try flag() ? try value() : nil
            guard reads.updateValue(value, forKey: key) == nil else { throw Fault() }
        }
        return reads
    }

    private mutating func compare() throws(Fault) -> FleetCompare {
        switch try byte() {
        case 1: .modified(try key(), try signed())
        case 2: .lease(try key(), try lease())
        case 3: .text(try key(), try string())
        default: throw Fault()
        }
    }

    private mutating func change() throws(Fault) -> FleetChange {
        switch try byte() {
        case 1:
            .put(try key(), try string(), lease: try flag() ? try lease() : nil)
        case 2: .delete(try key())
        default: throw Fault()
        }
    }

    private mutating func compares() throws(Fault) -> [FleetCompare] {
        try list(of: 17, most: FleetTransaction.operationsMax) { reader throws(Fault) in
            try reader.compare()
        }
    }

    private mutating func keys() throws(Fault) -> [FleetKey] {
        try list(of: 8, most: FleetTransaction.operationsMax) { reader throws(Fault) in
            try reader.key()
        }
    }

    private mutating func branch() throws(Fault) -> FleetTransaction.Branch {
        let compares = try compares()
        let changes = try list(of: 9, most: FleetTransaction.operationsMax) {
            reader throws(Fault) in
            try reader.change()
        }
        return FleetTransaction.Branch(
            compares: compares, changes: changes, reads: try keys())
    }

    mutating func transaction() throws(Fault) -> FleetTransaction {
        let compares = try compares()
        let branches = try list(of: 24, most: FleetTransaction.operationsMax) {
            reader throws(Fault) in
            try reader.branch()
        }
        return FleetTransaction(compares: compares, branches: branches, reads: try keys())
    }

    mutating func answer() throws(Fault) -> FleetAnswer {
        let (cluster, revision) = (try sentence(), try signed())
        let branches = try list(of: 1, most: FleetTransaction.operationsMax) {
            reader throws(Fault) -> FleetAnswer.Branch in
            switch try reader.byte() {
            case 1: .applied
            case 2: .refused(try reader.reads())
            default: throw Fault()
            }
        }
        return FleetAnswer(
            cluster: cluster, revision: revision, branches: branches, reads: try reads())
    }

    /// A text of at most `FleetWire.sentenceBytesMax` bytes.
    mutating func sentence() throws(Fault) -> String {
        let text = try string()
        guard text.utf8.count <= FleetWire.sentenceBytesMax else { throw Fault() }
        return text
    }

    mutating func optionalSentence() throws(Fault) -> String? {
        try flag() ? try sentence() : nil
    }
}

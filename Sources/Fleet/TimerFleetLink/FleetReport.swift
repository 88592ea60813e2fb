// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import TimerCore
package import TimerFleet
package import TimerRunnerProtocol

/// What `timerd-fleet` sends to the scheduler.
package enum FleetReport: Hashable, Sendable {
    /// The answer to `hello`.
    case welcome(version: UInt64)
    /// The answer to `hello` if this scheduler is not served: why, and what to do.
    case refused(String)
    case leased(LeaseID, sent: BootInstant)
    case kept(LeaseID, sent: BootInstant)
    /// What the clock of an endpoint read. It is sent without a request.
    case dated(endpoint: String, date: Int64, sent: WallInstant)
    case leaseLost(LeaseID)
    /// etcd did not answer to `keepAlive` for this lease; nil: to `openLease`.
    case leaseUnanswered(LeaseID?)
    /// The lease was ended, or etcd did not answer.
    case leaseEnded(LeaseID)
    /// Some of the keys that were read. They are part of the snapshot that is completed next.
    case values([FleetEntry])
    /// The snapshot is complete, and the changes after it follow.
    case loaded(number: UInt64, cluster: String, revision: Int64, log: FleetLog?)
    case changed(number: UInt64, cluster: String, revision: Int64, FleetAnswer.Reads)
    /// The watch ended, or could not start.
    case watchLost(number: UInt64)
    case answered(FleetMember.TransactionID, FleetAnswer)
    case unknown(FleetMember.TransactionID)
    case status(FleetLinkStatus)
    /// Nothing but that this process works.
    case alive

    package var bytes: [UInt8] {
        var writer = WireWriter()
        switch self {
        case .welcome(let version):
            writer.put(UInt8(1))
            writer.put(version)
        case .refused(let sentence):
            writer.put(UInt8(2))
            writer.put(sentence)
        case .leased, .kept, .leaseLost, .leaseUnanswered, .leaseEnded: putLease(&writer)
        case .values, .loaded, .changed, .watchLost: putWatch(&writer)
        case .answered(let id, let answer):
            writer.put(UInt8(12))
            writer.put(id)
            writer.put(answer)
        case .unknown(let id):
            writer.put(UInt8(13))
            writer.put(id)
        case .status(let status):
            writer.put(UInt8(14))
            for text in [status.endpoint, status.cluster, status.version, status.problem] {
                writer.put(text) { $0.put($1) }
            }
        case .alive: writer.put(UInt8(15))
        case .dated(let endpoint, let date, let sent):
            writer.put(UInt8(16))
            writer.put(endpoint)
            writer.put(date)
            writer.put(sent)
        }
        return writer.bytes
    }

    private func putLease(_ writer: inout WireWriter) {
        switch self {
        case .leased(let lease, let sent):
            writer.put(UInt8(3))
            writer.put(lease)
            writer.put(sent.nanoseconds)
        case .kept(let lease, let sent):
            writer.put(UInt8(4))
            writer.put(lease)
            writer.put(sent.nanoseconds)
        case .leaseLost(let lease):
            writer.put(UInt8(5))
            writer.put(lease)
        case .leaseUnanswered(let lease):
            writer.put(UInt8(6))
            writer.put(lease) { $0.put($1) }
        case .leaseEnded(let lease):
            writer.put(UInt8(7))
            writer.put(lease)
        default: return
        }
    }

    private func putWatch(_ writer: inout WireWriter) {
        switch self {
        case .values(let entries):
            writer.put(UInt8(8))
            writer.put(entries) { $0.put($1) }
        case .loaded(let number, let cluster, let revision, let log):
            writer.put(UInt8(9))
            writer.put(number)
            writer.put(cluster)
            writer.put(revision)
            writer.put(log) { writer, log in
                writer.put(log.entries)
                writer.put(log.revision)
            }
        case .changed(let number, let cluster, let revision, let reads):
            writer.put(UInt8(10))
            writer.put(number)
            writer.put(cluster)
            writer.put(revision)
            writer.put(reads)
        case .watchLost(let number):
            writer.put(UInt8(11))
            writer.put(number)
        default: return
        }
    }

    package init(_ bytes: ArraySlice<UInt8>) throws(WireReader.Fault) {
        var reader = WireReader(bytes)
        let kind = try reader.byte()
        switch kind {
        case 1:
            self = .welcome(version: try reader.unsigned())
            // The form of what follows is not known in another version.
            if case .welcome(let version) = self, version != FleetWire.version { return }
        case 2: self = .refused(try reader.sentence())
        case 3...7: self = try Self.lease(kind, &reader)
        case 8...11: self = try Self.watch(kind, &reader)
        case 12: self = .answered(Int(try reader.signed()), try reader.answer())
        case 13: self = .unknown(Int(try reader.signed()))
        case 14:
            // The order of the arguments is that of the bytes.
            self = .status(
                FleetLinkStatus(
                    isRunning: true, endpoint: try reader.optionalSentence(),
                    cluster: try reader.optionalSentence(), version: try reader.optionalSentence(),
                    problem: try reader.optionalSentence()))
        case 15: self = .alive
        case 16:
            self = .dated(
                endpoint: try reader.sentence(), date: try reader.signed(),
                sent: try reader.instant())
        default: throw WireReader.Fault()
        }
        try reader.finish()
    }

    private static func lease(
        _ kind: UInt8, _ reader: inout WireReader
    ) throws(WireReader.Fault) -> Self {
        switch kind {
        case 3:
            .leased(
                try reader.lease(), sent: BootInstant(nanoseconds: try reader.signed()))
        case 4:
            .kept(
                try reader.lease(), sent: BootInstant(nanoseconds: try reader.signed()))
        case 5: .leaseLost(try reader.lease())
        case 6: .leaseUnanswered(try reader.flag() ? try reader.lease() : nil)
        default: .leaseEnded(try reader.lease())
        }
    }

    private static func watch(
        _ kind: UInt8, _ reader: inout WireReader
    ) throws(WireReader.Fault) -> Self {
        switch kind {
        case 8: return .values(try reader.entries())
        case 9:
            return .loaded(
                number: try reader.unsigned(), cluster: try reader.sentence(),
                revision: try reader.signed(),
                log: try reader.flag() ? try reader.log() : nil)
        case 10:
            return .changed(
                number: try reader.unsigned(), cluster: try reader.sentence(),
                revision: try reader.signed(), try reader.reads())
        default: return .watchLost(number: try reader.unsigned())
        }
    }
}

extension WireReader {
    fileprivate mutating func log() throws(Fault) -> FleetLog {
        guard let log = FleetLog(entries: try signed(), revision: try signed()) else {
            throw Fault()
        }
        return log
    }
}

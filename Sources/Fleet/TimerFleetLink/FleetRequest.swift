// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
package import TimerFleet
package import TimerRunnerProtocol

/// What the scheduler sends to `timerd-fleet`.
package enum FleetRequest: Hashable, Sendable {
    /// The first message: the version of the protocol, and the fleet that the scheduler belongs to.
    case hello(version: UInt64, fleet: String)
    /// Asks for a lease that is valid for this long after each keepalive.
    case openLease(seconds: Int64)
    case keepAlive(LeaseID)
    /// Ends a lease, because the scheduler stops.
    case endLease(LeaseID)
    /// Reads all keys and watches them. It ends the watch of an earlier number.
    case load(number: UInt64)
    case send(FleetMember.TransactionID, FleetTransaction)

    package var bytes: [UInt8] {
        var writer = WireWriter()
        switch self {
        case .hello(let version, let fleet):
            writer.put(UInt8(1))
            writer.put(version)
            writer.put(fleet)
        case .openLease(let seconds):
            writer.put(UInt8(2))
            writer.put(seconds)
        case .keepAlive(let lease):
            writer.put(UInt8(3))
            writer.put(lease)
        case .endLease(let lease):
            writer.put(UInt8(4))
            writer.put(lease)
        case .load(let number):
            writer.put(UInt8(5))
            writer.put(number)
        case .send(let id, let transaction):
            writer.put(UInt8(6))
            writer.put(id)
            writer.put(transaction)
        }
        return writer.bytes
    }

    package init(_ bytes: ArraySlice<UInt8>) throws(WireReader.Fault) {
        var reader = WireReader(bytes)
        switch try reader.byte() {
        case 1:
            let version = try reader.unsigned()
            // The form of what follows is not known in another version.
            guard version == FleetWire.version else {
                self = .hello(version: version, fleet: "")
                return
            }
            self = .hello(version: version, fleet: try reader.sentence())
        case 2:
            let seconds = try reader.signed()
            guard (1...86_400).contains(seconds) else { throw WireReader.Fault() }
            self = .openLease(seconds: seconds)
        case 3: self = .keepAlive(try reader.lease())
        case 4: self = .endLease(try reader.lease())
        case 5: self = .load(number: try reader.unsigned())
        case 6: self = .send(Int(try reader.signed()), try reader.transaction())
        default: throw WireReader.Fault()
        }
        try reader.finish()
    }
}

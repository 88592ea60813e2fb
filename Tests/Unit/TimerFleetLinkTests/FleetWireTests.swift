// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerCore
import TimerFleet
import TimerRunnerProtocol

@testable import TimerFleetLink

@Suite struct FleetWireTests {
    @Test(arguments: Samples.requests)
    func aRequestIsReadAsItWasWritten(request: FleetRequest) throws {
        #expect(try FleetRequest(request.bytes[...]) == request)
    }

    @Test(arguments: Samples.reports)
    func aReportIsReadAsItWasWritten(report: FleetReport) throws {
        #expect(try FleetReport(report.bytes[...]) == report)
    }

    @Test func eachKindHasItsOwnNumber() {
        let requests = Set(Samples.requests.map { $0.bytes[0] })
        #expect(requests == Set(1...6))
        let reports = Set(Samples.reports.map { $0.bytes[0] })
        #expect(reports == Set(1...16))
    }

    @Test func randomMessagesAreReadAsTheyWereWritten() throws {
        var random = SeededRandom()
        for _ in 0..<2000 {
            let request = random.request()
            #expect(try FleetRequest(request.bytes[...]) == request)
            let report = random.report()
            #expect(try FleetReport(report.bytes[...]) == report)
        }
    }

    /// A message that is cut anywhere, or has one byte more, is none.
    @Test func aMessageIsReadWholeOrNotAtAll() {
        for bytes in Samples.requests.map(\.bytes) {
            for count in bytes.indices {
                #expect(throws: WireReader.Fault.self) { try FleetRequest(bytes[..<count]) }
            }
            #expect(throws: WireReader.Fault.self) { try FleetRequest((bytes + [0])[...]) }
        }
        for bytes in Samples.reports.map(\.bytes) {
            for count in bytes.indices {
                #expect(throws: WireReader.Fault.self) { try FleetReport(bytes[..<count]) }
            }
            #expect(throws: WireReader.Fault.self) { try FleetReport((bytes + [0])[...]) }
        }
    }

    @Test func unknownKindsAreRefused() {
        for kind in UInt8.min...UInt8.max {
            let bytes = [kind] + [UInt8](repeating: 0, count: 40)
            if !(1...6).contains(kind) {
                #expect(throws: WireReader.Fault.self) { try FleetRequest(bytes[...]) }
            }
            if !(1...16).contains(kind) {
                #expect(throws: WireReader.Fault.self) { try FleetReport(bytes[...]) }
            }
        }
    }

    private func refused(_ write: (inout WireWriter) -> Void) -> Bool {
        var writer = WireWriter()
        write(&writer)
        return (try? FleetRequest(writer.bytes[...])) == nil
            && (try? FleetReport(writer.bytes[...])) == nil
    }

    @Test func valuesThatCannotBeAreRefused() {
        // A lease of no time, of too long a time, and the lease 0.
        for seconds: Int64 in [0, -1, 86_401, .max] {
            #expect(throws: WireReader.Fault.self) {
                try FleetRequest(FleetRequest.openLease(seconds: seconds).bytes[...])
            }
        }
        #expect(throws: WireReader.Fault.self) {
            try FleetRequest(FleetRequest.keepAlive(LeaseID(0)).bytes[...])
        }
        // A key that is none, and one of another fleet.
        for path in ["", "/timerd/f/", "/timerd/f/clocks", "/timerd/g/clock", "clock"] {
            #expect(
                refused { writer in
                    writer.put(UInt8(8))
                    writer.put(1)
                    writer.put(path)
                    writer.put("value, so that it is long enough to be one")
                    writer.put(Int64(1))
                    writer.put(Int64(1))
                })
        }
        // The same key twice.
        #expect(
            refused { writer in
                writer.put(UInt8(10))
                writer.put(UInt64(1))
                writer.put("ab")
                writer.put(Int64(1))
                writer.put(2)
                for _ in 0..<2 {
                    writer.put("/timerd/f/clock")
                    writer.put(false)
                }
            })
        // A count that nothing follows.
        #expect(
            refused { writer in
                writer.put(UInt8(8))
                writer.put(Int64.max)
            })
        #expect(
            refused { writer in
                writer.put(UInt8(2))
                writer.put(String(repeating: "x", count: FleetWire.sentenceBytesMax + 1))
            })
    }

    @Test func moreOperationsThanEtcdTakesAreRefused() {
        let branch = FleetTransaction.Branch(compares: [], changes: [], reads: [])
        let many = FleetTransaction(
            branches: [FleetTransaction.Branch](
                repeating: branch, count: FleetTransaction.operationsMax + 1))
        #expect(throws: WireReader.Fault.self) {
            try FleetRequest(FleetRequest.send(1, many).bytes[...])
        }
        let long = FleetTransaction(
            compares: [], changes: [],
            reads: [FleetKey](repeating: .clock, count: FleetTransaction.operationsMax + 1))
        #expect(throws: WireReader.Fault.self) {
            try FleetRequest(FleetRequest.send(1, long).bytes[...])
        }
    }

    /// The greeting must be understood by each version, because it says that there is another one.
    @Test func theGreetingOfAnotherVersionIsRead() throws {
        var writer = WireWriter()
        writer.put(UInt8(1))
        writer.put(FleetWire.version + 1)
        #expect(
            try FleetReport(writer.bytes[...]) == .welcome(version: FleetWire.version + 1))
        writer.put([1, 2, 3])
        #expect(
            try FleetRequest(writer.bytes[...])
                == .hello(version: FleetWire.version + 1, fleet: ""))
        #expect(
            try FleetReport(writer.bytes[...]) == .welcome(version: FleetWire.version + 1))
    }

    /// Bytes that are changed at random are refused, or are a message that is written the same way.
    @Test func changedMessagesAreRefusedOrValid() {
        var random = SeededRandom()
        var read = 0
        let end = ContinuousClock.now + .seconds(Fuzzing.seconds / 2)
        while ContinuousClock.now < end {
            let isRequest = random.int(below: 2) == 0
            var bytes = isRequest ? random.request().bytes : random.report().bytes
            for _ in 0...random.int(below: 3) where !bytes.isEmpty {
                let place = random.int(below: bytes.count)
                switch random.int(below: 4) {
                case 0: bytes[place] = UInt8(random.int(below: 256))
                case 1: bytes.removeLast(bytes.count - place)
                case 2: bytes.insert(UInt8(random.int(below: 256)), at: place)
                default:
                    let wide = withUnsafeBytes(of: random.number().littleEndian, Array.init)
                    for (offset, byte) in wide.enumerated() where place + offset < bytes.count {
                        bytes[place + offset] = byte
                    }
                }
            }
            if let request = try? FleetRequest(bytes[...]) {
                read += 1
                #expect((try? FleetRequest(request.bytes[...])) == request)
            }
            if let report = try? FleetReport(bytes[...]) {
                read += 1
                #expect((try? FleetReport(report.bytes[...])) == report)
            }
        }
        #expect(read > 0)
    }
}

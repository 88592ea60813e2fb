// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import TimerCore

/// Encodes values: integers in little-endian order, strings and lists with their count in front.
/// Each value has exactly one encoding, so that equal values have equal bytes.
package struct WireWriter: FingerprintWriter {
    package private(set) var bytes: [UInt8] = []

    /// The capacity is enough for most messages and most definitions.
    package init() { bytes.reserveCapacity(256) }

    package mutating func put(_ value: UInt8) { bytes.append(value) }

    package mutating func put(_ value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func put(_ value: Int64) { put(UInt64(bitPattern: value)) }

    package mutating func put(_ value: Int) { put(Int64(value)) }

    package mutating func put(_ value: Bool) { put(UInt8(value ? 1 : 0)) }

    package mutating func put(_ value: [UInt8]) {
        put(value.count)
        bytes += value
    }

    package mutating func put(_ value: String) {
        put(value.utf8.count)
        bytes += value.utf8
    }

    package mutating func put(_ value: Duration) {
        put(value.components.seconds)
        put(value.components.attoseconds)
    }

    package mutating func put(_ value: WallInstant) { put(value.microsecondsSinceEpoch) }

    package mutating func put(_ value: Run.ID) {
        put(value.firing.job.description)
        put(value.firing.scheduled)
        put(value.attempt)
    }

    package mutating func put(_ end: RunEnd) {
        put(end.outcome.description)
        put(end.usage.elapsed)
        put(end.usage.user)
        put(end.usage.system)
        put(end.usage.peakResidentBytes)
        put(end.at)
        put(end.tail)
    }

    /// Writes everything in the definition that affects a runner.
    package mutating func put(_ definition: Definition) {
        switch definition.command {
        case .arguments(let arguments):
            put(UInt8(0))
            put(arguments) { $0.put($1) }
        case .shell(let line):
            put(UInt8(1))
            put(line)
        }
        put(definition.environment)
        put(definition.workingDirectory) { $0.put($1) }
        definition.execution.write(to: &self)
    }
}

/// Decodes values from bytes that are not trusted.
package struct WireReader {
    /// The bytes are not a valid encoding of the expected value.
    package struct Fault: Error {
        package init() {}
    }

    private var bytes: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// Throws if anything was not read: the frame has another form.
    package func finish() throws(Fault) { if !bytes.isEmpty { throw Fault() } }

    package mutating func byte() throws(Fault) -> UInt8 {
        guard let byte = bytes.popFirst() else { throw Fault() }
        return byte
    }

    package mutating func unsigned() throws(Fault) -> UInt64 {
        guard bytes.count >= 8 else { throw Fault() }
        let value = bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        bytes.removeFirst(8)
        return UInt64(littleEndian: value)
    }

    package mutating func signed() throws(Fault) -> Int64 { Int64(bitPattern: try unsigned()) }

    package mutating func flag() throws(Fault) -> Bool {
        switch try byte() {
        case 0: false
        case 1: true
        default: throw Fault()
        }
    }

    /// A count of elements of at least `size` bytes each: never more than the remaining bytes can
    /// contain, or than `most`.
    package mutating func count(of size: Int = 1, most: Int = .max) throws(Fault) -> Int {
        let count = try signed()
        guard count >= 0, count <= min(most, bytes.count / size) else { throw Fault() }
        return Int(count)
    }

    package mutating func array() throws(Fault) -> [UInt8] {
        let count = try count()
        defer { bytes.removeFirst(count) }
        return Array(bytes.prefix(count))
    }

    package mutating func string() throws(Fault) -> String {
        guard let text = String(validating: try array(), as: UTF8.self) else { throw Fault() }
        return text
    }

    /// The longest time span: two centuries, so that calculations with it fit into 64 bits of
    /// nanoseconds.
    private static let secondsMax: UInt64 = 200 * 366 * 86_400
    private static let attosecondsMax: UInt64 = 1_000_000_000_000_000_000

    package mutating func span() throws(Fault) -> Duration {
        let seconds = try signed()
        let attoseconds = try signed()
        guard seconds.magnitude <= Self.secondsMax, attoseconds.magnitude < Self.attosecondsMax
        else {
            throw Fault()
        }
        return Duration(secondsComponent: seconds, attosecondsComponent: attoseconds)
    }

    /// A measured time span, which is not negative.
    private mutating func elapsed() throws(Fault) -> Duration {
        let span = try span()
        guard span >= .zero else { throw Fault() }
        return span
    }

    package mutating func instant() throws(Fault) -> WallInstant {
        WallInstant(microsecondsSinceEpoch: try signed())
    }

    package mutating func run() throws(Fault) -> Run.ID {
        guard let job = Job.Name(ofRun: try string()) else { throw Fault() }
        let scheduled = try instant()
        guard let attempt = Int(exactly: try signed()), attempt >= 1 else { throw Fault() }
        return Run.ID(firing: Firing.ID(job: job, scheduled: scheduled), attempt: attempt)
    }

    package mutating func variables() throws(Fault) -> RunVariables {
        let count = try count(of: 16, most: RunVariables.countMax)
        var values: [String: String] = [:]
        for _ in 0..<count {
            let name = try string()
            guard values.updateValue(try string(), forKey: name) == nil else { throw Fault() }
        }
        return RunVariables(values)
    }

    package mutating func arguments() throws(Fault) -> RunArguments {
        var words: [String] = []
        for _ in 0..<(try count(of: 8, most: RunArguments.countMax)) {
            let word = try string()
            guard RunArguments.fault(inWord: word) == nil else { throw Fault() }
            words.append(word)
        }
        return RunArguments(words)
    }

    package mutating func fleet() throws(Fault) -> FleetStart? {
        guard try flag() else { return nil }
        return FleetStart(
            fence: try signed(), before: BootInstant(nanoseconds: try signed()))
    }

    package mutating func chain() throws(Fault) -> Firing.Cause.Chain? {
        guard try flag() else { return nil }
        let run = try run()
        guard let result = RunResult(word: try string()) else { throw Fault() }
        return Firing.Cause.Chain(run: run, result: result)
    }

    package mutating func end() throws(Fault) -> RunEnd {
        guard let outcome = RunOutcome(try string()) else { throw Fault() }
        var usage = RunUsage()
        usage.elapsed = try elapsed()
        usage.user = try elapsed()
        usage.system = try elapsed()
        usage.peakResidentBytes = try signed()
        let at = try instant()
        return RunEnd(outcome, usage, at: at, tail: try array())
    }
}

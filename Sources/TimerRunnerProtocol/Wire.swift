// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import TimerCore

/// The protocol between a scheduler and a runner, over a stream socket: frames of a length (4
/// bytes, little-endian), a kind (1 byte) and the payload.
///
/// The scheduler starts with `hello`; the runner replies with the list of its runs and then sends
/// events. It sends them in two lanes: the output of runs in one, everything else in the other, so
/// that no start or end waits for output. Each message has a number, counted in its lane from 1 for
/// each instance of the runner, and is kept until the scheduler has acknowledged it with `seen`. On
/// a new connection the messages that were not acknowledged are sent again.
package enum Wire {
    /// The version of the protocol; both sides must have the same.
    package static let version: UInt64 = 5
    /// The most bytes of a frame from the runner: the longest tail of a run fits.
    package static let replyBytesMax = 4 << 20
    /// The most bytes of a frame from the scheduler: `runsPerFrame` runs with the longest names fit,
    /// and the longest message of a notifier.
    package static let requestBytesMax = 288 << 10
    /// The most runs named in one frame.
    package static let runsPerFrame = 500
    /// The most bytes of variables in one frame, as `RunVariables.cost` counts them: those of any one run fit.
    package static let variableBytesPerFrame = RunVariables.bytesMax + RunVariables.countMax * 64

    /// The orders in portions, each of which fits a frame.
    package static func frames(of orders: [RunOrder]) -> [ArraySlice<RunOrder>] {
        var frames: [ArraySlice<RunOrder>] = []
        var rest = orders[...]
        while !rest.isEmpty {
            var bytes = 0
            let count = rest.prefix(runsPerFrame).prefix { order in
                bytes += order.variables.cost
                return bytes <= variableBytesPerFrame
            }.count
            frames.append(rest.prefix(max(1, count)))
            rest = rest.dropFirst(max(1, count))
        }
        return frames
    }
}

/// A run that the scheduler requests, with the version of its definition. The runner has read the
/// definition itself; if it does not have this version, it refuses the run.
package struct RunOrder: Hashable, Sendable {
    package var run: Run.ID
    package var fingerprint: UInt64
    package var missed: Int
    package var active: Duration
    /// What is set for this run alone, if its job allows it.
    package var variables: RunVariables

    package init(
        run: Run.ID, fingerprint: UInt64, missed: Int, active: Duration,
        variables: RunVariables = RunVariables()
    ) {
        self.variables = variables
        self.run = run
        self.fingerprint = fingerprint
        self.missed = missed
        self.active = active
    }

    package init(_ run: Run) {
        self.init(
            run: run.id, fingerprint: Definition(run.job).fingerprint, missed: run.firing.missed,
            active: run.firing.active, variables: run.firing.cause.variables)
    }
}

/// From the scheduler.
package enum WireRequest: Hashable {
    case hello(version: UInt64)
    case start([RunOrder])
    case end(Run.ID, grace: Duration)
    case suspend(Run.ID)
    case resume(Run.ID)
    case signal(Run.ID, Int32)
    case barrier(UInt64)
    case forget([Run.ID])
    /// Acknowledges all messages up to these numbers: of starts, ends and barriers, and of output.
    case seen(events: UInt64, output: UInt64)
    case shutDown(grace: Duration)
    /// Requests a reload of the configuration. Until `forgetFormer`, runs are also started with the
    /// previous definitions.
    case refresh
    /// The previous definitions, from before the last `refresh`, are not used any more.
    case forgetFormer
    /// These one-off jobs are over: their definitions can be removed.
    case discard([Job.Name])
    /// Requests that a message is sent.
    case send(MessageOrder)

    package var bytes: [UInt8] {
        var writer = WireWriter()
        switch self {
        case .hello(let version):
            writer.put(UInt8(1))
            writer.put(version)
        case .start(let orders):
            writer.put(UInt8(2))
            writer.put(orders) {
                $0.put($1.run)
                $0.put($1.fingerprint)
                $0.put($1.missed)
                $0.put($1.active)
                $0.put($1.variables.values.sorted { $0.key < $1.key }) {
                    $0.put($1.key)
                    $0.put($1.value)
                }
            }
        case .end(let run, let grace):
            writer.put(UInt8(3))
            writer.put(run)
            writer.put(grace)
        case .suspend(let run):
            writer.put(UInt8(4))
            writer.put(run)
        case .resume(let run):
            writer.put(UInt8(5))
            writer.put(run)
        case .signal(let run, let number):
            writer.put(UInt8(6))
            writer.put(run)
            writer.put(Int64(number))
        case .barrier(let token):
            writer.put(UInt8(7))
            writer.put(token)
        case .forget(let runs):
            writer.put(UInt8(8))
            writer.put(runs) { $0.put($1) }
        case .seen(let events, let output):
            writer.put(UInt8(9))
            writer.put(events)
            writer.put(output)
        case .shutDown(let grace):
            writer.put(UInt8(10))
            writer.put(grace)
        case .refresh: writer.put(UInt8(11))
        case .forgetFormer: writer.put(UInt8(12))
        case .discard(let jobs):
            writer.put(UInt8(13))
            writer.put(jobs) { $0.put($1.description) }
        case .send(let order):
            writer.put(UInt8(14))
            writer.put(order)
        }
        return writer.bytes
    }

    package init(_ bytes: ArraySlice<UInt8>) throws(WireReader.Fault) {
        var reader = WireReader(bytes)
        switch try reader.byte() {
        case 1: self = .hello(version: try reader.unsigned())
        case 2:
            var orders: [RunOrder] = []
            for _ in 0..<(try reader.count(of: 48, most: Wire.runsPerFrame)) {
                orders.append(
                    RunOrder(
                        run: try reader.run(), fingerprint: try reader.unsigned(),
                        missed: Int(try reader.signed()), active: try reader.span(),
                        variables: try reader.variables()))
            }
            self = .start(orders)
        case 3: self = .end(try reader.run(), grace: try reader.span())
        case 4: self = .suspend(try reader.run())
        case 5: self = .resume(try reader.run())
        case 6:
            let run = try reader.run()
            guard let number = Int32(exactly: try reader.signed()) else { throw .init() }
            self = .signal(run, number)
        case 7: self = .barrier(try reader.unsigned())
        case 8:
            var runs: [Run.ID] = []
            for _ in 0..<(try reader.count(of: 8, most: Wire.runsPerFrame)) {
                runs.append(try reader.run())
            }
            self = .forget(runs)
        case 9: self = .seen(events: try reader.unsigned(), output: try reader.unsigned())
        case 10: self = .shutDown(grace: try reader.span())
        case 11: self = .refresh
        case 12: self = .forgetFormer
        case 13:
            var jobs: [Job.Name] = []
            for _ in 0..<(try reader.count(of: 8, most: Wire.runsPerFrame)) {
                guard let job = Job.Name(try reader.string()) else { throw .init() }
                jobs.append(job)
            }
            self = .discard(jobs)
        case 14: self = .send(try reader.message())
        default: throw .init()
        }
        try reader.finish()
    }
}

/// From the runner.
package enum WireReply: Hashable {
    /// The reply to `hello`: the version, and a random number that identifies the instance of the
    /// runner.
    case welcome(version: UInt64, instance: UInt64)
    /// A run that is not forgotten: when its process started, if it did, and whether it has ended.
    case holds(Run.ID, began: WallInstant?, isOver: Bool)
    /// The list of runs is complete.
    case complete
    case event(UInt64, RunnerEvent)
    case barrierReached(UInt64, token: UInt64)
    /// Every run has ended, and none is started any more.
    case down

    package var bytes: [UInt8] {
        var writer = WireWriter()
        switch self {
        case .welcome(let version, let instance):
            writer.put(UInt8(1))
            writer.put(version)
            writer.put(instance)
        case .holds(let run, let began, let isOver):
            writer.put(UInt8(2))
            writer.put(run)
            writer.put(began) { $0.put($1) }
            writer.put(isOver)
        case .complete: writer.put(UInt8(3))
        case .event(let number, let event): Self.put(number, event, into: &writer)
        case .barrierReached(let number, let token):
            writer.put(UInt8(8))
            writer.put(number)
            writer.put(token)
        case .down: writer.put(UInt8(9))
        }
        return writer.bytes
    }

    private static func put(_ number: UInt64, _ event: RunnerEvent, into writer: inout WireWriter) {
        func head(_ kind: UInt8) {
            writer.put(kind)
            writer.put(number)
            writer.put(event.run)
        }
        switch event {
        case .began(_, let pid, let at):
            head(4)
            writer.put(Int64(pid))
            writer.put(at)
        case .output(_, let stream, let line, let isCut):
            head(5)
            writer.put(stream.rawValue)
            writer.put(line)
            writer.put(isCut)
        case .dropped(_, let lines):
            head(6)
            writer.put(lines)
        case .ended(_, let end):
            head(7)
            writer.put(end)
        case .slowed: head(10)
        case .limited(_, let lines):
            head(11)
            writer.put(lines)
        case .leftBehind(_, let count, let named):
            head(12)
            writer.put(count)
            writer.put(named)
        }
    }

    package init(_ bytes: ArraySlice<UInt8>) throws(WireReader.Fault) {
        var reader = WireReader(bytes)
        let kind = try reader.byte()
        switch kind {
        case 1: self = .welcome(version: try reader.unsigned(), instance: try reader.unsigned())
        case 2:
            let run = try reader.run()
            let began = try reader.flag() ? try reader.instant() : nil
            self = .holds(run, began: began, isOver: try reader.flag())
        case 3: self = .complete
        case 4...7: self = .event(try reader.unsigned(), try Self.event(kind, &reader))
        case 8: self = .barrierReached(try reader.unsigned(), token: try reader.unsigned())
        case 9: self = .down
        case 10...12: self = .event(try reader.unsigned(), try Self.event(kind, &reader))
        default: throw .init()
        }
        try reader.finish()
    }

    private static func event(
        _ kind: UInt8, _ reader: inout WireReader
    ) throws(WireReader.Fault) -> RunnerEvent {
        let run = try reader.run()
        switch kind {
        case 4:
            guard let pid = Int32(exactly: try reader.signed()) else { throw .init() }
            return .began(run, pid: pid, at: try reader.instant())
        case 5:
            guard let stream = RunStream(rawValue: try reader.byte()) else { throw .init() }
            let line = try reader.array()
            return .output(run, stream, line: line, isCut: try reader.flag())
        case 6: return .dropped(run, lines: Int(try reader.signed()))
        case 10: return .slowed(run)
        case 11: return .limited(run, lines: Int(try reader.signed()))
        case 12:
            let count = Int(try reader.signed())
            return .leftBehind(run, count: count, named: try reader.array())
        default: return .ended(run, try reader.end())
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import TimerCore

/// What the scheduler sends, one in each frame.
package enum WireRequest: Hashable {
    case hello(version: UInt64)
    case start([StartRequest])
    case end(Run.ID, grace: Duration)
    case suspend(Run.ID)
    case resume(Run.ID)
    case signal(Run.ID, Int32)
    /// Requests an answer once every end that has happened is reported. The token is not
    /// `Wire.preparedToken`.
    case barrier(UInt64)
    /// Requests an answer, with `Wire.preparedToken`, once the runner has read the configuration.
    /// For a runner of an earlier version it is a barrier, which is answered at once.
    case prepare
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
    /// Send a message of a notifier, once.
    case send(MessageRequest)
    /// Check the condition of a run. The answer is `WireReply.checked`.
    case check(CheckRequest)

    package var bytes: [UInt8] {
        var writer = WireWriter()
        switch self {
        case .hello(let version):
            writer.put(UInt8(1))
            writer.put(version)
        case .start(let requests):
            writer.put(UInt8(2))
            writer.put(requests) {
                $0.put($1.run)
                $0.put($1.fingerprint)
                $0.put($1.missed)
                $0.put($1.active)
                $0.put($1.variables.values.sorted { $0.key < $1.key }) {
                    $0.put($1.key)
                    $0.put($1.value)
                }
                $0.put($1.arguments.words) { $0.put($1) }
                $0.put($1.fleet) {
                    $0.put($1.fence)
                    $0.put($1.before.nanoseconds)
                }
                $0.put($1.chain) {
                    $0.put($1.run)
                    $0.put($1.result.word)
                }
                $0.put($1.notBefore.nanoseconds)
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
        case .prepare:
            writer.put(UInt8(7))
            writer.put(Wire.preparedToken)
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
        case .send(let request):
            writer.put(UInt8(14))
            writer.put(request)
        case .check(let request):
            writer.put(UInt8(15))
            writer.put(request)
        }
        return writer.bytes
    }

    package init(_ bytes: ArraySlice<UInt8>) throws(WireReader.Fault) {
        var reader = WireReader(bytes)
        switch try reader.byte() {
        case 1: self = .hello(version: try reader.unsigned())
        case 2:
            var requests: [StartRequest] = []
            for _ in 0..<(try reader.count(of: 56, most: Wire.runsPerFrame)) {
                requests.append(
                    StartRequest(
                        run: try reader.run(), fingerprint: try reader.unsigned(),
                        missed: Int(try reader.signed()), active: try reader.span(),
                        variables: try reader.variables(), arguments: try reader.arguments(),
                        fleet: try reader.fleet(), chain: try reader.chain(),
                        notBefore: AwakeInstant(nanoseconds: try reader.signed())))
            }
            self = .start(requests)
        case 3: self = .end(try reader.run(), grace: try reader.span())
        case 4: self = .suspend(try reader.run())
        case 5: self = .resume(try reader.run())
        case 6:
            let run = try reader.run()
            guard let number = Int32(exactly: try reader.signed()) else { throw .init() }
            self = .signal(run, number)
        case 7:
            let token = try reader.unsigned()
            self = token == Wire.preparedToken ? .prepare : .barrier(token)
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
        case 15: self = .check(try reader.check())
        default: throw .init()
        }
        try reader.finish()
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import TimerCore

/// What the runner sends, one in each frame.
package enum WireReply: Hashable {
    /// The reply to `hello`: the version, and a random number that identifies the instance of the
    /// runner.
    case welcome(version: UInt64, instance: UInt64)
    /// The identity of the registry of runs, which a runner continues that finds the registry of the
    /// one before it. A runner with another one may not know what was started before.
    case memory(UInt64)
    /// A run that is not forgotten: when its process started, if it did, and whether it has ended.
    case holds(Run.ID, began: WallInstant?, isOver: Bool)
    /// The list of runs is complete.
    case complete
    case event(UInt64, RunnerEvent)
    case barrierReached(UInt64, token: UInt64)
    /// Every run has ended, and none is started any more.
    case down
    /// The answer to the request of this number to check the condition of a run. It is not kept: a
    /// scheduler that did not get it asks again.
    case checked(Run.ID, number: UInt64, Condition.Answer)
    /// These parts of the machine have changed, and conditions on them were checked before. It is not
    /// kept: on a new connection everything is checked again.
    case machineChanged(MachineParts)

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
        case .memory(let id):
            writer.put(UInt8(14))
            writer.put(id)
        case .checked(let run, let number, let answer):
            writer.put(UInt8(15))
            writer.put(run)
            writer.put(number)
            writer.put(answer)
        case .machineChanged(let parts):
            writer.put(UInt8(16))
            writer.put(parts.rawValue)
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
        case .unfinished(_, let stream, let line):
            head(13)
            writer.put(stream.rawValue)
            writer.put(line)
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
        case 14: self = .memory(try reader.unsigned())
        case 15:
            self = .checked(
                try reader.run(), number: try reader.unsigned(), try reader.answer())
        case 16:
            let parts = MachineParts(rawValue: try reader.byte())
            guard MachineParts.all.isSuperset(of: parts) else { throw .init() }
            self = .machineChanged(parts)
        case 10...13: self = .event(try reader.unsigned(), try Self.event(kind, &reader))
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
        case 13:
            guard let stream = RunStream(rawValue: try reader.byte()) else { throw .init() }
            return .unfinished(run, stream, line: try reader.array())
        default: return .ended(run, try reader.end())
        }
    }
}

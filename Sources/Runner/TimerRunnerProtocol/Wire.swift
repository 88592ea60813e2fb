// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import TimerCore

/// The protocol between a scheduler and a runner, over a stream socket: frames of a length (4
/// bytes, little-endian), a kind (1 byte) and the payload.
///
/// The scheduler starts with `hello`; the runner replies with the identity of its memory and the list of its runs, and
/// then sends events. It sends them in two sequences: the output of runs in one, everything else in the other, so that
/// no start or end waits for output. Each message has a number, counted in its sequence from 1 for each instance of the
/// runner, and is kept until the scheduler has acknowledged it with `seen`. On a new connection the messages that were
/// not acknowledged are sent again.
package enum Wire {
    /// The version of the protocol; both sides must have the same.
    package static let version: UInt64 = 12
    /// Answers `prepare`. No barrier has this token.
    package static let preparedToken: UInt64 = 0
    /// The most bytes of a frame from the runner: the longest tail of a run fits.
    package static let replyBytesMax = 4 << 20
    /// The most bytes of a frame from the scheduler: `runsPerFrame` runs with the longest names fit,
    /// and the longest message of a notifier.
    package static let requestBytesMax = 352 << 10
    /// The most runs that one frame names; more are split over several frames.
    package static let runsPerFrame = 500
    /// The most bytes of variables and arguments in one frame, as `StartRequest.cost` counts them: those of any one run
    /// fit.
    package static let variableBytesPerFrame =
        RunVariables.bytesMax + RunVariables.countMax * 64 + RunArguments.costMax

    /// The orders in portions, each of which fits a frame.
    package static func frames(of requests: [StartRequest]) -> [ArraySlice<StartRequest>] {
        var frames: [ArraySlice<StartRequest>] = []
        var rest = requests[...]
        while !rest.isEmpty {
            var bytes = 0
            let count = rest.prefix(runsPerFrame).prefix { request in
                bytes += request.cost
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
package struct StartRequest: Hashable, Sendable {
    package var run: Run.ID
    package var fingerprint: UInt64
    package var missed: Int
    package var active: Duration
    /// What is set for this run alone, if its job allows it.
    package var variables: RunVariables
    /// What is appended to its command, if its job allows it.
    package var arguments: RunArguments
    /// What a fleet requires of it; nil for a run of this machine alone.
    package var fleet: FleetStart?
    /// The end of another run that caused it; nil if none did.
    package var chain: Firing.Cause.Chain?
    /// Its program starts no earlier than this.
    package var notBefore: AwakeInstant

    package init(
        run: Run.ID, fingerprint: UInt64, missed: Int, active: Duration,
        variables: RunVariables = RunVariables(), arguments: RunArguments = RunArguments(),
        fleet: FleetStart? = nil, chain: Firing.Cause.Chain? = nil,
        notBefore: AwakeInstant = AwakeInstant(nanoseconds: 0)
    ) {
        self.notBefore = notBefore
        self.variables = variables
        self.arguments = arguments
        self.fleet = fleet
        self.chain = chain
        self.run = run
        self.fingerprint = fingerprint
        self.missed = missed
        self.active = active
    }

    package init(_ run: Run, notBefore: AwakeInstant = AwakeInstant(nanoseconds: 0)) {
        self.init(
            run: run.id, fingerprint: Definition(run.job).fingerprint, missed: run.firing.missed,
            active: run.firing.active, variables: run.firing.cause.variables,
            arguments: run.firing.cause.arguments, fleet: FleetStart(run.firing.cause),
            chain: run.firing.cause.chain, notBefore: notBefore)
    }

    /// The approximate memory of its variables and arguments, in bytes.
    package var cost: Int { variables.cost + arguments.cost }
}

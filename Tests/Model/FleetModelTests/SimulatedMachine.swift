// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet

/// A machine: its clocks, its record on disk, its runner, and its daemon while one runs.
final class SimulatedMachine {
    let name: MachineName
    /// How fast its clocks are, in millionths; how wrong its wall clock is.
    let drift: Int64
    var offset: Int64
    /// When it was started, and how long it was suspended since then.
    var bootedAt: Int64 = 0
    var suspended: Int64 = 0
    var boot: BootID
    var bootNumber = 1
    var isOff = false
    /// Until when its daemon, its runner or all of it does nothing.
    var daemonStopped: Int64 = 0
    var runnerStopped: Int64 = 0
    /// What arrived while its daemon did nothing, in its order.
    var inbox: [FleetEvent] = []
    /// Until when the network is cut from it and to it.
    var cutFrom: Int64 = 0
    var cutTo: Int64 = 0
    var member: FleetMember?
    /// Whether its daemon read the store since it started or the machine slept, and saw a change of the
    /// clock since then and since it was cut off or stopped.
    var hasLoaded = false
    var followsClock = false
    /// Since when it has been connected without a fault; nil: it is not.
    var connectedSince: Int64?
    /// Counts the starts of the daemon: what was meant for an earlier one is dropped.
    var epoch = 0
    var starts: Int64 = 0
    /// Counts the wake-ups that were planned: a later one takes the place of those before it.
    var wakes = 0
    var disk = FleetMemory()
    /// The record before the last write, which a power cut can bring back.
    var diskBefore = FleetMemory()
    var rows: [Run.ID: LocalRun] = [:]
    var rowsBefore: [Run.ID: LocalRun] = [:]
    var diskBusy: Int64 = 0
    var registry: [Run.ID: FleetMemory.RunnerState] = [:]
    var startsUnderway = 0
    var jobs: [FleetJob] = []
    /// The newest format that the installed version knows.
    var format = FleetFormat.newest
    /// When a keepalive that was answered was sent last.
    var kept: BootInstant?
    /// Counts its watches; an older one brings nothing any more.
    var watch = 0

    init(_ number: Int, drift: Int64, offset: Int64) {
        name = MachineName("web\(number)")!
        self.drift = drift
        self.offset = offset
        boot = Self.bootID(number, 1)
    }

    static func bootID(_ machine: Int, _ boot: Int) -> BootID {
        let digits = String(machine * 10_000 + boot, radix: 16)
        return BootID(String(repeating: "0", count: 31 - digits.count) + digits + "f")!
    }

    func now(_ time: Int64) -> Now {
        let up = time - bootedAt
        let booted = up + up / 1_000_000 * drift
        return Now(
            wall: WallInstant(
                microsecondsSinceEpoch: Simulation.wallStart + (time + offset) / 1000),
            awake: AwakeInstant(nanoseconds: booted - suspended),
            boot: BootInstant(nanoseconds: booted), bootID: boot)
    }

    /// Whether its daemon and its runner have done their work for some seconds.
    func isAwake(at time: Int64) -> Bool {
        member != nil && time - daemonStopped > Simulation.second
            && time - runnerStopped > Simulation.second
    }

    /// How long it takes, in true time, until the machine's clocks reach one of the instants.
    func span(until wake: FleetWake, from time: Int64) -> Int64 {
        let now = now(time)
        // The clocks are fast or slow by 100 millionths at most.
        let rest = (wake.boot.nanoseconds - now.boot.nanoseconds)
        var span = rest - rest / 1_000_000 * drift
        if let wall = wake.wall { span = min(span, (wall - now.wall).wholeNanoseconds) }
        return max(0, span)
    }
}

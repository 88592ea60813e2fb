// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import Logging
import TimerConfig
import TimerCore
import TimerDaemon
import TimerFleet
import TimerFleetLink
import TimerRecording

/// The step of a start that joins a fleet.
extension DaemonStart {
    /// Why a machine cannot be a member of a fleet.
    struct NoMember: Error, CustomStringConvertible {
        let description: String
    }

    /// The name of this machine in the fleet.
    ///
    /// - Throws: `NoMember` if its hostname cannot be one.
    static func machine(of settings: FleetSettings) throws(NoMember) -> MachineName {
        let name = settings.machineName
        guard let machine = MachineName(name) else {
            throw NoMember(
                description:
                    "the hostname \"\(name)\" cannot be the name of a machine; set machine in [fleet]"
            )
        }
        return machine
    }

    /// The member of the fleet; nil without a table `[fleet]`. It does nothing before `begin`.
    func fleet(
        _ reading: ConfigReading, _ instance: DaemonInstance.ID, _ recorder: Recorder, _ loop: Loop,
        as machine: MachineName?
    ) -> FleetDriver? {
        guard let settings = reading.settings.fleet, let machine else { return nil }
        var configuration = FleetMember.Configuration(machine: machine)
        configuration.lease = settings.lease
        configuration.skewMax = settings.clockSkewMax
        configuration.labels = settings.labels
        configuration.version = Timerd.versionNumber
        var link = FleetLink.Configuration(fleet: settings.name, lease: settings.lease)
        if let path = options.fleet { link.path = path }
        let transport: any FleetTransport
        do {
            transport = LinkTransport(try FleetLink(link))
        } catch {
            log.error("Cannot take part in the fleet \(settings.name): \(error)")
            return nil
        }
        let driver = FleetDriver(
            reading.jobSet.jobs,
            dependencies: FleetDriver.Dependencies(
                configuration: configuration, fleet: settings.name, instance: instance,
                now: { [clocks] in clocks.now() }, recorder: recorder, transport: transport,
                log: log,
                start: { run in loop.later { $0.receive(.claimed(run)) } },
                end: { run in loop.later { $0.endIsolated(run) } },
                show: { views in loop.later { $0.show(views) } }))
        loop.later { $0.join(driver, as: machine) }
        return driver
    }
}

/// The connection to `timerd-fleet`, as the driver uses it.
private struct LinkTransport: FleetTransport {
    private let link: FleetLink

    init(_ link: FleetLink) { self.link = link }

    func start(_ handler: @escaping FleetLink.Handler) throws { try link.begin(handler) }

    func perform(_ action: FleetAction) -> Bool { link.perform(action) }

    func stop(endingLeases: Bool) { link.close(endingLeases: endingLeases) }
}

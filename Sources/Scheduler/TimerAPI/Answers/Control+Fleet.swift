// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import NIOHTTP1
import TimerControl
import TimerCore
import TimerDaemon
import TimerFleet
import TimerFleetLink
import TimerHTTP

extension Control {
    private static let noFleet = ErrorReply(
        "this machine belongs to no fleet: its configuration has no table [fleet]", code: .conflict)

    /// What the metrics say of the fleet; nil without one.
    static func measures(
        of fleet: (driver: FleetDriver, machine: MachineName)?,
        _ done: @escaping @Sendable (FleetMeasures?) -> Void
    ) {
        guard let (driver, machine) = fleet else { return done(nil) }
        driver.readStatus { status, _ in
            done(
                FleetMeasures(
                    fleet: driver.dependencies.fleet, machine: machine, status: status))
        }
    }

    func showFleet(_ reply: @escaping ControlAnswer.Reply) {
        loop.later { loop in
            guard let (driver, machine) = loop.fleet else {
                return DispatchQueue.answers.async { self.send(.conflict, Self.noFleet, reply) }
            }
            driver.readStatus { status, connection in
                let name = driver.dependencies.fleet
                DispatchQueue.answers.async {
                    self.send(.ok, FleetReply(name, machine, status, connection), reply)
                }
            }
        }
    }

    func command(
        _ body: FleetCommandBody, by peer: Peer, _ reply: @escaping ControlAnswer.Reply
    ) {
        loop.later { loop in
            guard let (driver, _) = loop.fleet,
                let command = FleetCommand(body, by: peer.name)
            else {
                return DispatchQueue.answers.async { self.send(.conflict, Self.noFleet, reply) }
            }
            driver.execute(command, by: peer.name) { result in
                DispatchQueue.answers.async {
                    guard let refusal = result.refusal else {
                        return self.send(.ok, FleetCommandReply(body.verb), reply)
                    }
                    self.send(
                        .conflict,
                        ErrorReply("fleet \(body.verb.rawValue): \(refusal)", code: .conflict),
                        reply)
                }
            }
        }
    }
}

extension FleetCommand {
    /// Nil if the verb needs a job and the name is missing or not valid.
    fileprivate init?(_ body: FleetCommandBody, by user: String) {
        let job = body.job.flatMap { Job.Name($0) }
        switch body.verb {
        case .hold: self = .hold(by: user)
        case .release: self = .release(by: user)
        case .drain: self = .drain
        case .undrain: self = .undrain
        case .adopt: self = .adopt
        case .define:
            guard let job else { return nil }
            self = .define(job)
        case .forget:
            guard let job else { return nil }
            self = .forget(job)
        }
    }
}

extension FleetReply {
    fileprivate init(
        _ fleet: String, _ machine: MachineName, _ status: FleetStatus,
        _ connection: FleetLinkStatus
    ) {
        let state =
            status.finding != nil
            ? "unusable"
            : !status.isConnected ? "away" : status.mayStart ? "connected" : "standby"
        let hold = status.hold.flatMap { $0.isHeld ? $0 : nil }
        self.init(
            fleet: fleet, machine: machine.description, state: state,
            problem: status.finding?.sentence ?? connection.problem
                ?? status.obstacle?.sentence(of: machine),
            endpoint: connection.endpoint, etcdVersion: connection.version,
            heldSince: hold?.since?.rfc3339Micros, heldBy: hold?.by, drained: status.isDrained,
            machines: status.machines.map { one in
                Machine(
                    machine: one.name.description, labels: one.value.labels, fit: one.value.isFit,
                    unfit: one.value.unfitness?.rawValue, skew: one.value.skew,
                    drifted: one.drifted.map(\.description), version: one.value.version)
            },
            adoptionLoss: status.loss.map {
                Loss(
                    held: $0.isHeld, paused: $0.paused.map(\.description),
                    memory: Loss.Memory($0.memory))
            })
    }
}

extension FleetReply.Loss.Memory {
    fileprivate init(_ memory: FleetStatus.Loss.Memory) {
        switch memory {
        case .own: self = .own
        case .others: self = .others
        case .noMachine: self = .noMachine
        }
    }
}

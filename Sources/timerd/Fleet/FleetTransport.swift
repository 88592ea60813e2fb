// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet

/// The way from a member of a fleet to the store that the fleet shares, and back.
protocol FleetTransport: Sendable {
    /// Reports from now on what comes of actions. Call it once.
    ///
    /// - Throws: a sentence that says why it cannot work.
    func start(_ report: @escaping @Sendable (FleetTransportReport) -> Void) throws
    /// Performs an action that needs the store, without waiting for anything.
    ///
    /// - Returns: false for any other action.
    func perform(_ action: FleetAction) -> Bool
    /// Ends the connection. It may wait for two seconds.
    ///
    /// - Parameter endingLeases: whether the other machines learn at once that this one has gone.
    func stop(endingLeases: Bool)
}

/// What comes back.
enum FleetTransportReport: Sendable {
    /// The answer to an action, or a change in the store.
    case event(FleetEvent)
    /// The state of the connection changed.
    case status(FleetTransportStatus)
}

/// The state of the connection of this machine to the store of its fleet.
struct FleetTransportStatus: Hashable, Sendable {
    /// The address that answered last; nil if none answers.
    var endpoint: String?
    /// The version of etcd there.
    var version: String?
    /// What is wrong, and what to do next; nil if nothing is.
    var problem: String?
}

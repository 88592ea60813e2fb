// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import TimerFleet
package import TimerFleetLink

/// The way from a member of a fleet to the store that the fleet shares, and back.
package protocol FleetTransport: Sendable {
    /// Reports from now on what comes of actions. Call it once.
    ///
    /// - Throws: a sentence that says why it cannot work.
    func start(_ handler: @escaping FleetLink.Handler) throws
    /// Performs an action that needs the store, without waiting for anything.
    ///
    /// - Returns: false for any other action.
    func perform(_ action: FleetAction) -> Bool
    /// Ends the connection. It may wait for two seconds.
    ///
    /// - Parameter endingLeases: whether the other machines learn at once that this one has gone.
    func stop(endingLeases: Bool)
}

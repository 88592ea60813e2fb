// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Where the agenda is known to differ from the definitions, and the checker follows it for the time being.
/// Each is to become `false`, and to go.
enum Leniency {
    /// What counted since a pause ended while no daemon lived is lost if the next life ends at once.
    static let pausesLose = true
    /// A pause of a job that the configuration does not name ends nevertheless.
    static let removedPausesCount = true
    /// A job that comes back into the configuration does not know its runs any more.
    static let removedJobsForgetTheirRuns = true
    /// A run that lost its place to a pause waits behind those that waited for it.
    static let heldRunsChangeOrder = true
    /// After a correction backwards and a restart, slots have the labels they had before.
    static let labelsComeAgain = true
    /// A job whose schedule changed with a restart makes up for slots from before that.
    static let changedSlotsLookBack = true
}

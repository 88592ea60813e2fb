// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Where the agenda is known to differ from the definitions, and the checker follows it for the time being.
/// Each is to become `false`, and to go.
enum Leniency {
    /// What slots were dealt with is not kept over a restart; the time of the last record stands for it.
    static let slotsAreForgotten = false
    /// A pause that a step of the clock ends, or that ends while no daemon lives, counts some of its own time.
    static let pausesGain = false
    /// What counted since a pause ended while no daemon lived is lost if the next life ends at once.
    static let pausesLose = true
    /// That a correction of the clock left a job without slots is not kept over a restart.
    static let finishedByACorrectionIsNotKept = false
    /// Runs that live on take their places back in the order of the labels, behind runs that wait.
    static let livingRunsComeLater = false
    /// A run that lost its place to a pause waits behind those that waited for it.
    static let heldRunsChangeOrder = true
    /// After a correction backwards and a restart, slots have the labels they had before.
    static let labelsComeAgain = true
    /// A job that comes back into the configuration does not know its runs any more.
    static let removedJobsForgetTheirRuns = true
    /// A job that comes back into the configuration makes up for slots that passed while it was not there.
    static let removedJobsMissSlots = false
}

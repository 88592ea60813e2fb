// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Where the agenda is known to differ from the definitions, and the checker follows it for the time being.
/// Each is to become `false`, and to go.
enum Leniency {
    /// Open runs are begun one by one as they are taken up, in the order of their labels, which a correction
    /// of the clock may have turned round: the next one may be one that had to come first.
    static let openRunsComeOneByOne = true
    /// Up to when slots were dealt with is not kept by a daemon that is stopped in order.
    static let stoppedSlotsAreForgotten = true
    /// What counted since the end of a pause, before this life, stays with a job that is stopped, and is lost
    /// by one that is resumed before its pause ended by itself.
    static let countedAfterPauseHangsOn = true
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A command of timerctl.
protocol Verb: ParsableCommand {
    /// What of it a user can do who may only read.
    static var reading: Reading { get }
}

/// What of a command only reads, so that each user can do it who may connect to the daemon.
enum Reading: Equatable {
    case all
    case nothing
    /// All but what these words name, as in "without its commands"; or only with an option.
    case part(String)
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TimerCore

/// Answers what a configuration asks of the machine that its jobs run on. An answer may take long: a directory service
/// and a file system can be on another machine.
public protocol MachineQueries: Sendable {
    /// What a job names and this machine does not have, or its user has no right to.
    func findings(of job: Job) -> [MachineLook.Finding]
    /// Whether a user is in one of these groups. False as well if there is no such user; nil if it is not known.
    func isMember(_ name: String, of groups: [String]) -> Bool?
}

/// This machine, which is asked about each thing once.
public final class Machine: MachineQueries {
    private let look: Mutex<MachineLook>

    /// As it is from now on.
    public init(_ look: MachineLook = MachineLook()) { self.look = Mutex(look) }

    public func findings(of job: Job) -> [MachineLook.Finding] {
        look.withLock { $0.findings(of: job) }
    }

    public func isMember(_ name: String, of groups: [String]) -> Bool? {
        look.withLock { $0.isMember(name, of: groups) }
    }
}

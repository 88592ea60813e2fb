// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Answers questions about the machine on which the jobs run. An answer may be slow: a directory
/// service or a file system can be on another machine.
public protocol MachineQueries: Sendable {
    /// What a job names and this machine does not have, or its user may not use.
    func findings(for question: MachineCheck.Question) -> [MachineCheck.Finding]
    /// Whether a user is in one of these groups. Also false if there is no such user; nil if it is
    /// not known.
    func isMember(_ name: String, of groups: [String]) -> Bool?
}

/// This machine. Each user and each group is looked up once.
public final class Machine: MachineQueries {
    private let look: Mutex<MachineCheck>

    /// What was found of the machine stays known as long as this value exists.
    public init(_ look: MachineCheck = MachineCheck()) { self.look = Mutex(look) }

    public func findings(for question: MachineCheck.Question) -> [MachineCheck.Finding] {
        look.withLock { $0.findings(for: question) }
    }

    public func isMember(_ name: String, of groups: [String]) -> Bool? {
        look.withLock { $0.isMember(name, of: groups) }
    }
}

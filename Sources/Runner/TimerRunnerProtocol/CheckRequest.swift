// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import TimerCore

/// A request to a runner to check the condition of a run. It starts nothing of the job: the
/// condition is that of the configuration which the runner has read itself.
package struct CheckRequest: Hashable, Sendable {
    package var run: Run.ID
    /// Distinguishes several checks for one run: an answer has the number of its request.
    package var number: UInt64
    /// The version of the definition that the condition is a part of.
    package var fingerprint: UInt64

    package init(run: Run.ID, number: UInt64, fingerprint: UInt64) {
        self.run = run
        self.number = number
        self.fingerprint = fingerprint
    }

    package init(_ run: Run, number: UInt64) {
        self.init(run: run.id, number: number, fingerprint: Definition(run.job).fingerprint)
    }
}

extension Run.ID {
    /// Whether it is no run of a job, but the command of a condition.
    package var isCheck: Bool { firing.job == .checks }
}

extension WireWriter {
    mutating func put(_ request: CheckRequest) {
        put(request.run)
        put(request.number)
        put(request.fingerprint)
    }

    mutating func put(_ answer: Condition.Answer) {
        switch answer {
        case .yes: put(UInt8(0))
        case .no(let what):
            put(UInt8(1))
            put(what)
        case .failed(let errno, let why):
            put(UInt8(2))
            put(errno)
            put(why)
        }
    }
}

extension WireReader {
    mutating func check() throws(Fault) -> CheckRequest {
        CheckRequest(run: try run(), number: try unsigned(), fingerprint: try unsigned())
    }

    mutating func answer() throws(Fault) -> Condition.Answer {
        switch try byte() {
        case 0: .yes
        case 1: .no(try string())
        case 2: .failed(errno: try string(), why: try string())
        default: throw Fault()
        }
    }
}

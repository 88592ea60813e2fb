// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore

extension Priorities.IO {
    /// The argument of ioprio_set(2): the class, above 13 bits for the level.
    var number: Int32 {
        switch self {
        case .standard: 0
        case .realtime(let level): 1 << 13 | Int32(clamping: level)
        case .bestEffort(let level): 2 << 13 | Int32(clamping: level)
        case .idle: 3 << 13
        }
    }
}

extension Priorities.CPU {
    /// The number of the policy for sched_setscheduler(2).
    var number: Int32 {
        switch self {
        case .other: SCHED_OTHER
        case .fifo: SCHED_FIFO
        case .rr: SCHED_RR
        // SCHED_BATCH and SCHED_IDLE, which Glibc declares with _GNU_SOURCE only.
        case .batch: 3
        case .idle: 5
        }
    }

    /// Its priority; 0 for a policy without priorities.
    var priority: Int32 {
        switch self {
        case .fifo(let priority), .rr(let priority): Int32(clamping: priority)
        case .other, .batch, .idle: 0
        }
    }
}

extension Priorities {
    /// What a step of a start sets, as the end of a sentence.
    func description(of step: cspawn_step) -> String {
        switch step {
        case CSPAWN_STEP_IO_PRIORITY: "set the I/O priority \(io)"
        case CSPAWN_STEP_CPU_POLICY: "set the CPU policy \(cpu)"
        default: "set the OOM score \(oomScore ?? 0)"
        }
    }
}

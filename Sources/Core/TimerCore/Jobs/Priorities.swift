// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The priorities of the processes of a job, in addition to their nice value.
public struct Priorities: Hashable, Sendable {
    /// For I/O (ioprio_set(2)).
    public var io = IO.standard
    /// For processors (sched(7)).
    public var cpu = CPU.other
    /// The OOM score adjustment, -1000 to 1000: a process with a higher one is killed earlier when
    /// memory runs out (proc(5)). Nil: 0, or the runner's if the privilege to lower it is missing.
    public var oomScore: Int?

    /// The defaults of the kernel.
    public init() {}

    /// A class and, in two of them, a level: 0 is the highest priority, 7 the lowest.
    public enum IO: Hashable, Sendable, CustomStringConvertible {
        /// By the nice value.
        case standard
        case realtime(Int)
        case bestEffort(Int)
        /// Only while no other process uses the disk.
        case idle

        /// The level of a class that names none.
        public static let levelDefault = 4

        public var description: String {
            switch self {
            case .standard: "none"
            case .realtime(let level): "realtime \(level)"
            case .bestEffort(let level): "best-effort \(level)"
            case .idle: "idle"
            }
        }
    }

    /// A scheduling policy. The two realtime policies have a priority: 1 is the lowest, 99 the
    /// highest.
    public enum CPU: Hashable, Sendable, CustomStringConvertible {
        case other
        case batch
        case idle
        case fifo(Int)
        case rr(Int)

        public var description: String {
            switch self {
            case .other: "other"
            case .batch: "batch"
            case .idle: "idle"
            case .fifo(let priority): "fifo \(priority)"
            case .rr(let priority): "rr \(priority)"
            }
        }
    }
}

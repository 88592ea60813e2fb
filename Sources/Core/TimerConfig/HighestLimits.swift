// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore

/// The resource limits that a runner can give to its runs (setrlimit(2)). A run of a job that declares a higher one
/// gets the highest possible.
public struct HighestLimits: Sendable {
    /// The highest limit of open files that the kernel allows any process, fs.nr_open; nil: not known.
    var openFiles: UInt64?
    /// The hard limits of a runner that may not raise them. Those that are missing are unlimited.
    var hard: [Execution.Limit: UInt64]

    /// No program can start with less memory, in bytes: the kernel needs some pages before its first instruction.
    private static let memoryMin: UInt64 = 16 << 10
    /// A program has three descriptors and needs one more to open its libraries.
    private static let openFilesMin: UInt64 = 4

    init(openFiles: UInt64?, hard: [Execution.Limit: UInt64]) {
        self.openFiles = openFiles
        self.hard = hard
    }

    /// Those on this machine.
    ///
    /// - Parameter ofOwnRunner: whether the runner has the limits and privileges of this process, and not those of a
    ///   service, which is root.
    public init(ofOwnRunner: Bool) {
        openFiles = OwnPrivileges.text(of: "/proc/sys/fs/nr_open").flatMap { UInt64($0) }
        hard = [:]
        guard ofOwnRunner, !OwnPrivileges.has("CAP_SYS_RESOURCE") else { return }
        for limit in Execution.Limit.allCases {
            var own = rlimit()
            guard getrlimit(limit.resource, &own) == 0, own.rlim_max != rlim_t.max else { continue }
            hard[limit] = UInt64(own.rlim_max)
        }
    }

    /// What will be different from what a job declares, and with which limits its runs will fail.
    ///
    /// - Parameter isRoot: whether its runs are executed as root, which no limit of processes applies to.
    func findings(
        for limits: [Execution.Limit: UInt64?], isRoot: Bool
    ) -> [MachineCheck.Finding] {
        limits.sorted { $0.key.rawValue < $1.key.rawValue }.compactMap { limit, value in
            if let value, let why = Self.fault(of: limit, value, isRoot: isRoot) {
                return MachineCheck.Finding(
                    code: .limitTooLow, key: "limits",
                    message: "\(limit.rawValue) = \(value): \(why)")
            }
            return lowered(limit, value)
        }
    }

    private static func fault(
        of limit: Execution.Limit, _ value: UInt64, isRoot: Bool
    ) -> String? {
        switch limit {
        case .as, .data, .stack:
            guard value < memoryMin else { return nil }
            return "no program can start with less than \(memoryMin >> 10) KiB; its runs will fail"
        case .nofile:
            guard value < openFilesMin else { return nil }
            return "a program needs \(openFilesMin), to open its libraries; its runs will fail"
        case .cpu:
            guard value == 0 else { return nil }
            return "the kernel kills a program that uses the processor; its runs will fail"
        case .nproc:
            guard value == 0, !isRoot else { return nil }
            return "its runs cannot start a process, and fail while their user has another one"
        case .core, .fsize, .memlock, .rss: return nil
        }
    }

    /// - Parameter value: nil if the job declares no limit.
    private func lowered(_ limit: Execution.Limit, _ value: UInt64?) -> MachineCheck.Finding? {
        let name = "\(limit.rawValue) = \(value.map { "\($0)" } ?? "\"infinity\"")"
        let wanted = value ?? .max
        if let own = hard[limit], own < min(wanted, kernelMax(of: limit)) {
            return MachineCheck.Finding(
                code: .limitLowered, key: "limits",
                message:
                    "\(name): its runs have \(own), the hard limit of the runner, which has no privilege "
                    + "to raise it; lower the value, or raise the limit where the runner is started"
            )
        }
        let most = kernelMax(of: limit)
        guard wanted > most else { return nil }
        return MachineCheck.Finding(
            code: value == nil ? .highestLimit : .limitLowered, key: "limits",
            message:
                "\(name): its runs have \(most), the highest that the kernel allows (sysctl fs.nr_open)"
        )
    }

    private func kernelMax(of limit: Execution.Limit) -> UInt64 {
        limit == .nofile ? openFiles ?? .max : .max
    }
}

extension Execution.Limit {
    /// The number of the resource for getrlimit(2).
    fileprivate var resource: __rlimit_resource_t {
        let number =
            switch self {
            case .as: RLIMIT_AS.rawValue
            case .core: RLIMIT_CORE.rawValue
            case .cpu: RLIMIT_CPU.rawValue
            case .data: RLIMIT_DATA.rawValue
            case .fsize: RLIMIT_FSIZE.rawValue
            case .memlock: __RLIMIT_MEMLOCK.rawValue
            case .nofile: RLIMIT_NOFILE.rawValue
            case .nproc: __RLIMIT_NPROC.rawValue
            case .rss: __RLIMIT_RSS.rawValue
            case .stack: RLIMIT_STACK.rawValue
            }
        return __rlimit_resource_t(number)
    }
}

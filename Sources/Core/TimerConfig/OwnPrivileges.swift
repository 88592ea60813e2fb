// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore

/// Which priorities a process that is not root may give to the processes it starts.
public struct OwnPrivileges: Sendable {
    /// The lowest nice value (setrlimit(2), RLIMIT_NICE, and what it has).
    var lowestNice: Int
    /// The highest realtime priority (RLIMIT_RTPRIO); 0: none.
    var highestRealtime: Int
    /// Whether it may use the realtime class of I/O.
    var hasRealtimeIO: Bool
    /// Whether it may set an OOM score adjustment below 0.
    var hasLowOOMScore: Bool

    init(lowestNice: Int, highestRealtime: Int, hasRealtimeIO: Bool, hasLowOOMScore: Bool) {
        self.lowestNice = lowestNice
        self.highestRealtime = highestRealtime
        self.hasRealtimeIO = hasRealtimeIO
        self.hasLowOOMScore = hasLowOOMScore
    }

    /// Those of this process and of the runner that it starts; nil for root, which may do all of
    /// this unless a container forbids it.
    public init?() {
        guard geteuid() != 0 else { return nil }
        let has = Self.has
        let mayRaise = has("CAP_SYS_NICE")
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(__RLIMIT_NICE.rawValue), &limit)
        // The limit is 20 - n for the nice value n.
        let limited = 20 - Int(min(limit.rlim_cur, 40))
        let current = Int(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0))
        lowestNice = mayRaise ? -20 : min(limited, current)
        getrlimit(__rlimit_resource_t(__RLIMIT_RTPRIO.rawValue), &limit)
        highestRealtime = mayRaise ? 99 : Int(min(limit.rlim_cur, 99))
        hasRealtimeIO = mayRaise || has("CAP_SYS_ADMIN")
        let score = Self.text(of: "/proc/self/oom_score_adj").flatMap { Int($0) } ?? 0
        hasLowOOMScore = has("CAP_SYS_RESOURCE") || score < 0
    }

    /// The keys whose values need a privilege that is missing, each with a sentence.
    func missing(nice: Int, _ priorities: Priorities) -> [(key: String, message: String)] {
        var found: [(key: String, message: String)] = []
        if nice < min(lowestNice, 0) {
            found.append(
                ("nice", "\(nice) needs a privilege that your own runner does not have"))
        }
        if case .realtime = priorities.io, !hasRealtimeIO {
            found.append(
                ("io-class", "\"realtime\" needs a privilege that your own runner does not have"))
        }
        switch priorities.cpu {
        case .fifo(let priority), .rr(let priority):
            guard priority > highestRealtime else { break }
            found.append(
                (
                    "cpu-policy",
                    "\(priorities.cpu) needs a privilege that your own runner does not have, or a higher limit "
                        + "RLIMIT_RTPRIO, which is \(highestRealtime)"
                ))
        case .other, .batch, .idle: break
        }
        if let score = priorities.oomScore, score < 0, !hasLowOOMScore {
            found.append(
                ("oom-score", "\(score) needs a privilege that your own runner does not have"))
        }
        return found
    }

    /// Whether the capability with this name is effective in this process.
    static func has(_ capability: String) -> Bool {
        var set = CapabilitySet()
        return set.insert(capability) && capabilities & set.bits != 0
    }

    /// The effective capabilities of this process, as a mask.
    private static var capabilities: UInt64 {
        let lines = text(of: "/proc/self/status")?.split(separator: "\n") ?? []
        let line = lines.first { $0.hasPrefix("CapEff:\t") }
        return line.flatMap { UInt64($0.dropFirst("CapEff:\t".count), radix: 16) } ?? 0
    }

    /// A short file of /proc, without the end of its last line.
    static func text(of path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        let count = fread(&bytes, 1, bytes.count, file)
        let end = bytes[..<count].last == UInt8(ascii: "\n") ? count - 1 : count
        return String(validating: bytes[..<end], as: UTF8.self)
    }
}

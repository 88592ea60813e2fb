// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc

/// How many runs can be active at once, because each takes descriptors of this process.
enum RunPlaces {
    /// Two pipes, and a handle of the process.
    private static let descriptorsPerRun = 3
    /// For what is open only for a while: the scheduler's connection, files that are being read, messages that are
    /// being sent, commands of conditions, and starts in progress.
    private static let reserve = 80

    /// The soft limit of open files (setrlimit(2), RLIMIT_NOFILE).
    static var openFiles: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 1024
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// The places as of now; to be asked before any run is active.
    static func max() -> Int {
        // The limit is raised first, and what a start reserves is opened.
        _ = RunnerThread.openFilesBefore
        cspawn_prepare()
        return max(limit: openFiles, open: openNow())
    }

    /// - Parameter open: the descriptors that are open all the time. At least one run can be active: if even that is
    ///   not possible, it fails and says why.
    static func max(limit: Int, open: Int) -> Int {
        Swift.max(1, (limit - open - reserve) / descriptorsPerRun)
    }

    private static func openNow() -> Int {
        guard let listing = opendir("/proc/self/fd") else { return 128 }
        defer { closedir(listing) }
        var count = 0
        while readdir(listing) != nil { count += 1 }
        // Without `.`, `..` and the descriptor of the listing.
        return count - 3
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import HostThreads
import Synchronization

/// Sets up the runner's own process: it detaches from the process that starts it, and protects and
/// limits its memory.
public enum RunnerProcess {
    /// The most bytes of data memory that a runner's own process may have: several times what its
    /// limits allow a scheduler to use, and far less than a machine has (setrlimit(2),
    /// RLIMIT_DATA).
    static let dataBytesMax: UInt64 = 2 << 30

    private static let dataLimitBefore = Mutex<UInt64?>(nil)

    /// The soft limit for jobs, which replaces the runner's own; nil if it is the same.
    static var dataLimitOfJobs: UInt64? { dataLimitBefore.withLock(\.self) }

    /// Limits the memory of this process, but not that of its jobs. If it ever needs more, it ends
    /// and is restarted, and its jobs continue. An existing lower limit is kept.
    public static func limitMemory() {
        let resource = __rlimit_resource_t(RLIMIT_DATA.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, UInt64(limit.rlim_cur) > dataBytesMax else {
            return
        }
        let before = UInt64(limit.rlim_cur)
        limit.rlim_cur = rlim_t(dataBytesMax)
        guard setrlimit(resource, &limit) == 0 else { return }
        dataLimitBefore.withLock { $0 = before }
    }

    /// Keeps this process's memory, which contains the environments of all jobs, out of core dumps
    /// and unreadable for everyone except root. This is only for the runner of root: the runner of
    /// a user has no secrets from that user, and without this it can read more of /proc.
    public static func hideMemory() { if geteuid() == 0 { cspawn_hide_memory() } }

    /// Sets the name of this process that ps(1), top(1) and pgrep(1) show. A process restarted by
    /// `detach` has the name of the /proc link through which it was executed. Call it on the first
    /// thread.
    ///
    /// - Parameter name: at most 15 bytes.
    public static func showName(_ name: String) { WorkerThread.showName(name) }

    /// Reports to the waiting parent that a detached process is ready.
    public struct Readiness: Sendable {
        fileprivate let descriptor: Int32

        /// - Parameter descriptor: the number that `detach` passed in the arguments.
        /// - Throws: if it is not open, or not a pipe.
        public init(descriptor: Int32) throws(Runner.Failure) {
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFIFO,
                fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
            else { throw Runner.Failure("descriptor \(descriptor) is not a pipe", EBADF) }
            self.descriptor = descriptor
        }

        /// Lets the process that started this one exit with 0.
        public func notifyParent() { cspawn_notify_parent(descriptor) }
    }

    /// Executes this program again with these arguments, in a new session and without any
    /// descriptor above 2, because an inherited pipe would never reach its end for its reader. It
    /// waits until that process is ready and exits with 0, or exits with its status if it ends
    /// before.
    ///
    /// - Parameter arguments: all arguments except the option that led here. `--ready-descriptor
    ///   N`, for `Readiness`, is added.
    /// - Throws: `Runner.Failure` if that is not possible; otherwise it does not return.
    public static func detach(_ arguments: [String]) throws(Runner.Failure) -> Never {
        let all = arguments + ["--ready-descriptor", "\(CSPAWN_READY_DESCRIPTOR)"]
        let strings = all.map { strdup($0) } + [nil]
        _ = cspawn_detach(strings)
        throw Runner.Failure("cannot fork", errno)
    }
}

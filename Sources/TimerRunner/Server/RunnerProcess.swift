// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import HostThreads
import Synchronization

/// What a runner does with its own process: it outlives the process that starts it, and keeps its memory to itself.
public enum RunnerProcess {
    /// The most bytes of memory for data that a runner's own process may have: several times what its limits let a
    /// scheduler ask for, and far less than a machine has (setrlimit(2), RLIMIT_DATA).
    static let dataBytesMax: UInt64 = 2 << 30

    private static let dataLimitBefore = Mutex<UInt64?>(nil)

    /// The soft limit that jobs have in place of the runner's own; nil if that is the same.
    static var dataLimitOfJobs: UInt64? { dataLimitBefore.withLock(\.self) }

    /// Limits the memory of this process, and not that of its jobs: should it ever need more, it ends and is started
    /// again, and its jobs go on. A lower limit stays.
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

    /// Keeps this process's memory, with the environments of all jobs in it, out of cores and away from everybody but
    /// root. For root's runner: one of a user keeps nothing from that user, and reads more of /proc without.
    public static func hideMemory() { if geteuid() == 0 { cspawn_hide_memory() } }

    /// Gives this process the name that ps(1), top(1) and pgrep(1) show: one that was started anew by `detach` has that of
    /// the link in /proc by which it was. To be called on the first thread.
    ///
    /// - Parameter name: at most 15 bytes.
    public static func showName(_ name: String) { WorkerThread.showName(name) }

    /// How to say that a process which went on apart is ready.
    public struct Readiness: Sendable {
        fileprivate let descriptor: Int32

        /// - Parameter descriptor: that which `detach` named among the arguments.
        /// - Throws: if it is not open, or not a pipe.
        public init(descriptor: Int32) throws(Runner.Failure) {
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFIFO,
                fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
            else { throw Runner.Failure("descriptor \(descriptor) is not a pipe", EBADF) }
            self.descriptor = descriptor
        }

        /// Lets the process that waits return.
        public func tell() { cspawn_tell_parent(descriptor) }
    }

    /// Starts this program anew with these arguments, in a session of its own and without any descriptor beyond 2, which
    /// would keep others waiting for their end; then waits until it is ready, and exits with 0, or with its status if
    /// it ends before.
    ///
    /// - Parameter arguments: all of them but the option that led here. `--ready-descriptor N`, for `Readiness`, is
    ///   added.
    /// - Throws: `Runner.Failure` if that is not possible; it does not return otherwise.
    public static func detach(_ arguments: [String]) throws(Runner.Failure) -> Never {
        let all = arguments + ["--ready-descriptor", "\(CSPAWN_READY_DESCRIPTOR)"]
        let strings = all.map { strdup($0) } + [nil]
        _ = cspawn_detach(strings)
        throw Runner.Failure("cannot fork", errno)
    }
}

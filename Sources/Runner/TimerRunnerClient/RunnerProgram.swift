// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostThreads
import Synchronization
import TimerRunnerProtocol

/// Starts the program of the runner, for a scheduler with its own runner.
public enum RunnerProgram {
    /// Held while there is a child that is waited for by its number.
    private static let starting = Mutex(())

    /// Takes the ends of all children that have ended, but for the one that `start` waits for. For the first process of
    /// a container, which gets every process whose parent has ended (pid_namespaces(7)).
    public static func reapOthers() {
        starting.withLock { _ in
            while waitpid(-1, nil, WNOHANG) > 0 {}
        }
    }

    /// Starts a program with these arguments that exits at once, as `timerd-runner --detach` does,
    /// and waits for it. Its standard input is /dev/null, and it has this process's standard output
    /// and error.
    ///
    /// - Throws: `RunnerClient.Failure` if it cannot be started or does not exit with 0.
    public static func start(
        _ path: String, _ arguments: [String]
    ) throws(RunnerClient.Failure) {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        // This process ignores some signals, and its threads block some. The program must inherit
        // neither, except that the signals which a runner handles are blocked even before its first
        // step.
        var blocked = SignalSet.of(RunnerSocket.signals)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &blocked)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var strings = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for string in strings { free(string) } }
        let (code, status) = starting.withLock { _ in
            var pid: pid_t = 0
            var status: Int32 = 0
            let code = posix_spawn(&pid, path, &actions, &attributes, &strings, environ)
            if code == 0 { while waitpid(pid, &status, 0) < 0, errno == EINTR {} }
            return (code, status)
        }
        guard code == 0 else {
            throw .init("\(path) cannot be started: \(String(cString: strerror(code)))")
        }
        guard status == 0 else { throw .init("\(path) failed to start; see its stderr") }
    }
}

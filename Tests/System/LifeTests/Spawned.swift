// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A child process without blocked signals, like one that a shell or a service manager starts.
/// (Foundation's Process inherits the blocked signals of the calling thread.)
final class Spawned {
    let pid: pid_t
    /// When it was started, in seconds of CLOCK_MONOTONIC.
    let startedAt: Double
    private(set) var status: Int32?

    /// - Parameter log: the file to which its standard error is appended.
    init(_ arguments: [String], _ variables: [String: String] = [:], log: String) throws {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        let flags = O_WRONLY | O_CREAT | O_APPEND
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log, flags, 0o600)
        // Processes that it leaves behind must not keep the output of the tests open.
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        // They must not keep pipes open either that other tests read to their end.
        for descriptor in 3..<Int32(min(4096, sysconf(Int32(_SC_OPEN_MAX)))) {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let environment = ["PATH": "/usr/bin:/bin"].merging(variables) { $1 }
        var argv = arguments.map { strdup($0) } + [nil]
        var envp = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for string in argv + envp { free(string) } }
        var pid: pid_t = 0
        startedAt = LiveDaemon.now()
        let code = posix_spawn(&pid, arguments[0], &actions, &attributes, &argv, &envp)
        guard code == 0 else { throw Failure(path: arguments[0], code: code) }
        self.pid = pid
    }

    struct Failure: Error {
        var path: String
        var code: Int32
    }

    deinit {
        guard status == nil else { return }
        signal(SIGKILL)
        wait()
    }

    func signal(_ number: Int32) { if status == nil { kill(pid, number) } }

    /// Sends a signal to the processes that this one started, such as one that strace traces.
    func signalChildren(_ number: Int32) {
        guard status == nil,
            let text = try? String(
                contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
        else { return }
        for child in text.split(separator: " ") { pid_t(child).map { _ = kill($0, number) } }
    }

    /// Its status as waitpid(2) tells it.
    @discardableResult
    func wait() -> Int32 {
        var status: Int32 = 0
        while self.status == nil {
            if waitpid(pid, &status, 0) == pid {
                self.status = status
            } else if errno != EINTR {
                break
            }
        }
        return self.status ?? -1
    }

    /// Whether it has ended by now.
    var isOver: Bool {
        var status: Int32 = 0
        if self.status == nil, waitpid(pid, &status, WNOHANG) == pid { self.status = status }
        return self.status != nil
    }

    /// Kills it and returns an instant from which on it cannot have counted.
    func end() -> Double {
        signal(SIGKILL)
        wait()
        return LiveDaemon.now()
    }
}

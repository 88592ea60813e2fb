// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import Testing

@testable import TimerRunner

/// One process of a run, without a runner. Each test has a process of its own, in which no runner
/// reaps its child.
@Suite struct ChildProcessTests {
    /// Starts a program as the leader of a process group.
    private static func spawn(_ arguments: [String]) -> Int32 {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        var pointers = arguments.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var pid: Int32 = -1
        return posix_spawn(&pid, arguments[0], nil, &attributes, &pointers, nil) == 0 ? pid : -1
    }

    private static func waitForEnd(_ pidfd: Int32) {
        var ending = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        _ = poll(&ending, 1, -1)
    }

    @Test func aProcessIsReapedOnce_withItsExitStatus() async {
        await #expect(processExitsWith: .success) {
            let pid = ChildProcessTests.spawn(["/bin/cat", "/nowhere"])
            let pidfd = cspawn_open_process(pid)
            var process = ChildProcess(pid: pid, pidfd: pidfd, isOwn: true)
            ChildProcessTests.waitForEnd(pidfd)
            #expect(process.hasEnded && process.reaped == nil)
            let isReaped = process.reap()
            #expect(isReaped && process.hasEnded)
            let reaped = try #require(process.reaped)
            #expect(reaped.isKnown && reaped.end.code == CLD_EXITED && reaped.end.status == 1)
            let isReapedAgain = process.reap()
            // Its group is empty.
            let isThere = process.signalGroup(0, isSetUp: true)
            #expect(!isReapedAgain && !isThere && process.noteTracer() == nil)
            process.close()
        }
    }

    @Test func theGroupIsFoundWithoutAPidfd() async {
        await #expect(processExitsWith: .success) {
            let pid = ChildProcessTests.spawn(["/bin/sleep", "300"])
            var process = ChildProcess(pid: pid, pidfd: nil, isOwn: true)
            let isReaped = process.reap()
            #expect(!isReaped && !process.hasEnded)
            let isThere = process.signalGroup(SIGKILL, isSetUp: true)
            #expect(isThere)
            var status = siginfo_t()
            waitid(P_PID, id_t(pid), &status, WEXITED | WNOWAIT)
            let isReapedNow = process.reap()
            #expect(isReapedNow && process.reaped?.end.status == SIGKILL)
            process.close()
        }
    }

    /// The exit status goes to the parent, which is another process then.
    @Test func theExitStatusOfAnotherRunnersProcessIsUnknown() async {
        await #expect(processExitsWith: .success) {
            let pid = ChildProcessTests.spawn(["/bin/true"])
            let pidfd = cspawn_open_process(pid)
            var process = ChildProcess(pid: pid, pidfd: pidfd, isOwn: false)
            ChildProcessTests.waitForEnd(pidfd)
            let isReaped = process.reap()
            #expect(isReaped && process.reaped?.isKnown == false)
            process.close()
        }
    }

    @Test func theProgramOfASessionIsKilledOnce() async {
        await #expect(processExitsWith: .success) {
            let pid = ChildProcessTests.spawn(["/bin/sleep", "300"])
            var program = SessionProgram()
            let wasThere = program.kill()
            program.take(cspawn_open_process(pid))
            #expect(!wasThere && !program.wasKilled)
            let isKilled = program.kill()
            let isKilledAgain = program.kill()
            #expect(isKilled && !isKilledAgain && program.wasKilled)
            var status: Int32 = 0
            #expect(waitpid(pid, &status, 0) == pid && status & 0x7F == SIGKILL)
        }
    }
}

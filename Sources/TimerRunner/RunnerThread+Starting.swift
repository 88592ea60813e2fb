// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore

extension RunnerThread {
    /// Begins some of what waits.
    /// - Complexity: O(`startsPerTurn`).
    mutating func startSome() {
        for _ in 0..<Self.startsPerTurn {
            guard let request = waiting.popFirst() else { return }
            start(request)
        }
    }

    private mutating func start(_ request: RunRequest) {
        let signals = early.isEmpty ? nil : early.removeValue(forKey: request.id)
        do throws(Spawner.Failure) {
            try marks.make(for: request.id)
            let child = try spawn(request)
            handler(.began(request.id, pid: child.pid))
            for number in signals ?? [] { kill(child, number) }
        } catch {
            handler(.ended(request.id, error.outcome, RunUsage(), tail: []))
        }
    }

    /// The pipes of a run; both ends of each are open.
    private struct Pipes {
        var output = Pipe()
        var error = Pipe()

        struct Pipe {
            var reading: Int32 = -1
            var writing: Int32 = -1
        }

        init() throws(Spawner.Failure) {
            guard cspawn_pipe(&output.reading, &output.writing) == 0 else {
                throw Spawner.failure(errno, "make a pipe")
            }
            guard cspawn_pipe(&error.reading, &error.writing) == 0 else {
                let code = errno
                close(output.reading)
                close(output.writing)
                throw Spawner.failure(code, "make a pipe")
            }
        }
    }

    /// Starts the process with its pipes and has them all watched; or leaves nothing behind.
    private mutating func spawn(_ request: RunRequest) throws(Spawner.Failure) -> Child {
        let began = Self.awake()
        let pipes = try Pipes()
        defer {
            close(pipes.output.writing)
            close(pipes.error.writing)
        }
        serial += 1
        let process: Spawner.Process
        do throws(Spawner.Failure) {
            guard Self.watch(pipes.output.reading, token: serial << 2 | 1, in: epoll),
                Self.watch(pipes.error.reading, token: serial << 2 | 2, in: epoll)
            else { throw Spawner.failure(errno, "watch a pipe") }
            process = try spawner.spawn(
                request, output: pipes.output.writing, error: pipes.error.writing)
            try watch(process)
        } catch {
            closeWatched(pipes.output.reading)
            closeWatched(pipes.error.reading)
            throw error
        }
        let child = Child(
            id: request.id, pid: process.pid, pidfd: process.pidfd, began: began,
            streams: [pipes.output.reading, pipes.error.reading].map {
                Child.Stream(descriptor: $0)
            })
        children[serial] = child
        serials[request.id] = serial
        return child
    }

    /// A process whose end could not be known is none to have: it is killed before anybody is told of it.
    private func watch(_ process: Spawner.Process) throws(Spawner.Failure) {
        guard !Self.watch(process.pidfd, token: serial << 2, in: epoll) else { return }
        let code = errno
        Glibc.kill(-process.pid, SIGKILL)
        var ending = pollfd(fd: process.pidfd, events: Int16(POLLIN), revents: 0)
        _ = poll(&ending, 1, Int32(clamping: Runner.killPatience.wholeNanoseconds / 1_000_000))
        var end = cspawn_end()
        _ = cspawn_reap(process.pidfd, &end)
        close(process.pidfd)
        throw Spawner.failure(code, "watch the process")
    }
}

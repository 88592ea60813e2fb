// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc

/// The pipes for the output of a run; both ends of each are open.
struct ChildPipes {
    struct Pipe {
        fileprivate(set) var reading: Int32 = -1
        fileprivate(set) var writing: Int32 = -1
    }

    let output: Pipe
    let error: Pipe

    init() throws(Spawner.Failure) {
        var (output, error) = (Pipe(), Pipe())
        guard cspawn_pipe(&output.reading, &output.writing) == 0 else {
            throw Spawner.failure(errno, "make a pipe")
        }
        guard cspawn_pipe(&error.reading, &error.writing) == 0 else {
            let code = errno
            close(output.reading)
            close(output.writing)
            throw Spawner.failure(code, "make a pipe")
        }
        self.output = output
        self.error = error
    }

    /// Makes the user of the run the owner of the pipes, because a program that opens /dev/stderr
    /// opens the pipe again and needs permission for it.
    func give(to account: Account) {
        guard let identity = account.identity else { return }
        for pipe in [output, error] { fchown(pipe.writing, identity.user, identity.group) }
    }

    func closeWriting() {
        close(output.writing)
        close(error.writing)
    }

    func closeReading() {
        close(output.reading)
        close(error.reading)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A detached thread that takes no signal: those of the process are for the threads that expect them. Only
/// what the thread itself would cause stays open.
package enum WorkerThread {
    private final class Body {
        let name: String
        let run: () -> Void

        init(name: String, run: @escaping () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// Gives the calling thread the name that debuggers and ps(1) show; on the first thread it is the process's.
    ///
    /// - Parameter name: at most 15 bytes.
    package static func showName(_ name: String) { clinux_name_thread(name) }

    /// Runs the body on a thread of this name, of at most 15 bytes.
    /// - Returns: 0, or the errno if there can be none.
    package static func start(_ name: String, _ run: sending @escaping () -> Void) -> Int32 {
        let body = Unmanaged.passRetained(Body(name: name, run: run))
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS] {
            sigdelset(&blocked, fault)
        }
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var id = pthread_t()
        let code = pthread_create(
            &id, nil,
            { body in
                guard let body else { return nil }
                let taken = Unmanaged<Body>.fromOpaque(body).takeRetainedValue()
                clinux_name_thread(taken.name)
                taken.run()
                return nil
            }, body.toOpaque())
        if code == 0 { pthread_detach(id) } else { body.release() }
        return code
    }
}

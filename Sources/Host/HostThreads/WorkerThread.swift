// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A thread that blocks all signals, because the signals of the process are for the
/// threads that handle them. Only signals that the thread itself would cause are not blocked.
package enum WorkerThread {
    private final class Body {
        let name: String
        let run: () -> Void

        init(name: String, run: @escaping () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// Sets the name of the calling thread that debuggers and ps(1) show; on the first thread it is
    /// the name of the process.
    ///
    /// - Parameter name: at most 15 bytes.
    package static func showName(_ name: String) { clinux_name_thread(name) }

    /// Runs the body on a new thread with this name, of at most 15 bytes.
    /// - Returns: 0, or the errno if no thread can be created.
    package static func start(_ name: String, _ run: sending @escaping () -> Void) -> Int32 {
        var id = pthread_t()
        let code = create(name, run, &id)
        if code == 0 { pthread_detach(id) }
        return code
    }

    /// The same with a thread that must be joined.
    static func create(
        _ name: String, _ run: sending @escaping () -> Void, _ id: inout pthread_t
    ) -> Int32 {
        let body = Unmanaged.passRetained(Body(name: name, run: run))
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS] {
            sigdelset(&blocked, fault)
        }
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let code = pthread_create(
            &id, nil,
            { body in
                guard let body else { return nil }
                let taken = Unmanaged<Body>.fromOpaque(body).takeRetainedValue()
                clinux_name_thread(taken.name)
                taken.run()
                return nil
            }, body.toOpaque())
        if code != 0 { body.release() }
        return code
    }
}

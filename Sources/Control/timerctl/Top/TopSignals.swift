// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The signals that concern a terminal, as a descriptor to wait for. Their default actions are off
/// meanwhile.
struct TopSignals {
    /// Becomes readable when a signal comes.
    let descriptor: Int32
    private let before: sigset_t

    /// Nil if it could not be created; errno says why.
    init?() {
        var signals = sigset_t()
        var before = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH] {
            sigaddset(&signals, number)
        }
        guard pthread_sigmask(SIG_BLOCK, &signals, &before) == 0 else { return nil }
        descriptor = clinux_signal_descriptor(&signals)
        self.before = before
        guard descriptor >= 0 else { return nil }
    }

    func next() -> Int32? {
        let number = clinux_signal_take(descriptor)
        return number == 0 ? nil : number
    }

    /// Stops this process as SIGTSTP does by default, and returns when it is continued.
    func stop() { unblocked(SIGTSTP) { _ = raise(SIGTSTP) } }

    /// Ends this process as the signal does by default.
    func end(with number: Int32) {
        signal(number, SIG_DFL)
        unblocked(number) { _ = raise(number) }
    }

    private func unblocked(_ number: Int32, _ body: () -> Void) {
        var only = sigset_t()
        sigemptyset(&only)
        sigaddset(&only, number)
        pthread_sigmask(SIG_UNBLOCK, &only, nil)
        body()
        pthread_sigmask(SIG_BLOCK, &only, nil)
    }
}

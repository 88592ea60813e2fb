// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Ctrl-C while something is waited for that goes on without this program.
enum Interruption {
    /// The status of a program that SIGINT ended, as shells have it.
    static let status: Int32 = 130

    private final class Sentence: Sendable {
        let text: String

        init(_ text: String) { self.text = text }
    }

    /// From here on, Ctrl-C ends this program with this sentence on standard error. Called once, before there is any
    /// other thread: a thread of its own takes the signal, which may write what a signal handler must not.
    static func explain(_ sentence: String) {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let passed = Unmanaged.passRetained(Sentence(sentence)).toOpaque()
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let sentence = Unmanaged<Sentence>.fromOpaque(argument).takeRetainedValue()
                var signals = sigset_t()
                sigemptyset(&signals)
                sigaddset(&signals, SIGINT)
                var number: Int32 = 0
                while sigwait(&signals, &number) != 0 {}
                Terminal.complain("timerctl: \(sentence.text)")
                _exit(Interruption.status)
            }, passed)
        guard result != 0 else { return }
        // Without a thread, Ctrl-C does what it always does.
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Handles Ctrl-C while this program waits for something that continues without it.
enum Interruption {
    /// The exit status that shells use for a program that SIGINT ended.
    static let status: Int32 = 130

    private final class Sentence: Sendable {
        let text: String

        init(_ text: String) { self.text = text }
    }

    /// From here on, Ctrl-C ends this program with this sentence on standard error. Called once,
    /// before there is any other thread. A new thread receives the signal, because a signal handler
    /// must not do what is needed here.
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
        // Without the thread, Ctrl-C has its usual effect.
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }
}

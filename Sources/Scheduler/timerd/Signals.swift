// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Dispatch
import Glibc
import HostFiles

/// The signals that control the daemon: SIGTERM and SIGINT stop it, SIGHUP reloads the
/// configuration. SIGPIPE is ignored: a write to a peer that is gone returns an error, and must not
/// end the daemon.
///
/// They are blocked from the first instruction of the program on and wait until they are read here.
/// A signal that comes during the start is therefore not lost, and does not end the daemon.
final class Signals {
    /// A signal asked the daemon to stop during its start.
    struct StopRequest: Error {
        /// The name, such as `SIGTERM`, for the log.
        var signal: String
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static let all = [SIGTERM, SIGINT, SIGHUP]

    private let descriptor: Int32
    private var source: (any DispatchSourceRead)?
    /// Whether SIGHUP came before there was a configuration to reload.
    private var isReloadDue = false
    private var stopRequest: StopRequest?

    /// Blocks the signals in the calling thread and in all threads that it creates. Must be called
    /// before there are other threads, and before anything that a signal must not interrupt.
    static func block() { change(SIG_BLOCK) }

    /// Restores the default actions of the signals, for a command that may be ended at any time.
    static func unblock() { change(SIG_UNBLOCK) }

    private static func change(_ how: Int32) {
        var signals = set
        pthread_sigmask(how, &signals, nil)
    }

    private static var set: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in all { sigaddset(&signals, number) }
        return signals
    }

    /// Starts to read the signals. Those that came since `block` are still pending.
    init() throws(Failure) {
        signal(SIGPIPE, SIG_IGN)
        var signals = Self.set
        descriptor = clinux_signal_descriptor(&signals)
        guard descriptor >= 0 else {
            throw Failure(description: "cannot read signals: \(systemError())")
        }
    }

    /// Throws if the daemon was asked to stop. Called between the steps of a start.
    func check() throws(StopRequest) {
        while stopRequest == nil {
            switch clinux_signal_take(descriptor) {
            case 0: return
            case SIGHUP: isReloadDue = true
            case let number: stopRequest = StopRequest(signal: Self.name(of: number))
            }
        }
        if let stopRequest { throw stopRequest }
    }

    /// Whether a signal has asked the daemon to stop, during its start.
    var isStopRequested: Bool {
        do throws(StopRequest) { try check() } catch { return true }
        return false
    }

    /// Passes on the signals from now on, including those that came during the start.
    func pass(
        on queue: DispatchQueue, stop: @escaping @Sendable (String) -> Void,
        reload: @escaping @Sendable () -> Void
    ) {
        let descriptor = descriptor
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { @Sendable in
            while true {
                switch clinux_signal_take(descriptor) {
                case 0: return
                case SIGHUP: reload()
                case let number: stop(Self.name(of: number))
                }
            }
        }
        if let stopRequest { stop(stopRequest.signal) }
        if isReloadDue { reload() }
        source.activate()
        self.source = source
    }

    private static func name(of number: Int32) -> String {
        number == SIGTERM ? "SIGTERM" : "SIGINT"
    }
}

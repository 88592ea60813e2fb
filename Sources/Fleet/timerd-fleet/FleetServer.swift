// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import EtcdClient
import Glibc
import HostThreads
import Synchronization
import TimerFleetLink
import TimerRunnerProtocol

/// The main thread: it accepts the scheduler, passes its requests to the threads with the connections
/// to etcd, and their reports to it. It never waits for etcd or for a scheduler.
struct FleetServer {
    /// What the server needs from the program.
    struct Settings {
        /// A listening unix socket, which does not block.
        var socket: Int32
        /// The users that may connect, beside root.
        var users: Set<UInt32>
        /// Reads the configuration, at the start and at each reload.
        var read: () -> FleetSource
        /// Logs a message with a priority of syslog(3).
        var log: (String, Int) -> Void
        var notify: (FleetServer.State) -> Void
    }

    /// What is reported to the service manager.
    enum State {
        case ready(String)
        case reloading
        case status(String)
        case stopping
    }

    /// What the thread for signals requests.
    final class Requests: Sendable {
        struct State {
            var mustEnd = false
            var mustReload = false
        }

        let state = Mutex(State())
        let wake: Int32

        /// - Throws: `StartFailure` if there is no free descriptor.
        init() throws(StartFailure) {
            wake = EventFD.make()
            guard wake >= 0 else { throw StartFailure("cannot make an eventfd", errno) }
        }
    }

    /// The connections that have not yet said who they are. The scheduler is one of them at most.
    static let strangersMax = 4
    /// How long they may take for that, in nanoseconds.
    static let greetingMax: Int64 = 5_000_000_000

    let settings: Settings
    let requests: Requests
    let reports: ReportQueue
    /// Nil while the configuration cannot be used.
    var etcd: EtcdThreads?
    var source: FleetSource
    /// Why the configuration cannot be used, for a scheduler.
    var problem: String?
    var scheduler: SchedulerConnection?
    var strangers: [SchedulerConnection] = []
    var connections: UInt64 = 0
    /// When the next of the delayed reports is due.
    var nextReport: Int64?
    var logged = LoggedProblem()

    /// Reads the configuration and starts the threads.
    ///
    /// - Throws: `StartFailure`.
    init(_ settings: Settings, _ requests: Requests) throws(StartFailure) {
        self.settings = settings
        self.requests = requests
        reports = ReportQueue(wake: requests.wake)
        source = settings.read()
        try use(source)
    }

    /// Serves until the end is requested.
    mutating func run() {
        settings.notify(.ready(summary))
        while true {
            let (mustEnd, mustReload) = takeRequests()
            if mustEnd { break }
            if mustReload { reload() }
            send()
            wait()
        }
        settings.notify(.stopping)
        etcd?.close()
        scheduler = nil
        strangers = []
    }

    private func takeRequests() -> (Bool, Bool) {
        EventFD.drain(requests.wake)
        return requests.state.withLock { state in
            defer { state.mustReload = false }
            return (state.mustEnd, state.mustReload)
        }
    }

    // MARK: - The configuration

    private mutating func use(_ source: FleetSource) throws(StartFailure) {
        self.source = source
        switch source {
        case .etcd(let options, let lease):
            problem = nil
            etcd = try EtcdThreads(options, lease: lease, reports: reports)
        case .invalid(let why):
            problem = why
            etcd = nil
            settings.log(why, 3)
        }
    }

    /// Reads the configuration again. A mistake in it changes nothing, unless nothing could be used
    /// before.
    private mutating func reload() {
        settings.notify(.reloading)
        defer { settings.notify(.ready(summary)) }
        let new = settings.read()
        guard new != source else { return }
        if case .invalid(let why) = new, etcd != nil {
            return settings.log("\(why); the connection to etcd stays as it is", 3)
        }
        // The scheduler connects again, and requests again what it needs.
        dropScheduler()
        etcd?.close()
        do throws(StartFailure) {
            try use(new)
        } catch {
            etcd = nil
            problem = "timerd-fleet \(error); run: systemctl restart timerd-fleet"
            settings.log("\(error)", 3)
        }
    }

    /// One line for the service manager.
    var summary: String {
        if let problem { return problem }
        guard let status = etcd?.status.current else { return "Starting" }
        if let problem = status.problem { return problem }
        guard scheduler != nil else { return "Waiting for timerd" }
        guard let endpoint = status.endpoint else { return "Serving timerd" }
        return "Serving timerd; etcd \(status.version ?? "") answers at \(endpoint)"
    }

    // MARK: - Waiting

    private mutating func wait() {
        var wanted = [
            pollfd(fd: requests.wake, events: Int16(POLLIN), revents: 0),
            pollfd(fd: settings.socket, events: Int16(POLLIN), revents: 0),
        ]
        let served = [scheduler].compactMap { $0 } + strangers
        for connection in served {
            let events = connection.socket.backlog > 0 ? POLLIN | POLLOUT : POLLIN
            wanted.append(
                pollfd(fd: connection.socket.descriptor, events: Int16(events), revents: 0))
        }
        guard poll(&wanted, nfds_t(wanted.count), timeout) > 0 else { return handleTime() }
        for (connection, found) in zip(served, wanted[2...]) where found.revents != 0 {
            receive(from: connection)
        }
        if wanted[1].revents != 0 { accept() }
        handleTime()
    }

    private var timeout: Int32 {
        let greetings = strangers.map { $0.since + Self.greetingMax }
        let instants = greetings + [nextReport, aliveAt].compactMap { $0 }
        guard let next = instants.min() else { return -1 }
        return Int32(clamping: max(0, (next - RunnerClock.awake()) / 1_000_000 + 1))
    }

    /// When the scheduler must hear that this process works.
    private var aliveAt: Int64? {
        guard let scheduler, scheduler.unanswered > 0, scheduler.socket.backlog == 0 else {
            return nil
        }
        return scheduler.written + FleetWire.aliveInterval
    }

    private mutating func handleTime() {
        let now = RunnerClock.awake()
        if let aliveAt, now >= aliveAt { scheduler?.send(.alive) }
        strangers.removeAll { now - $0.since >= Self.greetingMax }
    }
}

/// Decides which problems are logged: one that changes its details often must not fill the log.
struct LoggedProblem {
    private static let interval: Int64 = 60_000_000_000

    private var last: String?
    private var isFirst = true
    private var at: Int64 = 0

    /// Whether to log it. Nil: nothing is wrong.
    mutating func mustLog(_ problem: String?, at now: Int64) -> Bool {
        let isKnown = problem == last && !isFirst
        let isChange = problem != nil && last != nil && now - at < Self.interval
        guard !isKnown, !isChange else { return false }
        (last, isFirst, at) = (problem, false, now)
        return true
    }
}

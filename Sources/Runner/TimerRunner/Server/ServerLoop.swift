// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import HostThreads
import TimerCore
import TimerRunnerProtocol

/// The loop of the server: it accepts connections and serves the current one. Runs that a scheduler
/// requests wait, if the configuration must be read for them (`ConfigReadings`, `WaitingRequests`).
struct ServerLoop {
    /// How many reads to make from a connection whose other end is gone: enough for everything that
    /// a socket can hold, but limited, in case the other end only shut down one direction and sends
    /// forever.
    private static let lastReads = 64

    let settings: RunnerServer.Settings
    let runner: Runner
    let outbound: OutboundQueue
    let wake: Int32
    let instance: UInt64
    let reader: DefinitionReader
    let barriers: Barriers
    var conditions: Conditions
    var definitions = JobDefinitions()
    var readings = ConfigReadings()
    var waiting = WaitingRequests()
    var rules = ConfigRules()
    var departure = Departure()
    private var listener: ServerSocket
    private(set) var connection: ServerConnection?
    /// The files in the runtime directory, while they are made again if someone deletes them.
    private var files: RuntimeFolderWatch?

    init(
        settings: RunnerServer.Settings, runner: Runner, outbound: OutboundQueue,
        conditionMailbox: ConditionMailbox, wake: Int32, instance: UInt64
    ) {
        conditions = Conditions(settings.machine, conditionMailbox)
        self.settings = settings
        self.runner = runner
        self.outbound = outbound
        self.wake = wake
        self.instance = instance
        listener = ServerSocket(settings.socket)
        files = settings.files.map {
            RuntimeFolderWatch(
                $0.keep(runner.registry, listeningOn: settings.socket), runner.registry)
        }
        barriers = Barriers(runner: runner) { token in
            outbound.barrierReached(token)
            EventFD.signal(wake)
        }
        reader = DefinitionReader(
            read: settings.definitions, kept: settings.kept, freeFormer: settings.freeFormer
        ) {
            EventFD.signal(wake)
        }
    }

    /// Why a connection is closed, for the log.
    struct Closing: Error {
        let why: String
    }

    var isConnected: Bool { connection?.isGreeted == true }

    var hasUnwritten: Bool { (connection?.socket.backlog ?? 0) > 0 }

    /// Refuses new connections, unless one waits to be accepted.
    func closeIfUnused() -> Bool { listener.closeIfUnused() }

    /// Leaves the files in the runtime directory as they are from now on.
    mutating func leaveFiles() { files = nil }

    /// Reports that every run has ended, and stops listening, so that a scheduler that gets this
    /// message cannot connect again.
    mutating func announceShutdown() {
        guard let connection else { return }
        listener.close()
        connection.socket.send(WireReply.down.bytes)
    }

    /// Replaces or closes the connection. What is not acknowledged is sent again on the next one.
    private mutating func replaceConnection(_ next: ServerConnection?) {
        connection = next
        if !isConnected { outbound.disconnect() }
    }

    mutating func close(_ closing: Closing) {
        settings.log("closed a connection that \(closing.why)")
        replaceConnection(nil)
    }

    /// Waits for events and handles them; returns at the latest at an instant of CLOCK_MONOTONIC.
    mutating func runOnce(timeout: Int64?) {
        let wasConnected = isConnected
        followChecks()
        send()
        // The timeout of the caller may depend on that.
        guard isConnected == wasConnected else { return }
        startReading()
        files?.look(settings.log)
        var wanted = [
            pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
            pollfd(fd: listener.polled, events: Int16(POLLIN), revents: 0),
            pollfd(fd: files?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        let watched = wanted.count
        wanted += conditions.watch.polled
        let peer = connection.map { connection in
            let events = connection.socket.backlog > 0 ? POLLIN | POLLOUT : POLLIN
            wanted.append(
                pollfd(fd: connection.socket.descriptor, events: Int16(events), revents: 0))
            return wanted.count - 1
        }
        // The runner's thread may write to the connection meanwhile. A server that must yield has to
        // be woken when the last run ends.
        if let connection, connection.isIdle, !departure.mustYield {
            outbound.openLine(connection.socket.descriptor)
        }
        let count = poll(&wanted, nfds_t(wanted.count), pollTimeout(until: timeout))
        let rest = outbound.closeLine()
        connection?.socket.sendRest(rest)
        guard count > 0 else { return }
        if wanted[0].revents != 0 {
            EventFD.drain(wake)
            if readings.isReading, let reading = reader.take() { finish(reading) }
        }
        if wanted[2].revents != 0 { files?.noteChange() }
        conditions.watch.note(wanted[watched..<(peer ?? wanted.count)])
        if let peer, wanted[peer].revents != 0 { receive() }
        if wanted[1].revents != 0 { accept() }
    }

    /// How long poll may wait, in milliseconds; -1 for no limit.
    private func pollTimeout(until timeout: Int64?) -> Int32 {
        if connection?.canSendMore == true { return 0 }
        let recheckAt = readings.isReading ? nil : waiting.recheckAt
        let instants = [
            timeout, connection?.sendAt, recheckAt, files?.lookAt, conditions.next,
        ]
        guard let until = instants.compactMap({ $0 }).min() else { return -1 }
        return Int32(clamping: max(0, (until - RunnerClock.awake()) / 1_000_000 + 1))
    }

    private mutating func accept() {
        guard let (descriptor, user) = listener.accept() else { return }
        guard let user, user == 0 || settings.users.contains(user) else {
            // This is logged before the connection is closed, so that a refused user finds it in
            // the log.
            settings.log(
                "refused a connection of uid \(user.map(String.init) ?? "?"); only root and the "
                    + "scheduler's user may connect")
            Glibc.close(descriptor)
            return
        }
        replaceConnection(ServerConnection(descriptor))
    }

    /// Reads some requests of the scheduler and executes them. False if there was nothing to read.
    @discardableResult
    private mutating func receive() -> Bool {
        guard let connection else { return false }
        let hasRead = connection.socket.fill()
        while let frame = connection.socket.next() {
            do throws(Closing) {
                try execute(frame, on: connection)
            } catch {
                close(error)
                return hasRead
            }
        }
        if !connection.socket.isOpen { replaceConnection(nil) }
        return hasRead
    }

    private mutating func send() {
        guard let connection else { return }
        let reopened = connection.queue(from: outbound)
        if !reopened.isEmpty { runner.resumeReading(reopened) }
        guard !connection.socket.flush() else { return }
        // The other end is gone, but its remaining requests are executed.
        for _ in 0..<Self.lastReads {
            guard receive() else { break }
        }
        replaceConnection(nil)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import HostThreads
import TimerCore
import TimerRunnerProtocol

/// The loop of the server: it accepts connections and serves the current one.
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
    var shutDown: Duration?
    /// Whether this runner should end as soon as no run is active, so that another one replaces it.
    var mustYield = false
    var definitions = JobDefinitions()
    var waiting = WaitingOrders()
    /// The messages that wait for a reading of the configuration, with its number.
    var messages: [(order: MessageOrder, reading: UInt64)] = []
    /// The notifiers as of the reading in use.
    var notifiers: [Notifier.Name: Notifier] = [:]
    let reader: DefinitionReader
    /// Whether the configuration must be read once more.
    var isStale = false
    /// Whether it must be read to find what was deleted from it, and whether the current reading is
    /// for that.
    var mustCheck = false
    var isChecking = false
    var isReading = false
    /// How many readings have started; the number of the latest.
    var readings: UInt64 = 0
    /// The number of the reading with which the previous definitions are forgotten; nil: none.
    var lastOfFormer: UInt64?
    /// When to look next whether it must be read once more for runs that wait because the files may
    /// have been incomplete, by CLOCK_MONOTONIC; nil if no run does.
    var recheckAt: Int64?
    /// When the files will not have changed for long enough, if they do not change until then.
    var settledAt = Int64.max
    /// Whether the requests of the previous scheduler are being finished.
    var isFinishing = false
    /// The `max-concurrent` for which the limit of open files is too low, once that is logged.
    var warnedActiveMax: Int?
    /// The reason why the configuration could not be read the last time.
    var unreadable: String?
    let barriers: Barriers
    var connection: Connection? {
        didSet { if !isConnected { outbound.disconnect() } }
    }
    private var isListening = true
    var files: Files?
    /// When there may be more to send, by CLOCK_MONOTONIC, even if no event happens; nil if there
    /// will not.
    private var sendAt: Int64?
    /// Whether there is more to send at once.
    private var hasMore = false

    final class Connection {
        var socket: FrameSocket
        var isGreeted = false
        /// The number of the reading of the configuration after which its runs start at once.
        var reading: UInt64 = 0
        /// Whether the scheduler asked for that, which is answered once, however often it asks.
        var question = Question.none

        enum Question { case none, asked, answered }

        init(_ descriptor: Int32) {
            socket = FrameSocket(descriptor, frameBytesMax: Wire.requestBytesMax)
        }
    }

    init(
        settings: RunnerServer.Settings, runner: Runner, outbound: OutboundQueue, wake: Int32,
        instance: UInt64
    ) {
        self.settings = settings
        self.runner = runner
        self.outbound = outbound
        self.wake = wake
        self.instance = instance
        files = settings.files.map {
            Files($0.keep(runner.registry, listeningOn: settings.socket), runner.registry)
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

    /// Refuses new connections, unless one waits to be accepted. A connection that arrives in
    /// between is closed before any message on it: that scheduler connects again, and finds that no
    /// process listens.
    func closeIfUnused() -> Bool {
        var wanted = pollfd(fd: settings.socket, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, 0) == 0 else { return false }
        return shutdown(settings.socket, Int32(SHUT_RDWR)) == 0
    }

    /// Reports that every run has ended, and stops listening, so that a scheduler that gets this
    /// message cannot connect again.
    mutating func announceShutdown() {
        guard let connection else { return }
        isListening = shutdown(settings.socket, Int32(SHUT_RDWR)) != 0
        connection.socket.send(WireReply.down.bytes)
    }

    /// Waits for events and handles them; returns at the latest at an instant of CLOCK_MONOTONIC.
    mutating func runOnce(timeout: Int64?) {
        let wasConnected = isConnected
        send()
        // The timeout of the caller may depend on that.
        guard isConnected == wasConnected else { return }
        startReading()
        files?.look(settings.log)
        var wanted = [
            pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
            pollfd(
                fd: isListening ? settings.socket : -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: files?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        if let connection {
            let events = connection.socket.backlog > 0 ? POLLIN | POLLOUT : POLLIN
            wanted.append(
                pollfd(fd: connection.socket.descriptor, events: Int16(events), revents: 0))
        }
        if let connection, maySendDirectly { outbound.openLine(connection.socket.descriptor) }
        let count = poll(&wanted, nfds_t(wanted.count), pollTimeout(until: timeout))
        let rest = outbound.closeLine()
        connection?.socket.sendRest(rest)
        guard count > 0 else { return }
        if wanted[0].revents != 0 {
            EventFD.drain(wake)
            if isReading, let reading = reader.take() { finish(reading) }
        }
        if wanted[2].revents != 0 { files?.noteChange() }
        if wanted.count > 3, wanted[3].revents != 0 { receive() }
        if wanted[1].revents != 0 { accept() }
    }

    /// Whether the runner's thread may write to the connection. A server that must yield has to be
    /// woken when the last run ends.
    private var maySendDirectly: Bool {
        isConnected && !hasUnwritten && !hasMore && !mustYield
    }

    /// How long poll may wait, in milliseconds; -1 for no limit.
    private func pollTimeout(until timeout: Int64?) -> Int32 {
        let canWrite = (connection?.socket.backlog ?? 0) < OutboundQueue.batchBytes
        if hasMore, canWrite { return 0 }
        let recheckAt = isReading ? nil : recheckAt
        guard
            let until = [timeout, sendAt, recheckAt, files?.lookAt].compactMap({ $0 }).min()
        else { return -1 }
        return Int32(clamping: max(0, (until - RunnerClock.awake()) / 1_000_000 + 1))
    }

    private mutating func accept() {
        let descriptor = Glibc.accept(settings.socket, nil, nil)
        guard descriptor >= 0 else {
            // Without free descriptors the loop would spin; some may be free after a pause.
            if errno == EMFILE || errno == ENFILE { usleep(100_000) }
            return
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let user = FrameSocket.peer(of: descriptor)
        guard let user, user == 0 || settings.users.contains(user) else {
            // This is logged before the connection is closed, so that a refused user finds it in
            // the log.
            settings.log(
                "refused a connection of uid \(user.map(String.init) ?? "?"); only root and the "
                    + "scheduler's user may connect")
            close(descriptor)
            return
        }
        connection = Connection(descriptor)
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
                settings.log("closed a connection that \(error.why)")
                self.connection = nil
                return hasRead
            }
        }
        if !connection.socket.isOpen { self.connection = nil }
        return hasRead
    }

    private mutating func send() {
        hasMore = false
        sendAt = nil
        guard let connection else { return }
        // If there is no room now, there is some when this is written, and no other event signals
        // that.
        hasMore = connection.isGreeted
        if connection.isGreeted, connection.socket.backlog < OutboundQueue.batchBytes {
            let batch = outbound.nextBatch()
            for reply in batch.replies { connection.socket.send(reply.bytes) }
            if !batch.reopened.isEmpty { runner.resumeReading(batch.reopened) }
            hasMore = batch.hasMore
            sendAt = batch.nextAt
        }
        guard !connection.socket.flush() else { return }
        // The other end is gone, but its remaining requests are executed.
        for _ in 0..<Self.lastReads {
            guard receive() else { break }
        }
        self.connection = nil
    }
}

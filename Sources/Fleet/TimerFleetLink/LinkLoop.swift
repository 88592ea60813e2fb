// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostThreads
import TimerCore
import TimerFleet
import TimerRunnerProtocol

/// The state and the loop of the thread of a link.
struct LinkLoop: ~Copyable {
    /// How long an `unknown` is delayed if nothing was sent, in nanoseconds: a member decides again
    /// at once.
    static let retryDelay: Int64 = 1_000_000_000
    /// How many bytes may wait to be written to `timerd-fleet`.
    static let backlogMax = 16 << 20
    /// How long ending the leases may take, in nanoseconds.
    private static let closingMax: Int64 = 2_000_000_000
    /// How many frames are handled before commands are executed.
    private static let framesPerIteration = 128

    /// What is known about the keys of the fleet.
    enum Watch {
        case none
        /// They were requested with this number, and have not arrived; 0: not yet sent.
        case loading(UInt64)
        case watching(UInt64)
    }

    let configuration: FleetLink.Configuration
    let mailbox: LinkMailbox
    let handler: FleetLink.Handler
    var socket: FrameSocket?
    /// Whether `timerd-fleet` has accepted this scheduler.
    var isGreeted = false
    var search = LinkSearch()
    /// When the last frame arrived, or the first of the requests that wait was sent.
    var heard: Int64 = 0
    /// The requests about leases that have no answer. Nil is `openLease`.
    var leaseRequests: Set<LeaseID?> = []
    /// The lease that was reported as lost while it was being renewed: the renewal may still be answered, if a refused
    /// transaction was first to find out.
    var lostWhileRenewed: LeaseID?
    /// The leases that were opened, and are not known to be lost.
    var leases: Set<LeaseID> = []
    var watch = Watch.none
    var loads: UInt64 = 0
    var snapshot = SnapshotParts()
    /// The transactions that were sent and have no answer.
    var transactions: Set<FleetMember.TransactionID> = []
    /// Transactions that were not sent, and when to report that; in the order of the instants.
    var refused: [(at: Int64, id: FleetMember.TransactionID)] = []
    var status: FleetLinkStatus?
    /// When to end at the latest; nil: the link is not being closed.
    var closingUntil: Int64?

    static func start(
        _ configuration: FleetLink.Configuration, _ mailbox: LinkMailbox,
        _ handler: @escaping FleetLink.Handler
    ) -> Int32 {
        WorkerThread.start("timerd.link") {
            var loop = LinkLoop(configuration, mailbox, handler)
            loop.run()
            mailbox.finish()
        }
    }

    init(
        _ configuration: FleetLink.Configuration, _ mailbox: LinkMailbox,
        _ handler: @escaping FleetLink.Handler
    ) {
        self.configuration = configuration
        self.mailbox = mailbox
        self.handler = handler
    }

    mutating func run() {
        while true {
            for command in mailbox.drain() { execute(command) }
            let hasMore = receive()
            let now = RunnerClock.awake()
            reportRefused(now)
            if let closingUntil, leases.isEmpty || !isGreeted || now >= closingUntil {
                flush()
                socket = nil
                return
            }
            checkSilence(now)
            if socket == nil, search.isDue(at: now) { connect(now) }
            flush()
            if !hasMore { wait(now) }
        }
    }

    private mutating func flush() {
        guard let isThere = socket?.flush(), !isThere else { return }
        disconnect("the connection to timerd-fleet broke")
    }

    private mutating func wait(_ now: Int64) {
        var wanted = [pollfd(fd: mailbox.descriptor, events: Int16(POLLIN), revents: 0)]
        if let descriptor = socket?.descriptor {
            let events = (socket?.backlog ?? 0) > 0 ? POLLIN | POLLOUT : POLLIN
            wanted.append(pollfd(fd: descriptor, events: Int16(events), revents: 0))
        }
        let instants = [
            refused.first?.at, socket == nil ? search.retryAt : nil,
            mustAnswer ? heard + FleetWire.silenceMax : nil, closingUntil,
        ]
        let next = instants.compactMap { $0 }.min()
        let time = next.map { Int32(clamping: max(0, ($0 - now) / 1_000_000 + 1)) } ?? -1
        _ = poll(&wanted, nfds_t(wanted.count), time)
    }

    // MARK: - Commands

    private mutating func execute(_ command: LinkMailbox.Command) {
        guard closingUntil == nil else { return }
        switch command {
        case .openLease: requestLease(nil)
        case .keepAlive(let lease): requestLease(lease)
        case .load:
            if case .loading = watch { return }
            watch = .loading(0)
            sendLoad()
        case .send(let id, let transaction): send(id, transaction)
        case .close(let endingLeases):
            closingUntil = RunnerClock.awake() + Self.closingMax
            if !endingLeases { leases = [] }
            for lease in leases { send(.endLease(lease)) }
        }
    }

    /// Requests an answer about a lease, now or when there is a connection.
    private mutating func requestLease(_ lease: LeaseID?) {
        guard leaseRequests.count < FleetWire.leaseRequestsMax,
            leaseRequests.insert(lease).inserted
        else { return }
        sendLeaseRequest(lease)
    }

    mutating func sendLeaseRequest(_ lease: LeaseID?) {
        let seconds = configuration.lease.components
        let rounded = seconds.seconds + (seconds.attoseconds > 0 ? 1 : 0)
        send(lease.map { .keepAlive($0) } ?? .openLease(seconds: min(max(1, rounded), 86_400)))
    }

    mutating func sendLoad() {
        guard isGreeted else { return }
        loads += 1
        watch = .loading(loads)
        send(.load(number: loads))
    }

    private mutating func send(_ id: FleetMember.TransactionID, _ transaction: FleetTransaction) {
        let now = RunnerClock.awake()
        guard isGreeted, transactions.count < FleetWire.transactionsMax,
            (socket?.backlog ?? 0) < Self.backlogMax
        else { return refused.append((now + Self.retryDelay, id)) }
        let bytes = FleetRequest.send(id, transaction).bytes
        guard bytes.count <= FleetWire.requestBytesMax else {
            report(
                problem: "a change of the fleet has \(bytes.count) bytes, more than etcd takes; "
                    + "please report this as a bug of timerd")
            return refused.append((now + Self.retryDelay, id))
        }
        if !mustAnswer { heard = now }
        transactions.insert(id)
        socket?.send(bytes)
    }

    /// Sends a request if there is a connection.
    private mutating func send(_ request: FleetRequest) {
        guard isGreeted else { return }
        if !mustAnswer { heard = RunnerClock.awake() }
        socket?.send(request.bytes)
    }

    private mutating func reportRefused(_ now: Int64) {
        let due = refused.prefix { $0.at <= now }
        guard !due.isEmpty else { return }
        refused.removeFirst(due.count)
        for (_, id) in due { handler(.event(.unknown(id))) }
    }

    // MARK: - Frames

    /// Whether `timerd-fleet` has not yet answered something, so that it must not be silent.
    var mustAnswer: Bool {
        guard socket != nil else { return false }
        let isLoading = if case .loading = watch { true } else { false }
        return !isGreeted || isLoading || !leaseRequests.isEmpty || !transactions.isEmpty
    }

    /// Handles some frames. True if there may be more in the buffer.
    private mutating func receive() -> Bool {
        var isFilled = false
        for _ in 0..<Self.framesPerIteration {
            if let frame = socket?.next() {
                heard = RunnerClock.awake()
                guard let report = try? FleetReport(frame), handle(report) else {
                    disconnect(
                        "timerd-fleet sent an invalid message; both must have the same "
                            + "version: systemctl restart timerd-fleet timerd")
                    return false
                }
            } else if !isFilled {
                isFilled = true
                socket?.fill()
            } else {
                if socket?.isOpen == false { disconnect(isGreeted ? Self.gone : nil) }
                return false
            }
        }
        return true
    }

    private static let gone =
        "timerd-fleet ended; its log says why: journalctl -u timerd-fleet"

    private mutating func checkSilence(_ now: Int64) {
        guard mustAnswer, now - heard >= FleetWire.silenceMax else { return }
        disconnect(
            "timerd-fleet does not answer; if that stays so: systemctl restart timerd-fleet")
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import HostThreads
import Synchronization
public import TimerCore
public import TimerRunnerProtocol

/// The scheduler's connection to a runner in another process. Whatever happens to that process or
/// to the connection, each run is started once and its end is reported once: on each new connection
/// both sides reconcile the runs that they know.
///
/// It works on its own thread; the methods only post a command to it and return at once. Starts are
/// written to the runner by the thread that calls `start` if that is possible without waiting.
public final class RunnerClient: Sendable {
    /// The shortest and the longest time between two attempts to connect to a runner.
    static let retryMin: Duration = .milliseconds(50)
    static let retryMax: Duration = .seconds(5)
    /// How many handled events that need no acknowledgement of the handler may be unacknowledged.
    static let unacknowledgedMax: UInt64 = 64
    /// The most runs that are not forgotten: those that wait for a runner, and those of the runner.
    static let waitingMax = 100_000

    /// What a client reports to its owner.
    public enum Event: Sendable {
        /// Something happened to a run of this client.
        case event(RunnerEvent)
        /// The connection to the runner is lost, for this reason; the client tries to reconnect. It
        /// was announced if the runner reported before that it ends: after an upgrade, or when its
        /// service is stopped or restarted.
        case away(String, wasAnnounced: Bool)
        /// The connection is back, to the same runner as before or to another one.
        case back(isSame: Bool)
        /// The answer to `check` for this run, with the number of the request.
        case checked(Run.ID, number: UInt64, Condition.Answer)
        /// These parts of the machine have changed.
        case machineChanged(MachineParts)
    }

    /// A run that the runner had when the client first connected.
    public struct Holding: Hashable, Sendable {
        /// The identity of the run.
        public var run: Run.ID
        /// When its process started; nil if it has not started yet.
        public var began: WallInstant?
        /// Whether it has ended; its end is reported after `begin`.
        public var isOver: Bool
    }

    /// The reason why no runner can be reached.
    public struct Failure: Error, Hashable, CustomStringConvertible {
        /// What is wrong, and what to do next.
        public let description: String

        public init(_ description: String) { self.description = description }
    }

    /// Opens a connection to the runner, and starts a runner first if this process is responsible
    /// for that. It may take long, and is called again after a while if it fails.
    public typealias Dial = @Sendable () -> Result<Int32, Failure>

    /// Receives the events of the client, on its thread. Call `seen` when the event is handled;
    /// until then the runner keeps it. It may be called on any thread. For the start of a run it
    /// need not be called.
    public typealias Handler = @Sendable (Event, _ seen: @escaping @Sendable () -> Void) -> Void

    /// The runs that the runner had when the client first connected.
    public let holdings: [Holding]

    let mailbox: ClientMailbox
    private let first: Mutex<FrameSocket?>
    private let instance: UInt64
    private let memory: UInt64
    private let dial: Dial
    private let path: String?

    /// Connects to a runner and receives the list of its runs.
    ///
    /// - Parameters:
    ///   - timeout: how long to try.
    ///   - path: of the socket of a runner that another process starts: when it is lost, the client
    ///     reconnects as soon as something changes at this path. Nil if `dial` starts the runner.
    ///   - isCancelled: whether to give up earlier; called after each attempt.
    /// - Throws: `Failure` of the last attempt.
    public init(
        timeout: Duration, announcedBy path: String? = nil,
        isCancelled: () -> Bool = { false }, dial: @escaping Dial
    ) throws(Failure) {
        self.path = path
        let deadline = RunnerClock.awake() + timeout.wholeNanoseconds
        var pause = Self.retryMin
        while true {
            do throws(Failure) {
                let descriptor = try dial().get()
                var socket = FrameSocket(descriptor, frameBytesMax: Wire.replyBytesMax)
                let greeting = try Greeting.exchange(on: &socket, until: deadline)
                holdings = greeting.holdings
                instance = greeting.instance
                memory = greeting.memory
                first = Mutex(socket)
                break
            } catch {
                guard RunnerClock.awake() < deadline, !isCancelled() else { throw error }
                usleep(UInt32(pause.wholeMicroseconds))
                pause = min(pause * 2, .seconds(1))
            }
        }
        self.dial = dial
        mailbox = try ClientMailbox()
    }

    deinit { mailbox.post(.close) }

    /// Starts the client's thread, which reports events from now on. Call it once.
    ///
    /// - Parameter adopting: the runs that the scheduler knows; any other run of the runner is
    ///   forgotten once it has ended.
    public func begin(adopting runs: Set<Run.ID>, _ handler: @escaping Handler) {
        let (mailbox, dial, holdings, path) = (mailbox, dial, holdings, path)
        let (instance, memory) = (instance, memory)
        guard let socket = first.withLock({ $0.take() }) else { return }
        let box = SocketBox(socket)
        let code = WorkerThread.start("timerd.client") {
            guard let socket = box.take() else { return }
            var work = ClientLoop(
                mailbox: mailbox, dial: dial, handler: handler, socket: socket, instance: instance,
                memory: memory, announcedBy: path)
            work.add(runs, of: holdings)
            work.run()
            mailbox.finish(unsent: work.runs.unsent)
        }
        // Without a thread the runner cannot be reached.
        if code != 0 {
            handler(
                .away(
                    "cannot start a thread: \(String(cString: strerror(code)))",
                    wasAnnounced: false)
            ) {}
        }
    }

    /// Starts the runs in this order, but none of their programs before its instant of
    /// CLOCK_MONOTONIC, which is less than a second from now. Without a connection to a runner, they
    /// wait for one. A start is never sent to a runner that cannot know of the runner it was sent to
    /// before: such a run ends as `lost(runner)`.
    public func start(_ runs: [(run: Run, notBefore: AwakeInstant)]) {
        guard !runs.isEmpty else { return }
        mailbox.start(runs.map { StartRequest($0.run, notBefore: $0.notBefore) })
    }

    /// Terminates a run: SIGTERM to its process group, after `grace` SIGKILL.
    public func end(_ run: Run.ID, grace: Duration) { mailbox.post(.end(run, grace: grace)) }

    /// Suspends the process group of a run, and its time limit.
    public func suspend(_ run: Run.ID) { mailbox.post(.suspend(run)) }

    /// Resumes a suspended run, and its time limit.
    public func resume(_ run: Run.ID) { mailbox.post(.resume(run)) }

    /// Sends a signal to the process group of a run, if a runner is connected.
    public func signal(_ run: Run.ID, _ number: Int32) { mailbox.post(.signal(run, number)) }

    /// Calls `done` on the client's thread when every end that has happened before this call is
    /// reported; or at once if no runner is connected.
    public func barrier(_ done: @escaping @Sendable () -> Void) { mailbox.post(.barrier(done)) }

    /// Calls `done` on the client's thread when a runner has read the configuration, so that runs
    /// start at once. Without a connection to a runner, it waits for one. Call it at most once.
    public func prepare(_ done: @escaping @Sendable () -> Void) { mailbox.post(.prepare(done)) }

    /// The end of this run is stored, so the runner can forget it.
    public func forget(_ run: Run.ID) { mailbox.post(.forget(run)) }

    /// Tells the runner to read the configuration again now, if one is connected, and not when a
    /// run is due. Until `forgetFormer` it also starts runs with the previous definitions.
    public func refresh() { mailbox.post(.refresh) }

    /// The reload is finished: the runner forgets the previous definitions.
    public func forgetFormer() { mailbox.post(.forgetFormer) }

    /// These one-off jobs are over: the runner, if one is connected, removes their definitions.
    public func discard(_ jobs: [Job.Name]) { mailbox.post(.discard(jobs)) }

    /// Sends a message of a notifier. Its run is reported like any other one; a run of an earlier
    /// scheduler that sends it is reattached. Without a connection to a runner, it waits for one.
    public func send(_ request: MessageRequest) { mailbox.post(.send(request)) }

    /// Checks the condition of a run. The answer is reported once, also if the runner is lost meanwhile,
    /// unless a later request for the same run replaces this one. Without a connection to a runner,
    /// it waits for one.
    ///
    /// - Parameter number: distinguishes the requests for one run.
    public func check(_ run: Run, number: UInt64) {
        mailbox.post(.check(CheckRequest(run, number: number)))
    }

    /// Makes the runner terminate every run, by SIGTERM and after `grace` by SIGKILL, and then
    /// itself. Returns when that is done and every end is reported, or after `grace` and ten
    /// seconds, or at once if no runner is connected.
    public func shutdown(grace: Duration) {
        let down = DispatchSemaphore(value: 0)
        mailbox.post(.shutDown(grace) { down.signal() })
        let timeout = (grace + .seconds(10)).wholeNanoseconds
        _ = down.wait(timeout: .now() + .nanoseconds(Int(clamping: timeout)))
    }

    /// Disconnects; the runner and its runs continue. Returns when the pending requests are sent.
    ///
    /// - Returns: the runs that were requested and never sent to a runner, because there was none.
    @discardableResult
    public func close() -> [Run.ID] {
        mailbox.post(.close)
        return mailbox.waitUntilFinished()
    }
}

/// Passes a noncopyable value to another thread.
private final class SocketBox: Sendable {
    private let socket: Mutex<FrameSocket?>

    init(_ socket: consuming sending FrameSocket) { self.socket = Mutex(socket) }

    func take() -> FrameSocket? { socket.withLock { $0.take() } }
}

/// What the runner says at the beginning of a connection.
struct Greeting {
    var instance: UInt64
    /// The identity of the runner's registry of runs (`WireReply.memory`).
    var memory: UInt64 = 0
    var holdings: [RunnerClient.Holding] = []

    /// Sends `hello` and waits for the list of the runner's runs, at most until an instant of
    /// CLOCK_MONOTONIC.
    static func exchange(
        on socket: inout FrameSocket, until deadline: Int64
    ) throws(RunnerClient.Failure) -> Greeting {
        var greeting: Greeting?
        socket.send(WireRequest.hello(version: Wire.version).bytes)
        while true {
            guard socket.flush() else { throw .init("the runner closed the connection") }
            let left = (deadline - RunnerClock.awake()) / 1_000_000 + 1
            guard left > 0 else { throw .init("the runner does not answer") }
            var wanted = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&wanted, 1, Int32(clamping: left)) > 0 else { continue }
            socket.fill()
            while let frame = socket.next() {
                guard let reply = try? WireReply(frame) else {
                    throw .init("unexpected response: is this the socket of timerd-runner?")
                }
                switch reply {
                case .welcome(let version, let instance):
                    guard version == Wire.version else {
                        throw .init(
                            "the runner speaks version \(version) and this timerd "
                                + "\(Wire.version); restart the older of the two")
                    }
                    greeting = Greeting(instance: instance)
                case .memory(let id): greeting?.memory = id
                case .holds(let run, let began, let isOver):
                    greeting?.holdings.append(.init(run: run, began: began, isOver: isOver))
                // Further replies are handled by the owner of the connection.
                case .complete:
                    if let greeting {
                        return greeting
                    } else {
                        throw .init("unexpected response: is this the socket of timerd-runner?")
                    }
                case .event, .barrierReached, .down, .checked, .machineChanged:
                    throw .init("unexpected response: is this the socket of timerd-runner?")
                }
            }
            guard socket.isOpen else { throw .init("the runner closed the connection") }
        }
    }

    private init(instance: UInt64) { self.instance = instance }
}

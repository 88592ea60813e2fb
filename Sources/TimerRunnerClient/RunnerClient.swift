// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import HostThreads
import Synchronization
public import TimerCore
public import TimerRunnerProtocol

/// The scheduler's hold on a runner in another process. Whatever happens to that process or to the
/// connection, each run is started once and its end told once: on each new connection the two compare what
/// they know.
///
/// It works on a thread of its own; calls only leave word for it and return at once.
public final class RunnerClient: Sendable {
    /// The shortest and the longest time between two attempts to reach a runner.
    static let retryMin: Duration = .milliseconds(50)
    static let retryMax: Duration = .seconds(5)
    /// How many milliseconds word of what is recorded is gathered, rather than said for each run by itself.
    static let gathering: Int32 = 10
    /// How many events that need no word of anybody may be seen before that is said by itself.
    static let unconfirmedMax: UInt64 = 64
    /// The most runs that are not forgotten: those that wait for a runner to be there, and those it has.
    static let waitingMax = 100_000

    /// What a client tells.
    public enum Event: Sendable {
        /// Something happened to a run.
        case event(RunnerEvent)
        /// There is no runner, for this reason; it is looked for. It was announced if the runner ended by itself or
        /// was told to, and said so: after an upgrade, or when its service is restarted.
        case away(String, wasAnnounced: Bool)
        /// There is one again: the same that was there before, or another.
        case back(isSame: Bool)
    }

    /// A run the runner held when the client first reached it.
    public struct Holding: Hashable, Sendable {
        /// Which run.
        public var run: Run.ID
        /// When its process started; nil if it did not yet.
        public var began: WallInstant?
        /// Whether it has ended; its end is told once the client begins.
        public var isOver: Bool
    }

    /// Why there is no runner.
    public struct Failure: Error, Hashable, CustomStringConvertible {
        /// What is wrong, and what to do next.
        public let description: String

        /// A failure as described.
        public init(_ description: String) { self.description = description }
    }

    /// Makes a connection to the runner, starting one first where that is this process's business. It may
    /// take its time, and is called again after a while if it fails.
    public typealias Dial = @Sendable () -> Result<Int32, Failure>

    /// Takes what the client tells, on its thread. What is called last says that the news is where it
    /// belongs; until then the runner keeps it. It may be called from anywhere. Of the beginning of a run it need
    /// not be called.
    public typealias Handler = @Sendable (Event, _ seen: @escaping @Sendable () -> Void) -> Void

    /// What the runner held when it was first reached.
    public let holdings: [Holding]

    let mailbox: ClientMailbox
    private let first: Mutex<FrameSocket?>
    private let instance: UInt64
    private let dial: Dial
    private let path: String?

    /// Reaches a runner and learns what it holds.
    ///
    /// - Parameters:
    ///   - timeout: how long to try.
    ///   - path: of the socket of a runner that somebody else starts: one that is away is looked for when something
    ///     happens there. Nil if `dial` starts one.
    ///   - isCancelled: whether to give up before that; asked after each attempt.
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

    /// Begins to work: from here on what happens is told. Called once.
    ///
    /// - Parameter adopting: the runs the scheduler knows of; any other the runner holds is forgotten once
    ///   it is over.
    public func begin(adopting runs: Set<Run.ID>, _ handler: @escaping Handler) {
        let (mailbox, dial, instance, holdings, path) = (mailbox, dial, instance, holdings, path)
        guard let socket = first.withLock({ $0.take() }) else { return }
        let box = SocketBox(socket)
        let code = WorkerThread.start("timerd.client") {
            guard let socket = box.take() else { return }
            var work = ClientLoop(
                mailbox: mailbox, dial: dial, handler: handler, socket: socket, instance: instance,
                announcedBy: path)
            work.adopt(runs, of: holdings)
            work.run()
            mailbox.finish()
        }
        // Without a thread nothing is to be had of the runner, as if there were none.
        if code != 0 {
            handler(
                .away(
                    "cannot start a thread: \(String(cString: strerror(code)))",
                    wasAnnounced: false)
            ) {}
        }
    }

    /// Starts the runs, in this order. Where no runner is there, they wait for it.
    public func start(_ runs: [Run]) {
        guard !runs.isEmpty else { return }
        mailbox.post(.start(runs.map { RunOrder($0) }))
    }

    /// Ends a run: SIGTERM to its process group, after `grace` SIGKILL.
    public func end(_ run: Run.ID, grace: Duration) { mailbox.post(.end(run, grace: grace)) }

    /// Stops the process group of a run where it stands, and its time limit.
    public func suspend(_ run: Run.ID) { mailbox.post(.suspend(run)) }

    /// Lets a run go on that stands still.
    public func resume(_ run: Run.ID) { mailbox.post(.resume(run)) }

    /// Sends a signal to the process group of a run, if a runner is there.
    public func signal(_ run: Run.ID, _ number: Int32) { mailbox.post(.signal(run, number)) }

    /// Calls `done`, on the client's thread, once every end that has come to pass by now is told; or at once
    /// if no runner is there.
    public func barrier(_ done: @escaping @Sendable () -> Void) { mailbox.post(.barrier(done)) }

    /// The end of this run is on record.
    public func forget(_ run: Run.ID) { mailbox.post(.forget(run), hasTime: true) }

    /// The configuration is being read again: the runner reads it now, if one is there, and not when a run is due.
    /// Until `forgetFormer` it starts runs by what it read before as well.
    public func refresh() { mailbox.post(.refresh) }

    /// Every job is as the configuration has it now: the runner forgets what it read before that.
    public func forgetFormer() { mailbox.post(.forgetFormer) }

    /// Has the runner end every run, by SIGTERM and after `grace` by SIGKILL, and then itself. Returns when
    /// that is done and every end is told, or after `grace` and ten seconds, or at once if no runner is there.
    public func shutdown(grace: Duration) {
        let down = DispatchSemaphore(value: 0)
        mailbox.post(.shutDown(grace) { down.signal() })
        let timeout = (grace + .seconds(10)).wholeNanoseconds
        _ = down.wait(timeout: .now() + .nanoseconds(Int(clamping: timeout)))
    }

    /// Leaves the runner and its runs to themselves. Returns when what was left for it is sent.
    public func close() {
        mailbox.post(.close)
        mailbox.waitUntilFinished()
    }
}

/// A value that cannot be copied, on its way to another thread.
private final class SocketBox: Sendable {
    private let socket: Mutex<FrameSocket?>

    init(_ socket: consuming sending FrameSocket) { self.socket = Mutex(socket) }

    func take() -> FrameSocket? { socket.withLock { $0.take() } }
}

/// The first words of a connection.
struct Greeting {
    var instance: UInt64
    var holdings: [RunnerClient.Holding] = []

    /// Says hello and waits for everything the runner holds, at most until an instant of CLOCK_MONOTONIC.
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
                    throw .init("what answers is no runner")
                }
                switch reply {
                case .welcome(let version, let instance):
                    guard version == Wire.version else {
                        throw .init(
                            "the runner speaks version \(version) and this timerd "
                                + "\(Wire.version); restart the older of the two")
                    }
                    greeting = Greeting(instance: instance)
                case .holds(let run, let began, let isOver):
                    greeting?.holdings.append(.init(run: run, began: began, isOver: isOver))
                // What follows is for whoever works on with the connection.
                case .complete:
                    if let greeting {
                        return greeting
                    } else {
                        throw .init("what answers is no runner")
                    }
                case .event, .barrierReached, .down: throw .init("what answers is no runner")
                }
            }
            guard socket.isOpen else { throw .init("the runner closed the connection") }
        }
    }

    private init(instance: UInt64) { self.instance = instance }
}

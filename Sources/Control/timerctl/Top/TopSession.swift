// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TimerControl
import TimerCore

/// `timerctl top` on a terminal: waits for keys, signals and answers of the daemon, and draws the
/// screen.
struct TopSession {
    private let terminal: RawTerminal
    private let connection: Connection
    private let interval: Duration
    private let hasColor: Bool
    private var state: TopState
    private var size: TopSize
    private var keys = KeyReader()
    /// The lines on the screen; nil if they are not known.
    private var screen: [String]?
    /// When to request the list again; nil while an answer is awaited.
    private var due: ContinuousClock.Instant?
    private var asked = ContinuousClock.now
    /// Whether to request the list again as soon as the answer arrives.
    private var isUrgent = false
    /// Whether an answer about one job is awaited, and whether another one is wanted after it.
    private var isDetailAwaited = false
    private var isDetailWanted = false
    /// Why the program ends; nil while it does not.
    private var end: End?

    private enum End: Hashable { case quit, signal(Int32) }

    /// How long after an Escape, in milliseconds, further bytes may belong to it.
    private static let escapeTime = 100
    /// After this time the screen says that the daemon does not answer.
    private static let timeout = Duration.seconds(3)

    init(
        _ terminal: RawTerminal, _ state: TopState, _ connection: Connection, interval: Duration,
        hasColor: Bool
    ) {
        self.terminal = terminal
        self.state = state
        self.connection = connection
        self.interval = interval
        self.hasColor = hasColor
        size = terminal.size
    }

    /// Returns when the user quits. The terminal is always restored.
    mutating func run() throws {
        // Before the worker starts its thread, which would otherwise receive signals too.
        let signals = TopSignals()
        guard let signals, let worker = TopWorker(connection) else {
            throw Connection.fail(
                1, "cannot watch for signals: \(String(cString: strerror(errno)))")
        }
        terminal.enter()
        while end == nil {
            draw()
            wait(signals, worker)
        }
        terminal.leave()
        if case .signal(let number) = end { signals.end(with: number) }
        if let message = state.message, message.isError, state.isLeaving {
            throw Connection.fail(1, message.text)
        }
    }

    private mutating func draw() {
        let lines = state.lines(size, hasColor: hasColor, now: Terminal.now)
        let changes = RawTerminal.changes(from: screen, to: lines)
        if !changes.isEmpty { Terminal.put(changes) }
        screen = lines
    }

    private mutating func wait(_ signals: TopSignals, _ worker: TopWorker) {
        var wanted = [STDIN_FILENO, signals.descriptor, worker.descriptor].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        let count = poll(
            &wanted, nfds_t(wanted.count), keys.isWaiting ? Int32(Self.escapeTime) : delay)
        if count == 0, keys.isWaiting { press(keys.finish(), worker) }
        if count > 0 {
            if wanted[1].revents != 0 { handle(signals) }
            if wanted[2].revents != 0 { for answer in worker.drain() { handle(answer) } }
            if isDetailWanted, !isDetailAwaited {
                isDetailWanted = false
                askDetail(worker)
            }
            if wanted[0].revents != 0 { readKeys(worker) }
        }
        askIfDue(worker)
    }

    /// How long to wait, in milliseconds: until the list is due, or until the clock on the screen
    /// has to change.
    private var delay: Int32 {
        guard let due else { return 1000 }
        let left = (due - ContinuousClock.now).wholeMicroseconds / 1000 + 1
        return Int32(max(0, min(1000, left)))
    }

    private mutating func askIfDue(_ worker: TopWorker) {
        guard let due else {
            let waited = ContinuousClock.now - asked
            if waited > Self.timeout {
                state.problem =
                    "timerd has not answered for \(Text.whole(waited)), waiting"
            }
            return
        }
        guard due <= .now else { return }
        self.due = nil
        asked = .now
        if case .log(let log) = state.mode, let job = Job.Name(log.job) {
            worker.ask(.log(job, after: log.last))
        } else {
            worker.ask(.list)
            if showsDetail { askDetail(worker) }
        }
    }

    private mutating func readKeys(_ worker: TopWorker) {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(STDIN_FILENO, &bytes, bytes.count)
        if count > 0 {
            press(keys.read(bytes[..<count]), worker)
        } else if count == 0 || (errno != EINTR && errno != EAGAIN) {
            // The terminal was closed, so nothing can be shown any more.
            end = .quit
        }
    }

    private mutating func press(_ pressed: [Key], _ worker: TopWorker) {
        for key in pressed where end == nil {
            switch state.press(key, size) {
            case nil: break
            case .quit: leave()
            case .redraw: redraw()
            case .refresh, .log: askSoon()
            case .detail: askDetail(worker)
            case .command(let command):
                state.pending += 1
                worker.ask(.command(command))
            }
        }
    }

    /// Requests what is shown of the selected job, unless that is awaited already.
    private mutating func askDetail(_ worker: TopWorker) {
        guard let job = state.job.flatMap({ Job.Name($0.job) }) else { return }
        guard !isDetailAwaited else {
            isDetailWanted = true
            return
        }
        isDetailAwaited = true
        worker.ask(.detail(job))
    }

    /// Whether the screen has something about one job.
    private var showsDetail: Bool {
        switch state.mode {
        case .page: true
        case .log, .help: false
        case .table, .filter, .question, .note: TopDetail.width(size) != nil
        }
    }

    private mutating func askSoon() {
        if due == nil { isUrgent = true } else { due = .now }
    }

    /// The next request is due some time after the last answer, so that a daemon that is slow
    /// because of very many jobs spends at most half of its time on this.
    private mutating func schedule() {
        let now = ContinuousClock.now
        due = isUrgent ? now : max(asked + interval, now + (now - asked))
        isUrgent = false
    }

    /// If a command has no answer yet, the program waits for it, or for another `q`.
    private mutating func leave() {
        if state.pending == 0 || state.isLeaving { end = .quit }
        state.isLeaving = true
    }

    private mutating func redraw() {
        size = terminal.size
        state.settle(size)
        screen = nil
    }

    private mutating func handle(_ signals: TopSignals) {
        while let number = signals.next() {
            switch number {
            case SIGWINCH: redraw()
            case SIGTSTP:
                terminal.leave()
                signals.stop()
                terminal.enter()
                redraw()
            case SIGCONT:
                // After a stop that the program did not cause, the shell has changed the terminal.
                terminal.enter()
                redraw()
            default: end = .signal(number)
            }
        }
    }

    /// Handles an answer of the daemon, or an error.
    mutating func handle(_ answer: TopAnswer) {
        switch answer {
        case .list(let result):
            schedule()
            switch result {
            case .success(let table): state.update(table, size)
            case .failure(let error): state.problem = Self.problem(error)
            }
        case .log(let job, let after, let result):
            schedule()
            switch result {
            case .success(let reply): state.apply(reply, of: job, after: after, size)
            case .failure(let error) where error.isAway: state.problem = Self.problem(error)
            case .failure(let error): state.message = Self.message(error)
            }
        case .detail(let result):
            isDetailAwaited = false
            switch result {
            case .success(let detail): state.apply(detail, size, now: Terminal.now)
            // A job that was removed is gone from the next list.
            case .failure(let error) where error.isAway: state.problem = Self.problem(error)
            case .failure: break
            }
        case .command(let result):
            state.pending -= 1
            switch result {
            case .success(let text): state.message = .init(text: text)
            case .failure(let error): state.message = Self.message(error)
            }
            if state.isLeaving, state.pending == 0 { end = .quit }
            // The list is requested, so that the effect is shown at once.
            askSoon()
        }
    }

    private static func message(_ error: Connection.Failure) -> TopState.Message {
        .init(text: error.message.replacing("\n", with: "; "), isError: true)
    }

    private static func problem(_ error: Connection.Failure) -> String {
        error.isAway ? "timerd is not running, trying again" : "\(error.message); trying again"
    }
}

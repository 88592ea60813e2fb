// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Frames at a constant rate, like those of a display link, but without a display.
///
/// ```swift
/// let ticker = try Ticker(preferredRate: 60, for: view, on: .main) { view, frame in
///     view.draw(at: frame.targetTimestamp)
///     if view.isDone { frame.ticker.cancel() }
/// }
/// ticker.isPaused = true
/// ```
///
/// Each frame starts on a fixed grid. A frame that is due while an earlier one is still being
/// handled is left out, and so is one that would start later than half of its duration, because the
/// queue is busy: `Frame.dropped` counts them. So a handler that always takes one and a half
/// frames gets every second frame, at even distances.
///
/// The ticker exists as long as something references it. It can be used from any thread. Each
/// operation takes O(log *n*) in the number of timers of its queue.
public final class Ticker: Sendable {
    /// A reference to the ticker that does not keep it alive.
    public let reference: TickerReference
    private let timer: PausableTimer

    /// Creates a ticker.
    ///
    /// - Parameters:
    ///   - preferredRate: frames per second; from 10⁻⁹ to 10⁹.
    ///   - isPaused: whether it starts paused.
    ///   - queue: the queue that runs the handler.
    ///   - handler: called for each frame, and never twice at the same time.
    /// - Throws: `TimerArgumentError`; no ticker was created.
    @_disfavoredOverload
    public convenience init(
        preferredRate: Double = 60, paused isPaused: Bool = false, on queue: TimerQueue = .shared,
        handler: @escaping @Sendable (Frame) -> Void
    ) throws(TimerArgumentError) {
        try self.init(preferredRate, isPaused, queue, handler)
    }

    /// Creates a ticker for an object that it does not retain: after the object has been released, the
    /// ticker is cancelled at its next frame.
    ///
    /// - Parameters:
    ///   - preferredRate: frames per second; from 10⁻⁹ to 10⁹.
    ///   - owner: the object. The handler gets it with each frame.
    ///   - isPaused: whether it starts paused.
    ///   - queue: the queue that runs the handler.
    ///   - handler: called for each frame, and never twice at the same time.
    /// - Throws: `TimerArgumentError`; no ticker was created.
    @_disfavoredOverload @_alwaysEmitIntoClient
    public convenience init<Owner: AnyObject & Sendable>(
        preferredRate: Double = 60, for owner: Owner, paused isPaused: Bool = false,
        on queue: TimerQueue = .shared,
        handler: @escaping @Sendable (Owner, Frame) -> Void
    ) throws(TimerArgumentError) {
        try self.init(
            preferredRate: preferredRate, paused: isPaused, on: queue,
            handler: { [weak owner] frame in
                if let owner {
                    handler(owner, frame)
                } else {
                    frame.ticker.cancel()
                }
            })
    }

    /// Creates a ticker on the main actor.
    ///
    /// - Parameters:
    ///   - preferredRate: frames per second; from 10⁻⁹ to 10⁹.
    ///   - isPaused: whether it starts paused.
    ///   - queue: `.main`, or in a test a main queue with another time.
    ///   - handler: called on the main actor for each frame, and never twice at the same time.
    /// - Throws: `TimerArgumentError`; no ticker was created.
    @_alwaysEmitIntoClient
    public convenience init(
        preferredRate: Double = 60, paused isPaused: Bool = false, on queue: MainTimerQueue,
        handler: @escaping @MainActor @Sendable (Frame) -> Void
    ) throws(TimerArgumentError) {
        try self.init(
            preferredRate: preferredRate, paused: isPaused, on: queue.queue,
            handler: { frame in MainActor.assumeIsolated { handler(frame) } })
    }

    /// Creates a ticker on the main actor for an object that it does not retain: after the object has
    /// been released, the ticker is cancelled at its next frame.
    ///
    /// - Parameters:
    ///   - preferredRate: frames per second; from 10⁻⁹ to 10⁹.
    ///   - owner: the object. The handler gets it with each frame.
    ///   - isPaused: whether it starts paused.
    ///   - queue: `.main`, or in a test a main queue with another time.
    ///   - handler: called on the main actor for each frame, and never twice at the same time.
    /// - Throws: `TimerArgumentError`; no ticker was created.
    @_alwaysEmitIntoClient
    public convenience init<Owner: AnyObject & Sendable>(
        preferredRate: Double = 60, for owner: Owner, paused isPaused: Bool = false,
        on queue: MainTimerQueue,
        handler: @escaping @MainActor @Sendable (Owner, Frame) -> Void
    ) throws(TimerArgumentError) {
        try self.init(
            preferredRate: preferredRate, paused: isPaused, on: queue.queue,
            handler: { [weak owner] frame in
                if let owner {
                    MainActor.assumeIsolated { handler(owner, frame) }
                } else {
                    frame.ticker.cancel()
                }
            })
    }

    private init(
        _ rate: Double, _ isPaused: Bool, _ queue: TimerQueue,
        _ handler: @escaping @Sendable (Frame) -> Void
    ) throws(TimerArgumentError) {
        let meter = FrameMeter()
        timer = try TimerSettings(
            tolerance: .zero, basis: .active, isPaused: isPaused, account: nil, queue: queue,
            handlerQueue: nil,
            handler: { tick in
                let span = tick.timer.interval
                meter.record(at: tick.actual)
                handler(
                    Frame(
                        number: tick.number, dropped: tick.missed, timestamp: tick.scheduled,
                        targetTimestamp: tick.scheduled + span, duration: span,
                        actual: tick.actual,
                        ticker: TickerReference(timer: tick.timer, meter: meter)))
            },
            dropsLate: true
        ).every(TickerReference.span(of: rate), nil, nil, .fixedRate)
        reference = TickerReference(timer: timer.reference, meter: meter)
    }

    /// The requested rate, in frames per second.
    public var preferredRate: Double { reference.preferredRate }

    /// Changes the requested rate, from the next frame on.
    ///
    /// - Parameter rate: frames per second; from 10⁻⁹ to 10⁹.
    /// - Throws: `TimerArgumentError`; the rate does not change.
    public func setPreferredRate(_ rate: Double) throws(TimerArgumentError) {
        try reference.setPreferredRate(rate)
    }

    /// The measured rate, in frames per second, in the last complete window of one second; nil
    /// before the first one.
    public var achievedRate: Double? { reference.achievedRate }

    /// Whether it is paused. After a pause the current frame continues with its remaining time.
    public var isPaused: Bool {
        get { reference.isPaused }
        set { reference.isPaused = newValue }
    }

    /// How long it has been running in total, without pauses.
    public var activeTime: Duration { timer.activeTime }

    /// Ends it permanently. It cannot be started again.
    public func cancel() { reference.cancel() }
}

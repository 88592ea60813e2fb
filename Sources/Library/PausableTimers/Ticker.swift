// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One frame, as it is passed to the handler of a `Ticker`.
public struct Frame: Sendable {
    /// The number of the frame, from 1.
    public let number: Int
    /// How many frames before this one were dropped because the handler or its queue was busy.
    public let dropped: Int
    /// When the frame was due, by CLOCK_MONOTONIC.
    public let timestamp: AwakeInstant
    /// When the next frame is due, so the time at which the current drawing should be ready.
    public let targetTimestamp: AwakeInstant
    /// The time from one frame to the next.
    public let duration: Duration
    /// When the handler was called, by CLOCK_MONOTONIC.
    public let actual: AwakeInstant
}

/// Frames at a constant rate, like those of a display link, but without a display.
///
/// ```swift
/// let ticker = try Ticker(preferredRate: 60) { frame in draw(at: frame.targetTimestamp) }
/// ticker.isPaused = true
/// ```
///
/// The ticker exists as long as something references it.
public final class Ticker: Sendable {
    private let timer: PausableTimer
    private let meter: Meter

    /// Creates a ticker.
    ///
    /// - Parameters:
    ///   - preferredRate: frames per second; from 10⁻⁹ to 10⁹.
    ///   - isPaused: whether it starts paused.
    ///   - queue: the queue that runs the handler.
    ///   - handler: called for each frame, and never twice at the same time.
    /// - Throws: `TimerArgumentError`.
    public init(
        preferredRate: Double = 60, paused isPaused: Bool = false, on queue: TimerQueue = .shared,
        handler: @escaping @Sendable (Frame) -> Void
    ) throws(TimerArgumentError) {
        let meter = Meter(span: try Self.span(of: preferredRate))
        self.meter = meter
        timer = try .every(meter.span, paused: isPaused, on: queue) { tick in
            let span = tick.timer.interval
            meter.record(at: tick.actual)
            handler(
                Frame(
                    number: tick.number, dropped: tick.missed, timestamp: tick.scheduled,
                    targetTimestamp: tick.scheduled + span, duration: span, actual: tick.actual))
        }
    }

    /// The requested rate, in frames per second.
    public var preferredRate: Double { .seconds(1) / timer.interval }

    /// Changes the requested rate, from the next frame on.
    ///
    /// - Parameter rate: frames per second; from 10⁻⁹ to 10⁹.
    /// - Throws: `TimerArgumentError`; the rate does not change.
    public func setPreferredRate(_ rate: Double) throws(TimerArgumentError) {
        try timer.setInterval(Self.span(of: rate))
        meter.interrupt()
    }

    /// The measured rate, in frames per second, in the last complete window of one second; nil
    /// before the first one.
    public var achievedRate: Double? { meter.rate }

    /// Whether it is paused. After a pause the current frame continues with its remaining time.
    public var isPaused: Bool {
        get { timer.state == .paused }
        set {
            if newValue { timer.pause() } else { timer.resume() }
            meter.interrupt()
        }
    }

    /// How long it has been running in total, without pauses.
    public var activeTime: Duration { timer.activeTime }

    /// Ends it permanently. It cannot be started again.
    public func cancel() { timer.cancel() }

    private static func span(of rate: Double) throws(TimerArgumentError) -> Duration {
        guard rate >= 1e-9, rate <= 1e9 else {
            throw TimerArgumentError("a rate must be between 1e-9 and 1e9 Hz, not \(rate)")
        }
        return .seconds(1) / rate
    }

    /// The meter. It is separate from the ticker, because the handler must not reference the
    /// ticker.
    private final class Meter: Sendable {
        let span: Duration
        private let state = Lock(RateMeter())

        init(span: Duration) { self.span = span }

        var rate: Double? { state.withLock { $0.rate } }
        func record(at instant: AwakeInstant) { state.withLock { _ = $0.record(at: instant) } }
        func interrupt() { state.withLock { $0.interrupt() } }
    }
}

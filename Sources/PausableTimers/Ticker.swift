// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a `Ticker` calls its handler with, once for each frame.
public struct Frame: Sendable {
    /// The number of the frame, from 1.
    public let number: Int
    /// How many frames before this one were dropped because the handler or its queue was busy.
    public let dropped: Int
    /// When the frame was due.
    public let timestamp: AwakeInstant
    /// When the next frame is due: what is drawn now should be ready by then.
    public let targetTimestamp: AwakeInstant
    /// The time from one frame to the next.
    public let duration: Duration
    /// When the handler was called.
    public let actual: AwakeInstant
}

/// Frames at a steady rate, as a display link gives them, without a display.
///
/// ```swift
/// let ticker = try Ticker(preferredRate: 60) { frame in draw(at: frame.targetTimestamp) }
/// ticker.isPaused = true
/// ```
///
/// It exists for as long as something holds it.
public final class Ticker: Sendable {
    private let timer: PausableTimer
    private let meter: Meter

    /// Makes a ticker.
    ///
    /// - Parameters:
    ///   - preferredRate: frames a second; from 10⁻⁹ to 10⁹.
    ///   - isPaused: whether it begins paused.
    ///   - queue: where the handler runs.
    ///   - handler: called for each frame, never twice at once.
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

    /// Frames a second, as asked for.
    public var preferredRate: Double { .seconds(1) / timer.interval }

    /// Asks for another rate, from the next frame on.
    ///
    /// - Parameter rate: frames a second; from 10⁻⁹ to 10⁹.
    /// - Throws: `TimerArgumentError`; the rate stays as it was.
    public func setPreferredRate(_ rate: Double) throws(TimerArgumentError) {
        try timer.setInterval(Self.span(of: rate))
        meter.interrupt()
    }

    /// Frames a second, as they came in the last whole window of a second; nil before there was one.
    public var achievedRate: Double? { meter.rate }

    /// Whether no frames come. A pause cuts no frame short: what was left of it comes after the pause.
    public var isPaused: Bool {
        get { timer.state == .paused }
        set {
            if newValue { timer.pause() } else { timer.resume() }
            meter.interrupt()
        }
    }

    /// How long it was running in all; pauses left out.
    public var activeTime: Duration { timer.activeTime }

    /// Ends it for good.
    public func cancel() { timer.cancel() }

    private static func span(of rate: Double) throws(TimerArgumentError) -> Duration {
        guard rate >= 1e-9, rate <= 1e9 else {
            throw TimerArgumentError("a rate must be between 1e-9 and 1e9 Hz, not \(rate)")
        }
        return .seconds(1) / rate
    }

    /// The meter, apart from the ticker that the handler must not hold.
    private final class Meter: Sendable {
        let span: Duration
        private let state = Lock(RateMeter())

        init(span: Duration) { self.span = span }

        var rate: Double? { state.withLock { $0.rate } }
        func record(at instant: AwakeInstant) { state.withLock { _ = $0.record(at: instant) } }
        func interrupt() { state.withLock { $0.interrupt() } }
    }
}

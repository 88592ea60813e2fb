// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A reference that does not keep its ticker alive. It is passed to the handler with each frame.
/// After the ticker was released, all operations are ignored.
///
/// Everything can be called from any thread, also in the handler of the ticker itself.
public struct TickerReference: Sendable {
    let timer: TimerReference
    let meter: FrameMeter

    /// The requested rate, in frames per second; infinite if the ticker was released.
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
        nonmutating set {
            if newValue { timer.pause() } else { timer.resume() }
            meter.interrupt()
        }
    }

    /// Ends the ticker permanently. It cannot be started again.
    public func cancel() { timer.cancel() }

    static func span(of rate: Double) throws(TimerArgumentError) -> Duration {
        guard rate >= 1e-9, rate <= 1e9 else {
            throw TimerArgumentError("a rate must be between 1e-9 and 1e9 Hz, not \(rate)")
        }
        return .seconds(1) / rate
    }
}

/// The meter of a ticker. It is separate from the ticker, because the handler must not reference
/// the ticker.
final class FrameMeter: Sendable {
    private let state = Lock(RateMeter())

    var rate: Double? { state.withLock { $0.rate } }
    func record(at instant: AwakeInstant) { state.withLock { _ = $0.record(at: instant) } }
    func interrupt() { state.withLock { $0.interrupt() } }
}

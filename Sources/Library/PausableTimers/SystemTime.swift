// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import Dispatch

/// The clocks of the machine, with alarms that use `DispatchSourceTimer`.
public struct SystemTime: TimeSource {
    /// It has no state: all values read the same clocks.
    public init() {}

    /// The boot of this process. Without /proc it is a random number, so that no account is
    /// mistaken for one that was saved in this boot.
    public static let bootID: BootID = {
        if let boot = Platform.bootID().flatMap({ BootID($0) }) { return boot }
        let random = (0..<32).map { _ in String(UInt8.random(in: 0..<16), radix: 16) }
        guard let boot = BootID(random.joined()) else {
            preconditionFailure("32 hexadecimal digits are a boot id.")
        }
        return boot
    }()

    public func now() -> Now {
        Now(
            wall: WallInstant(microsecondsSinceEpoch: Platform.wallNanoseconds / 1000),
            awake: AwakeInstant(nanoseconds: Platform.monotonicNanoseconds),
            boot: BootInstant(nanoseconds: Platform.boottimeNanoseconds), bootID: Self.bootID)
    }

    public func makeAlarm(
        on queue: DispatchQueue, _ ring: @escaping @Sendable () -> Void
    ) -> any Alarm {
        SystemAlarm(on: queue, ring)
    }
}

/// A dispatch source. It is never suspended, so it can be released at any time.
final class SystemAlarm: Alarm {
    // Safe, because its methods may be called from any thread (dispatch_source_set_timer(3)). The
    // compiler cannot check it: the class of all dispatch sources is not declared Sendable.
    private nonisolated(unsafe) let source: any DispatchSourceTimer

    init(on queue: DispatchQueue, _ ring: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeTimerSource(queue: queue)
        source.setEventHandler(handler: ring)
        source.activate()
    }

    deinit { source.cancel() }

    func set(_ instant: AwakeInstant?) { set(instant, repeating: 0) }

    /// Sets it to expire at `instant` and then every `interval` nanoseconds; 0: only once.
    func set(_ instant: AwakeInstant?, repeating interval: Int64) {
        guard let instant else { return source.schedule(deadline: .distantFuture) }
        // On Linux the uptime of Dispatch is CLOCK_MONOTONIC in nanoseconds. Zero would mean "now".
        let deadline = DispatchTime(uptimeNanoseconds: UInt64(max(1, instant.nanoseconds)))
        if interval > 0 {
            source.schedule(
                deadline: deadline, repeating: .nanoseconds(Int(interval)), leeway: .nanoseconds(0))
        } else {
            source.schedule(deadline: deadline, leeway: .nanoseconds(0))
        }
    }

    /// Sets it to expire when the wall clock reads `instant`, even if the machine sleeps until
    /// then.
    func set(wall instant: WallInstant) {
        let time = Platform.wallTime(microseconds: instant.microsecondsSinceEpoch)
        source.schedule(wallDeadline: time, leeway: .nanoseconds(0))
    }

    func cancel() { source.cancel() }
}

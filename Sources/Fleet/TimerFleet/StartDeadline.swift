// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// Up to when a claimed run may be started.
///
/// When the lease of this machine expires, others declare its runs lost, so it must not start
/// anything then. The lease cannot expire before the last keepalive that was answered was sent,
/// plus its TTL. CLOCK_BOOTTIME counts also while the machine is suspended.
public struct StartDeadline: Hashable, Sendable {
    /// How long before the lease can expire the last start is: the runner needs some time from the
    /// check to the start of the process.
    public static let margin = Duration.seconds(1)
    /// The shortest TTL of a lease.
    public static let leaseMin = Duration.seconds(3)

    /// The TTL of the lease.
    public var lease: Duration
    /// When the last keepalive that was answered was sent; nil without a lease.
    public var kept: BootInstant?

    /// Nothing may be started before the first keepalive is answered.
    ///
    /// - Parameter lease: at least `leaseMin`; a shorter one is `leaseMin`.
    public init(lease: Duration) { self.lease = max(lease, Self.leaseMin) }

    /// A keepalive that was sent then, or the request for the lease, was answered.
    public mutating func answered(sent: BootInstant) {
        kept = kept.map { max($0, sent) } ?? sent
    }

    /// Up to when a run may be started that was claimed by a transaction that was first sent then;
    /// nil: it may not be started.
    ///
    /// It is bound to the claim as well: who pauses a job waits at most this long for the runs that
    /// were claimed before the pause.
    public func instant(claimSent: BootInstant) -> BootInstant? {
        kept.map { min($0, claimSent) + (lease - Self.margin) }
    }
}

extension BootInstant {
    static func + (instant: Self, span: Duration) -> Self {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(span.wholeNanoseconds)
        return Self(nanoseconds: overflow ? .max : sum)
    }
}

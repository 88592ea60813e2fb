// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The time that is added to a saved account for the time since it was saved, when another process
/// or another boot of the machine restores it. Time is never gained: time that may or may not have
/// counted is not added, and its maximum is reported.
public struct Credit: Hashable, Sendable {
    /// The time that certainly counted: never more than really passed.
    public var counted: Duration
    /// The maximum of further time that may have counted.
    public var maxLoss: Duration

    /// Creates a credit with this time and this maximum.
    public init(counted: Duration = .zero, maxLoss: Duration = .zero) {
        self.counted = counted
        self.maxLoss = maxLoss
    }

    /// Calculates the time that counted since an account was saved, if it was counting at that
    /// time.
    ///
    /// - Parameters:
    ///   - basis: which clock its time is counted by.
    ///   - saved: the clocks when it was saved.
    ///   - lastProven: the last reading of the clocks at which the process that saved it was
    ///     certainly running; nil if there is no proof later than `saved`.
    ///   - later: the time that later processes certainly counted without saving it. It is only
    ///     used for active time: for the other bases the clocks show it.
    ///   - now: the clocks when it is restored.
    ///   - lossBound: how long all these processes together may have run after their last proofs.
    public init(
        _ basis: TimeBasis, since saved: Now, lastProven: Now?, later: Duration = .zero,
        at now: Now,
        lossBound: Duration
    ) {
        self.init()
        let isSameBoot = saved.bootID == now.bootID
        // Clocks of another boot prove nothing about this account.
        let proven = lastProven.flatMap { $0.bootID == saved.bootID ? $0 : nil }
        let provenTime = max(
            .zero, proven.map { $0.counted(basis) - saved.counted(basis) } ?? .zero)
        switch basis {
        case .active:
            counted = provenTime + later
            // Within one boot, no more can be lost than the time that passed by its clock.
            maxLoss =
                isSameBoot
                ? max(.zero, min(lossBound, now.awake - saved.awake - counted)) : lossBound
        case .uptime, .boottime, .wall:
            if isSameBoot {
                counted = max(.zero, now.counted(basis) - saved.counted(basis))
                return
            }
            let sinceBoot = Self.sinceBoot(
                basis, notBefore: max(proven?.wall ?? saved.wall, saved.wall), at: now)
            let known = provenTime + sinceBoot
            let passed = now.wall - saved.wall
            if basis == .wall {
                // A wall clock that was wrong at the boot does not reduce the time that is proven.
                counted = max(known, passed)
            } else {
                // How long the last boot continued after the proof is not known. The maximum is all
                // the remaining time that passed.
                counted = known
                maxLoss = max(.zero, passed - known)
            }
        }
    }

    /// The time that counted since this boot started, by a clock that is zero at the boot. It is
    /// limited to the time since `last`, the last heartbeat of the previous boot, by the wall
    /// clock: in a container these clocks are those of the host, and are not reset when the
    /// container restarts. Not negative.
    public static func sinceBoot(
        _ basis: TimeBasis, notBefore last: WallInstant?, at now: Now
    ) -> Duration {
        let counted = Duration.nanoseconds(now.counted(basis).nanoseconds)
        return max(.zero, last.map { min(counted, now.wall - $0) } ?? counted)
    }
}

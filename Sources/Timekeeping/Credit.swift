// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What is added to a saved account for the time since it was saved, when another process or another boot of
/// the machine takes it up. Time is never gained: what may or may not have counted is not added, and its
/// bound is told.
public struct Credit: Hashable, Sendable {
    /// What is known to have counted: never more than really passed.
    public var counted: Duration
    /// How much more may have counted, at most.
    public var maxLoss: Duration

    /// So much time, and such a bound.
    public init(counted: Duration = .zero, maxLoss: Duration = .zero) {
        self.counted = counted
        self.maxLoss = maxLoss
    }

    /// What counted since an account was saved that was counting then.
    ///
    /// - Parameters:
    ///   - basis: what counts as its time.
    ///   - saved: the clocks when it was saved.
    ///   - lastProven: the last reading of the clocks at which the process that saved it is known to have
    ///     been running; nil if there is no proof later than `saved`.
    ///   - later: what later processes are known to have counted, which saved nothing. Matters to active time
    ///     alone: for the other bases the clocks tell.
    ///   - now: the clocks as it is taken up.
    ///   - lossBound: how long each process may have gone on after its last proof, at most, in all.
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
            // Nothing is lost beyond what passed, where one boot's clock can tell.
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
                // A calendar clock that was wrong at the boot does not take away what is known.
                counted = max(known, passed)
            } else {
                // How long the last boot went on after the proof is not known: at most for all the rest of
                // the time that passed.
                counted = known
                maxLoss = max(.zero, passed - known)
            }
        }
    }

    /// What counted since this boot began, by a clock that begins at zero with it. No more than the wall clock says
    /// passed since `last`, the last sign of the boot before: in a container both clocks are those of the machine, and
    /// go on from boot to boot. Not negative.
    public static func sinceBoot(
        _ basis: TimeBasis, notBefore last: WallInstant?, at now: Now
    ) -> Duration {
        let counted = Duration.nanoseconds(now.counted(basis).nanoseconds)
        return max(.zero, last.map { min(counted, now.wall - $0) } ?? counted)
    }
}

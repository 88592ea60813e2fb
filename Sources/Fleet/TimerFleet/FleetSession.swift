// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The lease of this machine, and its key with that lease, by which the others know that it is there.
struct FleetSession {
    enum Request: Hashable {
        case open
        case keepAlive(LeaseID)
    }

    /// How long a request for a lease or a snapshot may take before it is made again.
    static let requestTimeout = Duration.seconds(3)

    private(set) var lease: LeaseID?
    private(set) var deadline: StartDeadline
    /// When the lease was asked for, or was prolonged last; nil: neither.
    private var asked: BootInstant?
    /// The key as it was last sent.
    private var announced: (lease: LeaseID, value: MemberValue)?

    init(lease: Duration) { deadline = StartDeadline(lease: lease) }

    /// The time between two requests.
    private var interval: Duration {
        lease == nil ? Self.requestTimeout : deadline.lease / 3
    }

    /// What must be asked now; nil: nothing.
    mutating func request(at now: BootInstant) -> Request? {
        guard asked.map({ $0 + interval <= now }) ?? true else { return nil }
        asked = now
        return lease.map { .keepAlive($0) } ?? .open
    }

    /// When something must be asked at the latest.
    func nextRequest(at now: BootInstant) -> BootInstant { (asked ?? now) + interval }

    /// The store granted a lease. A second one ends by itself.
    mutating func opened(_ lease: LeaseID, sent: BootInstant) {
        guard self.lease == nil else { return }
        self.lease = lease
        asked = sent
        deadline.answered(sent: sent)
    }

    /// The lease was prolonged.
    mutating func kept(_ lease: LeaseID, sent: BootInstant) {
        if lease == self.lease { deadline.answered(sent: sent) }
    }

    /// The store does not know the lease any more.
    mutating func lost(_ lease: LeaseID) {
        guard lease == self.lease else { return }
        self.lease = nil
        asked = nil
    }

    // MARK: - The key

    /// Whether the key must be written: it has another lease, or something in it changes.
    func mustAnnounce(_ value: MemberValue, with lease: LeaseID) -> Bool {
        announced.map { $0.lease != lease || $0.value != value } ?? true
    }

    mutating func announced(_ value: MemberValue, with lease: LeaseID) {
        announced = (lease, value)
    }

    /// The key is not as it was sent, or that is not known.
    mutating func forgetAnnouncement() { announced = nil }

    /// Whether the key was sent with the lease that there is now.
    var isAnnounced: Bool { lease.map { announced?.lease == $0 } ?? false }
}

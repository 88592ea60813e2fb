// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
public import TimerFleet

/// The scheduler's connection to `timerd-fleet`, which performs the actions of a `FleetMember` that
/// need the store:
///
/// ```swift
/// let link = try FleetLink(FleetLink.Configuration(fleet: "prod", lease: .seconds(10)))
/// link.begin { report in
///     switch report {
///     case .event(let event): …        // for FleetMember.handle, on the owner's queue
///     case .status(let status): …      // for `timerctl fleet` and the log
///     }
/// }
/// for action in member.handle(event, at: now) where !link.perform(action) { … }
/// link.close(endingLeases: true)
/// ```
///
/// It works on its own thread. `perform` only posts the action and returns at once. Whatever happens
/// to `timerd-fleet`, to etcd and to the connection, each transaction is answered exactly once, by
/// `answered` or `unknown`, until `close`. Without a connection that is `unknown`, a second later. An
/// action about the lease or the watch may stay without an answer, and the member requests it again.
/// After the loss of the connection the watch is reported as lost. The link connects again by itself.
public final class FleetLink: Sendable {
    /// To what a link connects, and for which fleet.
    public struct Configuration: Sendable {
        /// The path of the socket of `timerd-fleet`.
        public var path: String
        /// The name of the fleet. `timerd-fleet` refuses a scheduler of another one, because their
        /// keys have other names.
        public var fleet: String
        /// The TTL of the lease, 1 s to a day; fractions of a second are rounded up.
        public var lease: Duration
        /// The users as whom `timerd-fleet` may run, beside root and the user of this process. A
        /// socket of systemd belongs to root.
        public var users: Set<UInt32>

        /// By default a link to the usual path, and to a process of root or of this user.
        public init(
            path: String = FleetSocket.path, fleet: String, lease: Duration,
            users: Set<UInt32> = []
        ) {
            self.path = path
            self.fleet = fleet
            self.lease = lease
            self.users = users
        }
    }

    /// What a link reports to the fleet's member, which uses it.
    public enum Report: Sendable {
        /// One of the events that answer an action: `leased`, `kept`, `leaseLost`, `loaded`,
        /// `changed`, `watchLost`, `answered` or `unknown`.
        case event(FleetEvent)
        /// The state of the connection changed to this.
        case status(FleetLinkStatus)
    }

    /// The reason why a link cannot work.
    public struct Failure: Error, Hashable, CustomStringConvertible {
        /// What is wrong, and what to do next.
        public let description: String
    }

    /// Receives the reports, on the thread of the link. It must return soon.
    public typealias Handler = @Sendable (Report) -> Void

    private let configuration: Configuration
    private let mailbox: LinkMailbox

    /// A link that does nothing until `begin`.
    ///
    /// - Throws: `Failure` if this process has no free descriptor.
    public init(_ configuration: Configuration) throws(Failure) {
        self.configuration = configuration
        mailbox = try LinkMailbox()
    }

    deinit { mailbox.post(.close(endingLeases: false)) }

    /// Starts the thread, which connects and reports from now on. Call it once. Actions that were
    /// posted before are performed then.
    ///
    /// - Throws: `Failure` if there can be no thread.
    public func begin(_ handler: @escaping Handler) throws(Failure) {
        let code = LinkLoop.start(configuration, mailbox, handler)
        guard code == 0 else {
            throw Failure(
                description: "cannot start a thread: \(String(cString: strerror(code)))")
        }
    }

    /// Performs an action that needs the store: `openLease`, `keepAlive`, `load` or `send`. It never
    /// waits.
    ///
    /// - Returns: false for any other action, which the caller performs.
    public func perform(_ action: FleetAction) -> Bool {
        switch action {
        case .openLease: mailbox.post(.openLease)
        case .keepAlive(let lease): mailbox.post(.keepAlive(lease))
        case .load: mailbox.post(.load)
        case .send(let id, let transaction): mailbox.post(.send(id, transaction))
        case .record, .forget, .remember, .rememberMore, .start, .end, .drain, .done, .tell:
            return false
        }
        return true
    }

    /// Disconnects, and returns when that is done, at the latest after the time-out. Reports may
    /// still arrive meanwhile, and none later.
    ///
    /// - Parameter endingLeases: whether the leases that were opened over this link end now, and the
    ///   key of this machine with them, instead of after their TTL. Then the other machines regard
    ///   the runs that are still active here as lost.
    public func close(endingLeases: Bool, timeout: Duration = .seconds(2)) {
        mailbox.post(.close(endingLeases: endingLeases))
        mailbox.waitUntilFinished(timeout)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostThreads
import Synchronization
import TimerFleet
import TimerFleetLink
import TimerRunnerProtocol

/// What the threads report to the scheduler, until the main thread writes it to the connection.
///
/// Each report is for one connection: the reports for an earlier one are dropped.
final class ReportQueue: Sendable {
    /// How many bytes may wait before the threads wait for the scheduler. One report more fits.
    static let bytesMax = 4 << 20

    struct Report: Sendable {
        var bytes: [UInt8]
        /// Whether it is the answer to a request.
        var isAnswer: Bool
    }

    private struct State {
        var client: UInt64 = 0
        var reports: [Report] = []
        var bytes = 0
        /// Reports that are not sent before an instant.
        var delayed: [(at: Int64, report: Report)] = []
        var status: FleetLinkStatus?
        /// Whether threads wait for room.
        var hasWaiting = false
    }

    /// The descriptor that wakes the main thread.
    private let wake: Int32
    private let state = Mutex(State())

    init(wake: Int32) { self.wake = wake }

    /// Reports for other connections than this one are dropped from now on; 0: all.
    func serve(_ client: UInt64) {
        state.withLock { state in
            state.client = client
            state.reports = []
            state.delayed = []
            state.bytes = 0
        }
    }

    /// Adds a report, even if there is no room.
    ///
    /// - Parameters:
    ///   - isAnswer: whether it is the answer to a request.
    ///   - instant: of CLOCK_MONOTONIC, before which it is not sent.
    func put(
        _ report: FleetReport, for client: UInt64, isAnswer: Bool = true,
        notBefore instant: Int64 = 0
    ) {
        let new = Report(bytes: report.bytes, isAnswer: isAnswer)
        state.withLock { state in
            guard state.client == client else { return }
            if instant > RunnerClock.awake() {
                state.delayed.append((instant, new))
            } else {
                state.reports.append(new)
                state.bytes += new.bytes.count
            }
        }
        EventFD.signal(wake)
    }

    /// Adds a report if there is room, or if its connection is gone.
    ///
    /// - Returns: false if there is no room. The threads are woken when there is.
    func putIfRoom(_ report: Report, for client: UInt64) -> Bool {
        let isDone = state.withLock { state in
            guard state.client == client else { return true }
            guard state.bytes < Self.bytesMax else {
                state.hasWaiting = true
                return false
            }
            state.reports.append(report)
            state.bytes += report.bytes.count
            return true
        }
        if isDone { EventFD.signal(wake) }
        return isDone
    }

    /// Whether there is still a connection for these reports.
    func isServed(_ client: UInt64) -> Bool { state.withLock { $0.client == client } }

    /// Sets the status to report next.
    func put(_ status: FleetLinkStatus) {
        state.withLock { $0.status = status }
        EventFD.signal(wake)
    }

    // MARK: - For the main thread

    struct Taken {
        var reports: [Report] = []
        /// The latest status, if it changed.
        var status: FleetLinkStatus?
        /// When the next of the delayed reports is due.
        var nextAt: Int64?
        /// Whether the threads must be woken, because there is room now.
        var hasRoom = false
    }

    /// Takes what can be sent.
    ///
    /// - Parameter isFull: whether the connection takes nothing now.
    func drain(at now: Int64, isFull: Bool) -> Taken {
        state.withLock { state in
            var taken = Taken(status: state.status)
            state.status = nil
            guard !isFull else {
                taken.nextAt = nil
                return taken
            }
            let due = state.delayed.filter { $0.at <= now }
            if !due.isEmpty { state.delayed.removeAll { $0.at <= now } }
            taken.reports = state.reports + due.map(\.report)
            taken.nextAt = state.delayed.map(\.at).min()
            taken.hasRoom = state.hasWaiting
            state.hasWaiting = false
            state.reports = []
            state.bytes = 0
            return taken
        }
    }
}

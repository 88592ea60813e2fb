// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TimerFleetLink
import TimerRunnerProtocol

/// A connection of a scheduler, which may not be greeted yet.
final class SchedulerConnection {
    /// Numbers the connections, from 1.
    let number: UInt64
    /// The process that connected, for messages; 0 if it is not known.
    let process: Int32
    let since = RunnerClock.awake()
    var socket: FrameSocket
    var isGreeted = false
    /// How many requests have no answer yet.
    var unanswered = 0
    /// When something was last written, by CLOCK_MONOTONIC in nanoseconds.
    var written: Int64 = 0
    /// The number of the last request to read all keys.
    var load: UInt64 = 0

    init(_ descriptor: Int32, number: UInt64, process: Int32) {
        self.number = number
        self.process = process
        socket = FrameSocket(descriptor, frameBytesMax: FleetWire.requestBytesMax)
    }

    func send(_ report: FleetReport) { send(report.bytes) }

    func send(_ bytes: [UInt8]) {
        socket.send(bytes)
        written = RunnerClock.awake()
    }

    /// Whether the other end has closed the connection. What it sent before can still be read.
    var isHungUp: Bool {
        var wanted = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&wanted, 1, 0) > 0 && Int32(wanted.revents) & POLLHUP != 0
    }
}

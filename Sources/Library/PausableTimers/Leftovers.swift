// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// Objects that are released, continuations that are resumed and functions that are called only
/// after the lock was released, because they may call the queue again.
struct Leftovers: ~Copyable, Sendable {
    private var handler: TickHandler?
    private var handlerQueue: DispatchQueue?
    private var extras: Extras?
    private var streams: [TickStream] = []
    private var waiters: [CheckedContinuation<Void, Never>] = []
    var onChange: (call: @Sendable (TimerReference) -> Void, timer: TimerReference)?

    /// Moves the handler of the row here, because the row does not need it any more.
    mutating func take(from row: inout Row) {
        handler = row.handler
        row.handler = nil
        guard let extras = row.extras else { return }
        streams = extras.streams
        extras.streams = []
    }

    /// Moves everything that the row references here.
    mutating func takeAll(from row: inout Row) {
        takeWaiters(from: row)
        take(from: &row)
        handlerQueue = row.handlerQueue
        row.handlerQueue = nil
        extras = row.extras
        row.extras = nil
    }

    mutating func takeWaiters(from row: borrowing Row) {
        guard let extras = row.extras, !extras.waiters.isEmpty else { return }
        waiters = extras.waiters
        extras.waiters = []
    }

    mutating func add(_ stream: TickStream) { streams.append(stream) }
    mutating func add(_ waiter: CheckedContinuation<Void, Never>) { waiters.append(waiter) }

    func settle() {
        for stream in streams { stream.finish() }
        for waiter in waiters { waiter.resume() }
        if let onChange { onChange.call(onChange.timer) }
    }
}

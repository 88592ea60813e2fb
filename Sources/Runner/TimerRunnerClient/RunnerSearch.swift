// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import TimerCore
import TimerRunnerProtocol

/// Decides when to reconnect to a lost runner. If another process starts it, the client reconnects
/// as soon as something changes at the path of its socket (inotify(7)), and retries often for a
/// while, because the socket exists before the runner listens. Otherwise the interval between
/// attempts grows.
struct RunnerSearch: ~Copyable {
    /// How long the client retries often, in nanoseconds.
    private static let eagerTime: Int64 = 2_000_000_000

    private let path: String?
    /// The inotify descriptor while the client reconnects; otherwise -1.
    private(set) var descriptor: Int32 = -1
    private var watch: Int32 = -1
    /// The name in the watched directory that a starting runner creates: its socket, or a directory
    /// on the path to it.
    private var name = ""
    private var retryAt: Int64 = 0
    private var eagerUntil: Int64 = 0
    private var pause = RunnerClient.retryMin
    private var connectedAt: Int64 = RunnerClock.awake()

    /// - Parameter path: of the socket of a runner that another process starts; nil for one that
    ///   each attempt starts.
    init(announcedBy path: String?) { self.path = path }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The connection is lost: the search for the runner begins.
    mutating func begin(at now: Int64 = RunnerClock.awake()) {
        // If the connection lasted for a while, the client reconnects at once; otherwise the
        // interval grows.
        if now - connectedAt > RunnerClient.retryMax.wholeNanoseconds {
            pause = RunnerClient.retryMin
            retryAt = now
            eagerUntil = now + Self.eagerTime
        } else {
            retryAt = now + pause.wholeNanoseconds
            pause = min(pause * 2, RunnerClient.retryMax)
        }
        guard path != nil, descriptor < 0 else { return }
        descriptor = InotifyEvent.descriptor()
        watchPath()
    }

    /// The client is connected again: the search ends.
    mutating func end() {
        connectedAt = RunnerClock.awake()
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
        watch = -1
    }

    func isDue(at now: Int64) -> Bool { now >= retryAt }

    /// How long to wait before the next attempt, in milliseconds.
    var timeout: Int32 {
        Int32(clamping: max(0, (retryAt - RunnerClock.awake()) / 1_000_000 + 1))
    }

    /// An attempt has failed: plans the next one.
    mutating func fail(at now: Int64 = RunnerClock.awake()) {
        // A runner that each attempt starts must not be started twenty times a second.
        if path != nil, now < eagerUntil {
            retryAt = now + RunnerClient.retryMin.wholeNanoseconds
        } else {
            retryAt = now + pause.wholeNanoseconds
            pause = min(pause * 2, RunnerClient.retryMax)
        }
        // A directory on the path may have been created or removed.
        watchPath()
    }

    /// Handles a change in the watched directory: the runner may be there now, so it is tried at
    /// once.
    mutating func handleChange(at now: Int64 = RunnerClock.awake()) {
        // Without a name, the event is about the directory itself, or events were lost.
        let events = InotifyEvent.read(from: descriptor)
        guard events.contains(where: { $0.name.isEmpty || $0.name == name }) else { return }
        watchPath()
        retryAt = now
        eagerUntil = now + Self.eagerTime
        pause = RunnerClient.retryMin
    }

    /// Watches the directory of the socket, or the nearest existing directory above it.
    private mutating func watchPath() {
        guard descriptor >= 0, let path else { return }
        var parts = path.split(separator: "/")
        let wanted = IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF
        let events = UInt32(bitPattern: Int32(wanted)) | UInt32(IN_ONLYDIR)
        while let last = parts.popLast() {
            let start = path.hasPrefix("/") ? "/" : "./"
            let added = inotify_add_watch(descriptor, start + parts.joined(separator: "/"), events)
            guard added < 0 else {
                if watch >= 0, watch != added { inotify_rm_watch(descriptor, watch) }
                watch = added
                name = String(last)
                return
            }
        }
    }
}

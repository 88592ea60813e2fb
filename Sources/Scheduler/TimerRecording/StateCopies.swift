// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
package import HostFiles
package import Logging
import Synchronization
package import TimerCore
import TimerStore

/// Keeps the marker and the last good copy of the database, which is made once a day and at each
/// clean stop. It has its own queue and its own connection, so that no decision or record waits for
/// it.
package final class StateCopies: Sendable {
    /// The age at which a new copy is made.
    static let interval: Duration = .seconds(86_400)
    /// The shortest time from a start to the first copy, because other services start at the same
    /// time.
    static let delay: Duration = .seconds(60)
    /// How long a copy may take, and how long it may take at a stop. A copy that takes longer is
    /// cancelled.
    static let limit: Duration = .seconds(600)
    static let limitAtStop: Duration = .seconds(3)

    private let queue = DispatchQueue(label: "timerd.copies", qos: .utility)
    private let state: Directory
    private let recorder: Recorder
    private let log: Logger
    private let wall: @Sendable () -> WallInstant
    private let isStopping = Atomic(false)

    /// - Parameter state: the directory of the database.
    package init(
        of state: Directory, recorder: Recorder, log: Logger,
        wall: @escaping @Sendable () -> WallInstant
    ) {
        self.state = state
        self.recorder = recorder
        self.log = log
        self.wall = wall
    }

    /// Writes the marker. Makes a copy if the last one is a day old, and then each day. Must be
    /// called once the first records of this start are on the disk.
    package func begin() {
        mark {}
        queue.async { self.plan() }
    }

    /// Makes a copy and writes the marker, at a stop. Calls `done` when both are finished.
    package func finish(_ done: @escaping @Sendable () -> Void) {
        isStopping.store(true, ordering: .relaxed)
        mark {
            self.copy(limit: Self.limitAtStop, keepsRoom: false)
            done()
        }
    }

    private func plan() {
        var age = Self.interval
        // The age of a file with a time in the future is not known.
        if let status = try? state.status(of: StoreCopy.fileName) {
            let made = WallInstant(secondsSinceEpoch: Int64(status.st_mtim.tv_sec))
            age = max(.zero, wall() - made)
        }
        let wait = max(Self.delay, Self.interval - age)
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(wait.wholeNanoseconds))) {
            [weak self] in
            guard let self, !isStopping.load(ordering: .relaxed) else { return }
            mark {
                self.copy(limit: Self.limit, keepsRoom: true)
                self.queue.asyncAfter(deadline: .now() + .seconds(60)) { [weak self] in
                    self?.plan()
                }
            }
        }
    }

    /// Writes the marker with a generation that is on the disk by then, and calls `rest` afterwards
    /// on the queue.
    private func mark(_ rest: @escaping @Sendable () -> Void) {
        recorder.whenDurable { settled in
            self.queue.async {
                if let (identity, jobs) = settled { self.write(identity, jobs: jobs) }
                rest()
            }
        }
    }

    private func write(_ identity: Store.Identity, jobs: Int) {
        do throws(Directory.Failure) {
            try StateMarker(identity: identity, jobs: jobs, at: wall()).write(in: state)
        } catch {
            log.warning("\(error); if the database is lost now, the next start may not notice it")
        }
    }

    /// Whether a copy of this size leaves at least the same space free on the disk. If a copy
    /// filled the disk, the daemon could not record firings until it was removed.
    static func leavesRoom(_ bytes: Int64, in path: String) -> Bool {
        var room = statvfs()
        guard statvfs(path, &room) == 0 else { return true }
        return UInt64(room.f_bavail) * UInt64(room.f_frsize) / 2 >= UInt64(max(0, bytes))
    }

    /// - Parameter keepsRoom: whether to make no copy if it would take most of the free space.
    private func copy(limit: Duration, keepsRoom: Bool) {
        let new = "\(StoreCopy.fileName).new"
        do {
            try state.remove(new)
            let path = try state.resolvedPath()
            let bytes = try Store.fileNames.prefix(2).reduce(Int64(0)) {
                try $0 + Int64(state.status(of: $1)?.st_size ?? 0)
            }
            guard !keepsRoom || Self.leavesRoom(bytes, in: path) else {
                return log.warning(
                    """
                    \(path): there is too little room for a copy of the database (\(bytes / 1024) KiB); the last good \
                    copy stays as it is (\(StoreCopy.fileName)); free space on its disk
                    """)
            }
            try StoreCopy.write("\(path)/\(Store.fileName)", to: "\(path)/\(new)", limit: limit)
            try state.sync(new)
            try state.rename(new, to: StoreCopy.fileName)
            try state.sync()
        } catch {
            log.warning(
                "\(error); the last good copy of the database stays as it is (\(StoreCopy.fileName))"
            )
            try? state.remove(new)
        }
    }
}

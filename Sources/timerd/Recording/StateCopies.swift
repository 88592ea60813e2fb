// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import HostFiles
import Logging
import Synchronization
import TimerCore
import TimerStore

/// Keeps the last good copy of the database, made once a day and at each clean stop, and the marker. On a queue of its
/// own, by a connection of its own: nothing that is decided or recorded waits for it.
final class StateCopies: Sendable {
    /// How old the copy may become.
    static let interval: Duration = .seconds(86_400)
    /// How long after a start the first copy is made at the earliest: others start at the same time.
    static let delay: Duration = .seconds(60)
    /// How long a copy may take, and how long at a stop. One that takes longer is not made.
    static let limit: Duration = .seconds(600)
    static let limitAtStop: Duration = .seconds(3)

    private let queue = DispatchQueue(label: "timerd.copies", qos: .utility)
    private let state: Directory
    private let recorder: Recorder
    private let log: Logger
    private let wall: @Sendable () -> WallInstant
    private let isStopping = Atomic(false)

    /// - Parameter state: the directory of the database.
    init(
        of state: Directory, recorder: Recorder, log: Logger,
        wall: @escaping @Sendable () -> WallInstant
    ) {
        self.state = state
        self.recorder = recorder
        self.log = log
        self.wall = wall
    }

    /// Writes the marker, and makes a copy if the last one is a day old, and from then on each day. To be called once
    /// the first records of this start are on the disk.
    func begin() {
        mark {}
        queue.async { self.plan() }
    }

    /// Makes a copy and writes the marker, at a stop. Calls `done` when nothing more is to come.
    func finish(_ done: @escaping @Sendable () -> Void) {
        isStopping.store(true, ordering: .relaxed)
        mark {
            self.copy(limit: Self.limitAtStop, keepsRoom: false)
            done()
        }
    }

    private func plan() {
        var age = Self.interval
        // A file of the future is not trusted with how old it is.
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

    /// Writes the marker with a generation that is on the disk by then, and does the rest behind it on the queue.
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

    /// Whether a copy of so many bytes leaves at least as much room again on the disk of a directory. A copy that fills
    /// the disk keeps the daemon from recording firings until it is removed.
    static func leavesRoom(_ bytes: Int64, in path: String) -> Bool {
        var room = statvfs()
        guard statvfs(path, &room) == 0 else { return true }
        return UInt64(room.f_bavail) * UInt64(room.f_frsize) / 2 >= UInt64(max(0, bytes))
    }

    /// - Parameter keepsRoom: whether no copy is made where it would take most of the room that is left.
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

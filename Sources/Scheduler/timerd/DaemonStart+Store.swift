// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import HostFiles
import Logging
import TimerCore
import TimerDaemon
import TimerLog
import TimerRecording
import TimerStore

/// The steps of a start that read and open the saved state.
extension DaemonStart {
    /// Opens the database and reads what earlier instances saved.
    ///
    /// - Returns: no store if the disk is too full to open it for writing. The saved state is read
    ///   nevertheless.
    /// - Throws: `ExitCode` if the saved state has disappeared. The log says so, and nothing was
    ///   written.
    func openStore(
        _ saved: SavedState, _ heartbeat: HeartbeatFile
    ) throws -> sending (store: Store?, past: RecoveredState) {
        let path = try Self.path(in: saved.state)
        let instance = saved.heartbeat?.instance ?? 0
        let loss: any Error
        do {
            try saved.checkFiles()
            var found = try recover(path, mayMake: !saved.wasThere, after: instance, saved.check)
            found.past.heartbeat = saved.heartbeat
            return found
        } catch let error as StoreError where error.code == .empty {
            loss = saved.lost(error)
        } catch let error as StoreError where error.code == .corrupt {
            loss = error
        } catch let error as SavedState.Lost {
            loss = error
        }
        guard options.acceptsDataLoss else {
            log.log(DaemonNotice.stateLost(loss))
            throw ExitCode(1)
        }
        report(.lossAccepted(loss))
        let now = clocks.now().wall
        try saved.accept(at: now)
        heartbeat.clear()
        if let error = loss as? StoreError, error.code == .corrupt {
            _ = try SavedState.moveAside(in: saved.state, at: now)
        }
        var found = try recover(path, mayMake: true, after: instance) { _ in }
        found.past.isRestored = true
        return found
    }

    private static func path(in state: Directory) throws(Directory.Failure) -> String {
        for name in Store.fileNames { try state.check(name) }
        return "\(try state.resolvedPath())/\(Store.fileName)"
    }

    /// Opens the store later, for an instance that started without one.
    static func opener(
        in state: Directory, for instance: DaemonInstance.ID
    ) throws(Directory.Failure) -> @Sendable () throws(StoreError) -> sending Store {
        let path = try path(in: state)
        return { () throws(StoreError) in
            let store = try Store(path: path)
            store.resume(as: instance)
            return store
        }
    }

    private func recover(
        _ path: String, mayMake: Bool, after instance: DaemonInstance.ID,
        _ check: (Store.Identity) throws -> Void
    ) throws -> sending (store: Store?, past: RecoveredState) {
        do {
            let store = try Store(path: path, mayMake: mayMake)
            try check(store.identity)
            let past = try store.recover(after: instance)
            report(store.damage)
            return (store, past)
        } catch let error as StoreError where error.code == .full {
            log.critical(
                "\(error); the saved state is read, and no run starts until there is space")
        }
        var status = stat()
        guard stat(path, &status) == 0, status.st_size > 0 else {
            return (nil, RecoveredState(instance: instance + 1))
        }
        let store = try Store(readingOnly: path)
        try check(store.identity)
        let past = try store.recover(after: instance)
        report(store.damage)
        return (nil, past)
    }

    private func report(_ damage: [String]) {
        let path = "\(options.state)/\(Store.fileName)"
        for fault in damage { report(.stateDamaged(fault, in: path)) }
    }

    /// Says it in the log, and to those who follow the events from the first one on.
    private func report(_ notice: DaemonNotice) {
        feed.append(RecordedEvent(content: .daemonNotice(notice), time: clocks.wall))
        log.log(notice)
    }
}

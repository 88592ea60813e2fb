// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import Logging
import TimerStore

/// Waits for the disk: the fsync of what is written, and the checkpoints of the write-ahead log.
extension Recorder {
    // MARK: - Checkpoints of the log

    /// Starts a checkpoint of the write-ahead log, if the log is long enough.
    ///
    /// - Parameter isCalm: whether no further records are waiting.
    func checkpointLog(isCalm: Bool) {
        guard let store else { return }
        checkpoints.begin(
            store.path, size: store.logSize, limit: store.logBytes, isCalm: isCalm
        ) { failure in
            self.later { $0.noteCheckpoint(failure) }
        }
    }

    private func noteCheckpoint(_ failure: StoreError?) {
        let (waiting, isNewFailure) = checkpoints.end(failure)
        if let failure, isNewFailure {
            log.warning("\(failure); nothing is lost, and it is tried again")
        }
        for one in waiting { one(self) }
    }

    /// Runs `body` after the checkpoint that is in progress, if there is one, so that the log does
    /// not grow faster than it is written into the database.
    package nonisolated func afterCheckpoint(
        _ body: @escaping @Sendable (isolated Recorder) -> Void
    ) {
        later { recorder in
            guard recorder.checkpoints.isUnderWay else { return body(recorder) }
            recorder.checkpoints.wait(body)
        }
    }

    // MARK: - Syncing

    /// Syncs after `syncDelay`, unless that is planned already.
    func planSync() {
        guard !isSyncPlanned else { return }
        isSyncPlanned = true
        later(after: Self.syncDelay) { recorder in
            recorder.isSyncPlanned = false
            recorder.isMarkDue = true
            recorder.sync()
        }
    }

    /// Syncs everything that is written by now. Later writes are covered by the next sync.
    func sync() {
        guard !isSyncing, isSyncDue || !unsynced.isEmpty else { return }
        do throws(StoreError) {
            if writeAheadLog == nil { writeAheadLog = try openStore().log() }
        } catch {
            return noteSync(of: drainUnsynced(), failure: error)
        }
        guard let writeAheadLog else { return }
        let waiting = drainUnsynced()
        isSyncing = true
        syncQueue.async {
            var failure: StoreError?
            do throws(StoreError) { try writeAheadLog.sync() } catch { failure = error }
            self.later { [failure] in $0.noteSync(of: waiting, failure: failure) }
        }
    }

    /// Takes the requests that the next sync covers.
    private func drainUnsynced() -> [Unsynced] {
        isSyncDue = false
        defer { unsynced = [] }
        return unsynced
    }

    private func noteSync(of waiting: [Unsynced], failure: StoreError?) {
        // Two checkpoints cannot run at a time: the one below waits for the one in progress.
        if failure != nil || hasSyncFailed, checkpoints.isUnderWay {
            return checkpoints.wait { $0.noteSync(of: waiting, failure: failure) }
        }
        isSyncing = false
        do throws(StoreError) {
            // A write that failed once would not be tried again by fsync: the next fsync succeeds and
            // has written nothing. A checkpoint writes the data to the database instead, so what was
            // written since a failure is on the disk only after a checkpoint.
            if failure != nil || hasSyncFailed { try openStore().checkpoint() }
            if hasSyncFailed {
                log.notice("The saved state is on the disk again; nothing was lost")
            }
            hasSyncFailed = false
            for one in waiting {
                if one.request.keepsOrder { orderedUnsynced -= 1 }
                one.request.onCommit?(one.refused)
            }
            if !unsynced.isEmpty { sync() } else if isSyncDue { planSync() }
            checkpointLog(isCalm: true)
        } catch {
            meter.addError()
            if !hasSyncFailed {
                log.error(
                    "\(error); a power cut now may lose the latest changes, and commands wait")
            }
            hasSyncFailed = true
            var waiting = waiting
            for index in waiting.indices {
                waiting[index].request.onDelayed?(error)
                waiting[index].request.onDelayed = nil
            }
            unsynced = waiting + unsynced
            isSyncDue = true
            planSync()
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerRunnerProtocol

/// Reports lines that a run does not end, such as a prompt that waits for an answer, or a progress bar.
extension RunnerThread {
    /// How long a line may have no end before it is reported, and how long it takes until it is reported again if it
    /// becomes longer, in nanoseconds.
    static let unfinishedDelay: Int64 = 200_000_000

    /// Called when output of a child was read.
    mutating func noteUnfinished(_ serial: UInt64) {
        guard unfinished[serial] == nil, let child = children[serial], !child.id.isMessage,
            child.streams.contains(where: { $0?.lines.hasUnreported == true })
        else { return }
        unfinished[serial] = child.streams.map { $0?.lines.ended ?? 0 }
        unfinishedAt = unfinishedAt ?? RunnerClock.awake() + Self.unfinishedDelay
    }

    /// Reports the lines that were not ended since they were noted.
    mutating func reportUnfinished(at now: Int64) {
        guard let at = unfinishedAt, now >= at else { return }
        let noted = unfinished
        unfinished = [:]
        unfinishedAt = nil
        for (serial, ended) in noted {
            for stream in ended.indices { reportUnfinished(serial, stream, since: ended[stream]) }
            // The output may have begun another line since then.
            noteUnfinished(serial)
        }
    }

    private mutating func reportUnfinished(_ serial: UInt64, _ stream: Int, since ended: Int) {
        // Lines that are dropped are not shown in part either.
        guard let id = children[serial]?.id, children[serial]?.limited == 0,
            let lines = children[serial]?.streams[stream]?.lines, lines.hasUnreported,
            lines.ended == ended, let line = children[serial]?.streams[stream]?.lines.report()
        else { return }
        handler(.unfinished(id, stream == 0 ? .stdout : .stderr, line: line))
    }
}

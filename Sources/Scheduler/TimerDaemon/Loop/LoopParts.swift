// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerLog
import TimerRecording

/// The parts of the daemon that the loop works with. Each has its own queue or lock, and none of them
/// is ever another one.
package struct LoopParts: Sendable {
    let clocks: Clocks
    let recorder: Recorder
    let heartbeatWriter: HeartbeatWriter
    let eventLogger: EventLogger
    let supervision: Supervision
    let launcher: any RunLauncher
    /// What the recorder has written, for the agenda.
    let progress = StoreProgress()
    /// When the loop started.
    let since: WallInstant
}

extension Loop {
    package nonisolated var clocks: Clocks { parts.clocks }
    nonisolated var recorder: Recorder { parts.recorder }
    nonisolated var eventLogger: EventLogger { parts.eventLogger }
    nonisolated var supervision: Supervision { parts.supervision }
    nonisolated var launcher: any RunLauncher { parts.launcher }
    nonisolated var progress: StoreProgress { parts.progress }
}

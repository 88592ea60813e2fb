// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerAPI
import TimerDaemon

/// A running server, and the object that reloads the configuration for it.
struct Listening {
    let server: ControlServer
    /// The one for the web server; nil if its socket could not be bound.
    let web: ControlServer?
    let reloader: Reloader
    let files: RuntimeFiles
}

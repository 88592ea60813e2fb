// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The socket and the signals of a runner.
public enum RunnerSocket {
    /// The socket's name in the runtime directory.
    public static let fileName = "runner.sock"

    /// The signals that a runner handles. They are blocked in every thread of it, from its first step on.
    public static let signals = [SIGTERM, SIGINT, SIGHUP]
}

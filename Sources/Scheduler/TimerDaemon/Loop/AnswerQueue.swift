// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import Dispatch

extension DispatchQueue {
    /// The queue on which answers are encoded as JSON. It is not the worker queue, which must not
    /// lose time. It is not a `Task` either: once the pool of Swift concurrency exists, Dispatch
    /// checks it each second for as long as the process runs (`_dispatch_workq_monitor_pools` in
    /// libdispatch), and an idle daemon would never sleep again.
    package static let answers = DispatchQueue(label: "timerd.answers", qos: .utility)
}

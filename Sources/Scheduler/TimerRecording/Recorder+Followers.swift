// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
package import TimerStore

extension Recorder {
    /// The callbacks about the state of the store, called on the recorder's queue.
    package struct Followers: Sendable {
        /// The store cannot be written, or it can be written again.
        var storeError: (@Sendable (StoreError?) -> Void)?
        /// Notifications were added to the outbox.
        var notified: (@Sendable () -> Void)?
        /// The store has this generation now, which the heartbeat must repeat.
        var marked: (@Sendable (Int64) -> Void)?

        package init(
            storeError: (@Sendable (StoreError?) -> Void)? = nil,
            notified: (@Sendable () -> Void)? = nil, marked: (@Sendable (Int64) -> Void)? = nil
        ) {
            self.storeError = storeError
            self.notified = notified
            self.marked = marked
        }
    }

    /// Calls these from now on, and at once for what is so already: the first changes may have been
    /// written, or refused, before.
    package nonisolated func follow(_ followers: Followers) {
        later { recorder in
            recorder.followers = followers
            if let storeError = recorder.storeError { followers.storeError?(storeError.error) }
            if !recorder.isMarkDue, let store = recorder.store {
                followers.marked?(store.identity.generation)
            }
            if recorder.hasUnreported { followers.notified?() }
            recorder.hasUnreported = false
        }
    }
}

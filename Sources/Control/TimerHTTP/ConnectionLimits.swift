// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// How long a client may keep a connection busy.
package struct ConnectionLimits: Sendable {
    /// How long a stream takes that several browsers share, before their sessions are checked again.
    package static let commonStreamTime: TimeAmount = .seconds(60)

    /// How long a connection may be open without a request.
    package var idleTime: TimeAmount = .seconds(30)
    /// How long a request may take from its first byte to its last.
    var requestTime: TimeAmount = .seconds(10)
    /// How long the client may take to read an answer, however short it is.
    var answerTime: TimeAmount = .seconds(30)
    /// How many bytes of a longer answer the client must read in each further second.
    var answerBytesPerSecond = 1 << 20
    /// How long further input from the client is discarded after the last answer, so that the
    /// client can read that answer.
    var lingerTime: TimeAmount = .seconds(1)
    /// How long a stream may take; nil: there is no limit.
    package var streamTime: TimeAmount?

    package init() {}
}

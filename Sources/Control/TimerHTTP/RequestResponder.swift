// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import NIOHTTP1

/// Answers the requests of one connection, which a `ControlHandler` reads: of the control socket, or of a browser.
package protocol RequestResponder: Sendable {
    /// Whether the answers that the client has not read are counted, and limited.
    var limitsUnread: Bool { get }

    /// The most bytes the body of such a request may have.
    func bodyBytesMax(of head: HTTPRequestHead) -> Int

    /// What the header alone is refused with, whatever the body is; nil: nothing.
    func refusal(of head: HTTPRequestHead) -> ControlAnswer?

    /// Answers a request; `reply` is called once, from anywhere. It may take as long as it needs.
    func answer(
        _ head: HTTPRequestHead, body: [UInt8], reply: @escaping ControlAnswer.Reply)

    /// The answer as it goes to the client, also one that was made without this.
    func finished(_ answer: ControlAnswer) -> ControlAnswer
}

extension RequestResponder {
    package func finished(_ answer: ControlAnswer) -> ControlAnswer { answer }
}

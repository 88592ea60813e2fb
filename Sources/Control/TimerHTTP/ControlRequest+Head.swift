// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import NIOHTTP1
package import TimerControl

extension ControlRequest {
    /// Reads a request with what its header says.
    package init(_ head: HTTPRequestHead, body: [UInt8]) throws(Fault) {
        self = try ControlRequest(
            method: head.method.rawValue, path: head.uri, body: body,
            headers: RequestHeaders(
                accepted: head.headers["Accept"],
                lastEventID: head.headers.first(name: "Last-Event-ID")))
    }
}

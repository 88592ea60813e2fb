// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CCurl
import TimerCore

/// A request to send to one endpoint.
struct EtcdRequest {
    /// The address of the endpoint with the path.
    var url: String
    /// The token of the login; nil without a user.
    var token: String?
    /// JSON, as UTF-8.
    var body: [UInt8]
    /// How many bytes of the answer are accepted.
    var replyBytesMax: Int
}

/// One request and what has arrived of its answer. libcurl's callbacks write to it, on the thread
/// that waits for the answer.
final class Exchange {
    /// How long the header may be, in bytes, with what HTTP may send before and after it.
    static let headerBytesMax = 64 << 10
    /// The longest `Date` that is parsed.
    private static let dateBytesMax = 64

    /// What has arrived of the body, and was not yet taken.
    var body: [UInt8] = []
    /// How many bytes the body may have at a time.
    let bodyBytesMax: Int
    /// The clocks just before the request was sent; nil: it was not sent.
    private(set) var sent: Now?
    /// The clocks after the header with the date had arrived.
    private(set) var received: Now?
    /// The `Date` of the answer, in seconds since 1970.
    private(set) var date: Int64?
    /// Whether more arrived than was allowed, so that the transfer was aborted.
    private(set) var isTooLarge = false

    private var headerBytes = 0
    private let clock: () -> Now

    init(bodyBytesMax: Int, clock: @escaping () -> Now) {
        self.bodyBytesMax = bodyBytesMax
        self.clock = clock
    }

    // MARK: - What libcurl reports

    /// The connection is there, and the request is sent next.
    ///
    /// - Returns: whether it may be sent. libcurl sends a request a second time if a connection that
    ///   was used before ends without an answer, even if the first one may have been executed.
    fileprivate func mayBegin() -> Bool {
        guard sent == nil else { return false }
        sent = clock()
        return true
    }

    fileprivate func add(header line: UnsafeBufferPointer<UInt8>) -> Bool {
        headerBytes += line.count
        guard headerBytes <= Self.headerBytesMax else {
            isTooLarge = true
            return false
        }
        let name = Array("date:".utf8)
        guard date == nil, line.count > name.count, line.count <= Self.dateBytesMax,
            zip(line, name).allSatisfy({ $0 | 0x20 == $1 || $0 == $1 })
        else { return true }
        let text = String(decoding: line.dropFirst(name.count), as: UTF8.self)
        let seconds = curl_getdate(text, nil)
        if seconds >= 0 {
            received = clock()
            date = Int64(seconds)
        }
        return true
    }

    fileprivate func add(body bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard body.count + bytes.count <= bodyBytesMax else {
            isTooLarge = true
            return false
        }
        body += bytes
        return true
    }
}

// MARK: - The functions that libcurl calls

/// They are called only while the connection that owns the exchange executes it.
private func exchange(_ context: UnsafeMutableRawPointer?) -> Exchange? {
    context.map { Unmanaged<Exchange>.fromOpaque($0).takeUnretainedValue() }
}

private func bytes(
    _ start: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int
) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(
        start: UnsafeRawPointer(start)?.assumingMemoryBound(to: UInt8.self), count: size * count)
}

/// Takes a part of the body. Another number than that of the bytes ends the exchange.
let receiveBody: ccurl_receive = { start, size, count, context in
    exchange(context)?.add(body: bytes(start, size, count)) == true ? size * count : 0
}

/// Takes a line of the header; libcurl aborts if the result is not the size.
let receiveHeader: ccurl_receive = { start, size, count, context in
    exchange(context)?.add(header: bytes(start, size, count)) == true ? size * count : 0
}

/// Called by libcurl when the connection exists, just before the request is sent.
let beforeRequest: curl_prereq_callback = { context, _, _, _, _ in
    exchange(context)?.mayBegin() == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CCurl
import Glibc
import TimerCore

/// One connection to one endpoint at a time. Only one thread may use it.
///
/// It waits with libcurl's multi interface, because a blocking transfer could be ended by another
/// thread only after up to a second.
final class Connection {
    /// Why waiting ended, so that the caller can look at what has arrived.
    enum Step {
        /// A part of the body arrived, which the caller takes before it waits again.
        case data
        /// The transfer is over: CURLE_OK if the answer is complete.
        case done(CURLcode)
        case timeout
        case cancelled
    }

    private let easy: UnsafeMutableRawPointer
    private let multi: UnsafeMutableRawPointer
    private let canceller: EtcdCanceller
    private let clock: () -> Now
    /// The buffer for CURLOPT_ERRORBUFFER, in which libcurl describes errors.
    private let message: UnsafeMutablePointer<CChar>
    private var headers: UnsafeMutablePointer<curl_slist>?
    private var current: Exchange?

    private static let initialised = ccurl_init()

    /// - Throws: `EtcdError` if libcurl has no memory, or does not know an option.
    init(
        _ options: EtcdOptions, canceller: EtcdCanceller, clock: @escaping () -> Now
    ) throws(EtcdError) {
        guard Self.initialised == CURLE_OK, let easy = curl_easy_init() else {
            throw .invalid("libcurl", "it cannot be initialised")
        }
        guard let multi = curl_multi_init() else {
            curl_easy_cleanup(easy)
            throw .invalid("libcurl", "it cannot be initialised")
        }
        self.easy = easy
        self.multi = multi
        self.canceller = canceller
        self.clock = clock
        message = .allocate(capacity: Int(CURL_ERROR_SIZE))
        message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        canceller.attach(multi)
        // The connection to the endpoint before would otherwise stay open.
        ccurl_set_multi_long(multi, CURLMOPT_MAXCONNECTS, 1)
        try configure(easy, options, message: message)
    }

    deinit {
        canceller.detach()
        finish()
        curl_easy_cleanup(easy)
        curl_multi_cleanup(multi)
        message.deallocate()
    }

    /// Begins a request. The one before it must be finished.
    func begin(_ request: EtcdRequest) throws(EtcdError) -> Exchange {
        precondition(current == nil, "an EtcdClient does one thing at a time")
        let exchange = Exchange(bodyBytesMax: request.replyBytesMax, clock: clock)
        let context = Unmanaged.passUnretained(exchange).toOpaque()
        var lines = [
            "Content-Type: application/json",
            // Otherwise libcurl waits for permission to send a large body.
            "Expect:",
            // A member that lost its leader answers at once, and ends its watches.
            "Grpc-Metadata-hasleader: true",
        ]
        if let token = request.token { lines.append("Authorization: \(token)") }
        for line in lines { headers = curl_slist_append(headers, line) ?? headers }
        message.pointee = 0
        let codes = [
            ccurl_set_text(easy, CURLOPT_URL, request.url),
            ccurl_set_headers(easy, headers),
            request.body.withUnsafeBytes { ccurl_set_body(easy, $0.baseAddress, $0.count) },
            ccurl_set_pointer(easy, CURLOPT_WRITEDATA, context),
            ccurl_set_pointer(easy, CURLOPT_HEADERDATA, context),
            ccurl_set_pointer(easy, CURLOPT_PREREQDATA, context),
        ]
        guard codes.allSatisfy({ $0 == CURLE_OK }), curl_multi_add_handle(multi, easy) == CURLM_OK
        else { throw EtcdError(.invalidOptions, at: request.url, "libcurl refuses the request") }
        current = exchange
        return exchange
    }

    /// Waits until a part of the body has arrived, the answer is complete, or the deadline, a reading
    /// of CLOCK_BOOTTIME in nanoseconds, is over.
    func wait(until deadline: Int64) -> Step {
        while true {
            if canceller.isCancelled { return .cancelled }
            let known = current?.body.count ?? 0
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            var left: Int32 = 0
            if let result = curl_multi_info_read(multi, &left), result.pointee.msg == CURLMSG_DONE {
                return .done(result.pointee.data.result)
            }
            if (current?.body.count ?? 0) > known { return .data }
            let rest = deadline - Self.clockReading()
            guard rest > 0 else { return .timeout }
            let milliseconds = Int32(clamping: rest / 1_000_000 + 1)
            curl_multi_poll(multi, nil, 0, milliseconds, nil)
        }
    }

    /// Ends the request. A connection with an incomplete answer is closed.
    func finish() {
        if current != nil { curl_multi_remove_handle(multi, easy) }
        current = nil
        curl_slist_free_all(headers)
        headers = nil
    }

    /// CLOCK_BOOTTIME in nanoseconds: what a machine waited for while it slept is over.
    static func clockReading() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    // MARK: - The answer

    /// The status of HTTP; 0 if there is none yet.
    var status: Int {
        var status = 0
        ccurl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
        return status
    }

    /// The address to which etcd redirects, which is not followed; nil if it does not.
    var redirect: String? {
        var text: UnsafeMutablePointer<CChar>?
        ccurl_get_text(easy, CURLINFO_REDIRECT_URL, &text)
        return text.map { String(cString: $0) }
    }

    /// What libcurl says about a failure; the text of the code if it says nothing about this one.
    func describe(_ code: CURLcode) -> String {
        message.pointee == 0
            ? String(cString: curl_easy_strerror(code)) : String(cString: message)
    }
}

/// Sets what is the same for all requests. What libcurl would do by itself, such as using a proxy of
/// the environment or following a redirect, is forbidden: it would send the password and the commands
/// of a fleet to another machine.
///
/// - Throws: `EtcdError` if libcurl does not know an option, or a file has no usable name.
func configure(
    _ easy: UnsafeMutableRawPointer, _ options: EtcdOptions,
    message: UnsafeMutablePointer<CChar>
) throws(EtcdError) {
    var codes = [
        ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, message),
        ccurl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https"),
        ccurl_set_text(easy, CURLOPT_REDIR_PROTOCOLS_STR, "https"),
        ccurl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0),
        // An empty text: no proxy, whatever the environment says.
        ccurl_set_text(easy, CURLOPT_PROXY, ""),
        ccurl_set_long(easy, CURLOPT_NETRC, 0),
        ccurl_set_long(easy, CURLOPT_POST, 1),
        ccurl_set_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1),
        // The process has other threads: no signals, and no alarm for the look-up of a host.
        ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1),
        // A look-up that hangs is left to its thread, instead of waited for.
        ccurl_set_long(easy, CURLOPT_QUICK_EXIT, 1),
        ccurl_set_long(easy, CURLOPT_TCP_KEEPALIVE, 1),
        ccurl_set_long(
            easy, CURLOPT_CONNECTTIMEOUT_MS, max(1, options.connectTimeout.wholeMilliseconds)),
        ccurl_set_receive(easy, CURLOPT_WRITEFUNCTION, receiveBody),
        ccurl_set_receive(easy, CURLOPT_HEADERFUNCTION, receiveHeader),
        ccurl_set_before_request(easy, beforeRequest),
        ccurl_set_long(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2),
        ccurl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 1),
        ccurl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 2),
        // A renewed file counts from the next connection on, and not after a day.
        ccurl_set_long(easy, CURLOPT_CA_CACHE_TIMEOUT, 0),
    ]
    if let ca = options.ca {
        codes.append(ccurl_set_text(easy, CURLOPT_CAINFO, ca))
        // Otherwise Debian's libcurl trusts the certificates of the system as well.
        codes.append(ccurl_set_text(easy, CURLOPT_CAPATH, nil))
    }
    if let certificate = options.certificate, let key = options.key {
        codes.append(ccurl_set_text(easy, CURLOPT_SSLCERT, certificate))
        codes.append(ccurl_set_text(easy, CURLOPT_SSLKEY, key))
    }
    guard codes.allSatisfy({ $0 == CURLE_OK }) else {
        throw .invalid("libcurl", "it does not support an option that timerd needs")
    }
}

extension Duration {
    /// In milliseconds, rounded down.
    var wholeMilliseconds: Int { Int(wholeMicroseconds / 1000) }
}

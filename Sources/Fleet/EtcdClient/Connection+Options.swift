// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CCurl
import TimerCore

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

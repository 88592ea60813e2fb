// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CCurl

/// The address of one member of etcd.
struct EtcdEndpoint: Hashable, Sendable {
    /// The scheme, the host and the port, as in the configuration.
    let url: String
    /// Whether the scheme is `https`.
    let isEncrypted: Bool
    /// Whether it is on the loopback interface, which other machines cannot read.
    let isLocal: Bool

    /// Parses an address with the parser of libcurl, which also makes the connection: another one
    /// could see another host in the same text.
    ///
    /// - Throws: `EtcdError` with the code `invalidOptions`.
    init(_ text: String) throws(EtcdError) {
        guard text.utf8.count <= 300, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
            let parser = curl_url()
        else { throw .invalid("etcd", "an endpoint has at most 300 printable characters") }
        defer { curl_url_cleanup(parser) }
        let code = curl_url_set(parser, CURLUPART_URL, text, 0)
        guard code == CURLUE_OK else {
            throw .invalid(text, "it is not a URL; write it as https://10.0.0.1:2379")
        }
        let scheme = Self.part(CURLUPART_SCHEME, of: parser)
        guard scheme == "http" || scheme == "https" else {
            throw .invalid(text, "an endpoint begins with https:// or http://")
        }
        guard Self.part(CURLUPART_PORT, of: parser) != nil else {
            throw .invalid(text, "the port is missing; that of etcd is usually 2379")
        }
        let path = Self.part(CURLUPART_PATH, of: parser) ?? "/"
        let others = [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT]
        guard path == "/", !others.contains(where: { Self.part($0, of: parser) != nil }),
            let host = Self.part(CURLUPART_HOST, of: parser),
            let port = Self.part(CURLUPART_PORT, of: parser)
        else {
            throw .invalid(text, "an endpoint has a host and a port, and nothing else")
        }
        url = "\(scheme ?? "")://\(host):\(port)"
        isEncrypted = scheme == "https"
        isLocal = host == "localhost" || host == "[::1]" || Self.isLoopback(host)
    }

    /// Whether it is an address of the form 127.x.x.x. libcurl has written each form of an address
    /// of four bytes in this one.
    private static func isLoopback(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    private static func part(_ part: CURLUPart, of parser: OpaquePointer) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(parser, part, &text, 0) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}

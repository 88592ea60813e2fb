// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import TimerControl
import TimerHTTP

/// Which requests of browsers are answered. Only the header is used for the decision; a request that is refused here
/// never reaches the daemon.
package struct WebRules: Sendable {
    /// The most bytes of a path with its query.
    static let targetBytesMax = 4096
    /// The most bytes of a request's body.
    static let bodyBytesMax = 1 << 20

    /// The port of this server, which is in the name of its cookie: cookies do not belong to one port.
    let port: Int

    package init(port: Int) {
        self.port = port
    }

    /// Which part of the server answers a request.
    package enum Place: Equatable {
        case file
        case login
        case api
    }

    /// The answer with which the header is refused; nil: it is not.
    ///
    /// - Parameter hosts: those under which a reverse proxy serves the page.
    func refusal(of head: HTTPRequestHead, hosts: [String]) -> ControlAnswer? {
        guard [.GET, .HEAD, .POST].contains(head.method) else {
            return Self.methodNotAllowed(["GET", "HEAD", "POST"])
        }
        let target = head.uri.utf8
        guard target.first == UInt8(ascii: "/"), target.count <= Self.targetBytesMax,
            target.allSatisfy({ (0x21...0x7e).contains($0) })
        else {
            return .error(
                .badRequest,
                "the target of a request is a path of at most \(Self.targetBytesMax) bytes")
        }
        guard let host = Self.host(of: head.headers), Self.isAllowed(host, hosts) else {
            return .error(
                .misdirectedRequest,
                "this host is not served; a name that a reverse proxy uses must be in hosts of [web] in the configuration"
            )
        }
        switch Self.place(of: head.uri) {
        case .file, .login:
            // A HEAD request, such as for a preview, must not use up a link.
            let methods = Self.place(of: head.uri) == .login ? ["GET"] : ["GET", "HEAD"]
            return methods.contains(head.method.rawValue) ? nil : Self.methodNotAllowed(methods)
        case .api:
            return head.method == .POST
                ? refusal(ofCommand: head.headers, to: host) : refusal(ofReading: head.headers)
        }
    }

    static func place(of target: String) -> Place {
        switch target.prefix(while: { $0 != "?" }) {
        case "/login": .login
        case let path where EndpointTable.mayHave(path): .api
        default: .file
        }
    }

    // MARK: - Host

    /// The host that the request is for, in lower case; nil unless there is exactly one.
    static func host(of headers: HTTPHeaders) -> String? {
        let hosts = headers["Host"]
        return hosts.count == 1 ? hosts[0].lowercased() : nil
    }

    /// Whether the host is this machine, or one of `hosts`. A page of another site whose name was made to point to this
    /// machine (DNS rebinding) has another host.
    static func isAllowed(_ host: String, _ hosts: [String]) -> Bool {
        guard let name = name(of: host) else { return false }
        return isLocal(host) || hosts.contains(host) || hosts.contains(name)
    }

    /// Whether the host is one of the loopback interface, under which the page is always served.
    static func isLocal(_ host: String) -> Bool {
        ["127.0.0.1", "localhost", "[::1]"].contains(name(of: host))
    }

    /// The host without its port; nil if the port is none.
    private static func name(of host: String) -> String? {
        let isBracketed = host.utf8.first == UInt8(ascii: "[")
        let end =
            isBracketed
            ? host.firstIndex(of: "]").map { host.index(after: $0) }
            : host.firstIndex(of: ":") ?? host.endIndex
        guard let end, end != host.startIndex else { return nil }
        let rest = host[end...].utf8
        guard let colon = rest.first else { return String(host[..<end]) }
        let digits = rest.dropFirst()
        guard colon == UInt8(ascii: ":"), (1...5).contains(digits.count),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return String(host[..<end])
    }

    // MARK: - The sender

    /// The refusal of a command that the page itself does not send: browsers say so in two headers, and no HTML form
    /// can send such a body.
    private func refusal(ofCommand headers: HTTPHeaders, to host: String) -> ControlAnswer? {
        let origins = headers["Origin"]
        let site = headers["Sec-Fetch-Site"]
        guard origins.count == 1, site == ["same-origin"],
            ["http://\(host)", "https://\(host)"].contains(origins[0].lowercased())
        else {
            return .error(
                .forbidden,
                "commands are accepted from the status page itself only; for programs there are timerctl and the control socket"
            )
        }
        let types = headers["Content-Type"].map { type in
            type.lowercased().filter { $0 != " " }
        }
        guard types == ["application/json"] || types == ["application/json;charset=utf-8"] else {
            return .error(
                .unsupportedMediaType,
                "the body of a command is JSON: Content-Type: application/json"
            )
        }
        guard headers["Authorization"].isEmpty else {
            return .error(.forbidden, "a program with a token can only read")
        }
        return nil
    }

    /// The refusal of a read request unless it comes from the page itself, from a user who typed the address, or from a
    /// program.
    private func refusal(ofReading headers: HTTPHeaders) -> ControlAnswer? {
        let sites = headers["Sec-Fetch-Site"]
        guard sites.isEmpty || sites == ["same-origin"] || sites == ["none"] else {
            return .error(.forbidden, "only the status page itself may read this")
        }
        return nil
    }

    /// The credentials in the request: a token in `Authorization`, otherwise the cookie of a
    /// session.
    func credentials(of headers: HTTPHeaders) -> Credentials {
        let authorizations = headers["Authorization"]
        guard authorizations.isEmpty else {
            guard authorizations.count == 1, let token = Credentials.bearer(authorizations[0])
            else { return .none }
            return .token(token)
        }
        let keys = headers["Cookie"].flatMap { $0.split(separator: ";") }.compactMap {
            cookie -> Substring? in
            let pair = cookie.drop { $0 == " " }.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return pair.count == 2 && pair[0] == cookieName[...] ? pair[1] : nil
        }
        guard keys.count == 1, Credentials.isKey(keys[0]) else { return .none }
        return .session(String(keys[0]))
    }

    // MARK: - Answers

    var cookieName: String { "timerd-session-\(port)" }

    /// The header that gives a browser its session, or takes it away.
    ///
    /// - Parameter host: as the browser named it. Only one of this machine is served without TLS.
    func cookie(_ key: String?, for host: String) -> (String, String) {
        let secure = Self.isLocal(host) ? "" : "; Secure"
        let end = key == nil ? "; Max-Age=0" : ""
        return (
            "Set-Cookie",
            "\(cookieName)=\(key ?? ""); Path=/; HttpOnly; SameSite=Strict\(secure)\(end)"
        )
    }

    static func methodNotAllowed(_ methods: [String]) -> ControlAnswer {
        var answer = ControlAnswer.error(
            .methodNotAllowed, "use one of \(methods.joined(separator: ", "))")
        answer.allowed = methods
        return answer
    }

    /// The headers of each answer: the page loads nothing from other sites, other sites can neither embed nor read it,
    /// and nothing is cached.
    static let headers: [(String, String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
        ),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
    ]

    /// The answer with the headers that each must have.
    static func finished(_ answer: ControlAnswer) -> ControlAnswer {
        var answer = answer
        if !answer.headers.contains(where: { $0.0 == "Cache-Control" }) {
            answer.headers.append(("Cache-Control", "no-store"))
        }
        if answer.status == .unauthorized { answer.headers.append(("WWW-Authenticate", "Bearer")) }
        answer.headers += headers
        return answer
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl

struct WebVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Print a link to the status page, with which you are logged in.",
        discussion: """
            The link can be used once, within 60 seconds. The browser that uses it has your rights: those of the user \
            who runs this command. A session ends 12 hours after its last request, after 7 days, when the daemon stops, \
            when the user may not connect to the daemon any more, or with --revoke.
            """)
    static let reading = Reading.part("for their own sessions")

    /// The hidden name of the option that is written `--user NAME`.
    static let ownerOption = "--owner"

    /// The arguments with another name for `--user NAME`, because `--user` without a name is an option of every
    /// command.
    static func withOwner(_ arguments: [String]) -> [String] {
        guard arguments.first == configuration.commandName, arguments.contains("--revoke") else {
            return arguments
        }
        return arguments.indices.map { index in
            let next = index + 1 < arguments.count ? arguments[index + 1] : "-"
            return arguments[index] == "--user" && !next.hasPrefix("-")
                ? ownerOption : arguments[index]
        }
    }

    @OptionGroup var connection: Connection

    @Option(
        help: ArgumentHelp(
            "Where the page is served (default: the first of the configured hosts, else http://127.0.0.1:8321).",
            valueName: "url"))
    var url: String?

    @Flag(help: "End your sessions, and the links that were not used, instead.")
    var revoke = false

    @Option(
        help: ArgumentHelp(
            "With --revoke, written --user NAME: those of this user.", valueName: "name",
            visibility: .hidden))
    var owner: String?

    @Flag(help: "With --revoke: those of all users. For those of one user, write --user NAME.")
    var all = false

    func validate() throws {
        guard revoke || !all else { throw ValidationError("--all goes with --revoke only") }
        guard owner == nil || !all else {
            throw ValidationError("--all and --user NAME exclude each other")
        }
        guard revoke || owner == nil else {
            throw ValidationError("--user NAME goes with --revoke only")
        }
        guard url == nil || !revoke else {
            throw ValidationError("--url and --revoke exclude each other")
        }
        if let url {
            let isURL = ["http://", "https://"].contains {
                url.hasPrefix($0) && url.count > $0.count
            }
            guard isURL, url.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
                throw ValidationError("\"\(url)\" is not a URL such as https://jobs.example.org")
            }
        }
    }

    /// Where the page is served on this machine, if no option and no configuration says it.
    ///
    /// - Throws: if nothing is there.
    private func servedAddress() throws -> String {
        let manager = connection.client.manager
        let words = manager.split(separator: " ").map(String.init)
        let unit = "timerd-web.socket"
        // Such as `Listen=127.0.0.1:8321 (Stream)`.
        let listens = Program.output(of: words + ["show", "--property=Listen", unit])?
            .split(separator: "\n").compactMap { line -> Substring? in
                guard line.hasPrefix("Listen="), line.hasSuffix("(Stream)") else { return nil }
                return line.dropFirst(7).split(separator: " ").first
            }
        let address = listens?.first.map(String.init) ?? "127.0.0.1:8321"
        guard LocalAddress.answers(address) else {
            throw Connection.fail(
                1,
                "the status page is not served: nothing listens on \(address). `\(manager) enable --now \(unit)` "
                    + "starts it; if it is served elsewhere, name that with --url")
        }
        return address
    }

    /// A link as this command prints it.
    private struct Link: Encodable {
        var until: String
        var url: String
    }

    func run() throws {
        guard !revoke else {
            let whose: SessionOwner = all ? .all : owner.map { .user($0) } ?? .client
            let reply = try connection.ask(.revokeSessions(whose), for: SessionsReply.self)
            return try connection.show(reply) {
                reply.sessions == 1 ? "1 session ended" : "\(reply.sessions) sessions ended"
            }
        }
        let reply = try connection.ask(.loginLink, for: LoginLinkReply.self)
        var base = try url ?? reply.url ?? "http://\(servedAddress())"
        while base.hasSuffix("/") { base.removeLast() }
        let link = Link(until: reply.until, url: base + reply.path)
        try connection.show(link) { link.url }
    }
}

/// An address of this machine, such as `127.0.0.1:8321` or `[::1]:8321`.
enum LocalAddress {
    /// Whether a program listens there.
    static func answers(_ address: String) -> Bool {
        guard let colon = address.lastIndex(of: ":") else { return false }
        let port = String(address[address.index(after: colon)...])
        var host = String(address[..<colon])
        if host.hasPrefix("[") { host = String(host.dropFirst().dropLast()) }
        // A socket of all addresses is one of this machine, too.
        if ["", "0.0.0.0", "::", "*"].contains(host) { host = "localhost" }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, port, &hints, &found) == 0 else { return false }
        defer { freeaddrinfo(found) }
        var next = found
        while let one = next?.pointee {
            let descriptor = socket(one.ai_family, one.ai_socktype, one.ai_protocol)
            defer { close(descriptor) }
            if descriptor >= 0, connect(descriptor, one.ai_addr, one.ai_addrlen) == 0 {
                return true
            }
            next = one.ai_next
        }
        return false
    }
}

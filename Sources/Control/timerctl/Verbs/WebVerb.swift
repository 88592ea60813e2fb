// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
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
        var base = url ?? reply.url ?? "http://127.0.0.1:8321"
        while base.hasSuffix("/") { base.removeLast() }
        let link = Link(until: reply.until, url: base + reply.path)
        try connection.show(link) { link.url }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerRunnerProtocol

/// What the requests for one kind of receiver may have beside a body. The scheduler sends them, and is not trusted:
/// what is not in these lists could make a receiver do something else, or send the message to others.
struct MessageService {
    let method: String
    /// Whether this may be added to the path of the address.
    let allowsPath: @Sendable (String) -> Bool
    /// The parameters that may be added to the query of the address, each once.
    let parameters: Set<String>
    /// Those of them that the service shows in the addresses that it gives to users, as an example. In an address they
    /// mean nothing.
    var examples: Set<String> = []
    /// The header fields. Others could change whom the request reaches, or how it is transferred.
    let headers: Set<String>

    private static let commonHeaders: Set<String> = [
        "Content-Type", "User-Agent", "X-Timerd-Message",
    ]

    /// What the requests of this notifier may have; nil if it sends none.
    init?(_ transport: Notifier.Transport) {
        switch transport {
        case .webhook(_, let format): self.init(format)
        case .ping(_, let format): self.init(format)
        case .mail, .job: return nil
        }
    }

    private init(_ format: Notifier.WebhookFormat) {
        (method, parameters) = ("POST", [])
        allowsPath = { $0.isEmpty }
        headers =
            switch format {
            case .ntfy: Self.commonHeaders.union(["Title", "Priority", "Tags"])
            case .json, .slack, .discord: Self.commonHeaders
            }
    }

    private init(_ format: Notifier.PingFormat) {
        headers = Self.commonHeaders
        switch format {
        case .healthchecks:
            (method, parameters) = ("POST", ["rid"])
            // The result of a run: its exit status, or a word.
            allowsPath = { path in
                ["", "/start", "/log", "/fail"].contains(path)
                    || UInt8(path.dropFirst()).map { "/\($0)" == path } == true
            }
        case .cronitor:
            method = "GET"
            parameters = ["state", "series", "host", "status_code", "metric", "message"]
            allowsPath = { $0.isEmpty }
        case .kuma:
            (method, parameters) = ("GET", ["status", "msg", "ping"])
            examples = parameters
            allowsPath = { $0.isEmpty }
        }
    }

    /// Refuses a request with anything else in it.
    func check(_ request: MessageRequest.Request) throws(Spawner.Failure) {
        func refuse(_ what: String) -> Spawner.Failure {
            Spawner.failure(EPERM, "send a request with \(what)")
        }
        guard request.method == method else { throw refuse("that method") }
        guard allowsPath(request.path) else { throw refuse("that path") }
        var names: Set<Substring> = []
        for parameter in request.query.split(separator: "&", omittingEmptySubsequences: false)
        where !request.query.isEmpty {
            let pair = parameter.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, parameters.contains(String(pair[0])),
                names.insert(pair[0]).inserted, pair[1].utf8.allSatisfy(Self.isEncoded)
            else { throw refuse("that query") }
        }
        for header in request.headers {
            guard headers.contains(header.name) else {
                throw refuse("the header field \(header.name.prefix(64).debugDescription)")
            }
            guard header.value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) else {
                throw refuse("that value of the header field \(header.name)")
            }
        }
    }

    private static func isEncoded(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122: true
        default: "%._~-".utf8.contains(byte)
        }
    }
}

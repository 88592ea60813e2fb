// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// One key of a table `[notify.NAME]`.
struct NotifierKey: Sendable {
    let name: String
    let shape: ValueShape
    let help: String
    let standard: JSONValue?
    let read: @Sendable (TomlNode, inout NotifierDraft) throws(Fault) -> Void

    init(
        _ name: String, _ shape: ValueShape, _ help: String, standard: JSONValue? = nil,
        _ read: @escaping @Sendable (TomlNode, inout NotifierDraft) throws(Fault) -> Void
    ) {
        self.name = name
        self.shape = shape
        self.help = help
        self.standard = standard
        self.read = read
    }

    /// Each notifier has exactly one of these.
    static let transports = ["mail", "webhook", "ping", "job", "url-credential"]

    static let all: [NotifierKey] = [
        NotifierKey(
            "mail", .oneOrMore(.pattern("^[^-@]")),
            "Sends a mail to this address, or to these addresses."
        ) { node, draft throws(Fault) in draft.mail = try node.mailAddresses() },
        NotifierKey(
            "mail-from", .pattern("^[^-@]"), "The sender of the mails."
        ) { node, draft throws(Fault) in
            draft.mailFrom = (try node.mailAddress(), node.mark)
        },
        NotifierKey(
            "mail-content-type", .pattern("/"),
            "The type of the text of the mails, as in MIME.",
            standard: .string("text/plain; charset=UTF-8")
        ) { node, draft throws(Fault) in
            draft.mailContentType = (try node.contentType(), node.mark)
        },
        NotifierKey(
            "sendmail", .pattern("^/"),
            "The absolute path of the program that sends the mails; the default is sendmail in the usual directories."
        ) { node, draft throws(Fault) in
            draft.sendmail = (try node.programPath(), node.mark)
        },
        NotifierKey(
            "webhook", .url, "Sends a POST request to this URL."
        ) { node, draft throws(Fault) in draft.webhook = try node.url() },
        NotifierKey(
            "ping", .url,
            "Sends a request for each run to this URL of a service that expects them."
        ) { node, draft throws(Fault) in draft.ping = try node.url() },
        NotifierKey(
            "job", .text, "Runs this job, with the facts in variables TIMERD_NOTIFY_…."
        ) { node, draft throws(Fault) in draft.job = (try node.jobName(), node.mark) },
        NotifierKey(
            "url-credential", .pattern("^[A-Za-z0-9._@-]{1,255}$"),
            "Like webhook or ping, as format says: the URL is in this credential of the runner."
        ) { node, draft throws(Fault) in
            let name = try node.string()
            if let fault = TomlNode.fault(inCredential: name) { throw Fault(node.mark, fault) }
            draft.credential = name
        },
        NotifierKey(
            "format", .words(NotifierDraft.formats),
            "The format of the requests; the default is json of a webhook, and healthchecks of a ping."
        ) { node, draft throws(Fault) in
            draft.format = (try node.choice(of: NotifierDraft.formats.map { ($0, $0) }), node.mark)
        },
        NotifierKey(
            "on", .array(.words(NotificationKind.configurable.map(\.rawValue)), min: 1),
            "What it tells about; the default is start, success and failure of a ping, and of others what is wrong and when it is over."
        ) { node, draft throws(Fault) in draft.on = (try node.notificationKinds(), node.mark) },
        NotifierKey(
            "after", .integer(1...1000),
            "How many firings in a row must fail before it tells so.", standard: .integer(1)
        ) { node, draft throws(Fault) in
            draft.after = (try node.integer(in: 1...1000), node.mark)
        },
        NotifierKey(
            "repeat", .spanOrNone,
            "How long after a message it sends another one while the incident is not over.",
            standard: .string("none")
        ) { node, draft throws(Fault) in
            let span = try node.spanOrNone()
            if let span, span < .seconds(60) {
                throw Fault(node.mark, "is shorter than 1min; at least 1min, or \"none\"")
            }
            draft.repeatInterval = (span, node.mark)
        },
        NotifierKey(
            "batch", .span,
            "How long messages are collected to be sent as one.", standard: .string("30s")
        ) { node, draft throws(Fault) in
            let span = try node.span()
            guard span <= .seconds(3600) else {
                throw Fault(node.mark, "is longer than 1h; at most 1h")
            }
            draft.batch = (span, node.mark)
        },
        NotifierKey(
            "per-hour", .integer(1...10_000),
            "How many messages it sends in an hour at most.", standard: .integer(20)
        ) { node, draft throws(Fault) in
            draft.perHour = (try node.integer(in: 1...10_000), node.mark)
        },
    ]
}

extension JobKey {
    /// The keys about telling people.
    static let notifications: [JobKey] = [
        JobKey(
            "notify", .array(.pattern("^[A-Za-z0-9_][A-Za-z0-9._@-]{0,63}$"), min: 0),
            "The notifiers that tell people about the job, by the names of their tables.",
            standard: .array([])
        ) { node, draft throws(Fault) in
            draft.policy.notify = try node.notifierNames()
            draft.notifyMark = node.mark
        },
        limit("late-after", "How long after its time a run that has not started is late.") {
            $0.lateAfter = $1
        },
        limit("long-after", "After which time there is a message that a run is still running.") {
            $0.longAfter = $1
        },
        limit("stale-after", "After which time without a run that succeeded there is a message.") {
            $0.staleAfter = $1
        },
        limit("paused-after", "After which time there is a message that the job is still paused.") {
            $0.pausedAfter = $1
        },
    ]

    private static func limit(
        _ name: String, _ help: String, _ set: @escaping @Sendable (inout Policy, Duration?) -> Void
    ) -> JobKey {
        JobKey(name, .spanOrNone, help, standard: .string("none")) { node, draft throws(Fault) in
            let span = try node.spanOrNone()
            if let span, span < .seconds(1) {
                throw Fault(node.mark, "is shorter than 1s; at least 1s, or \"none\"")
            }
            set(&draft.policy, span)
        }
    }
}

/// The values of a table `[notify.NAME]`.
struct NotifierDraft {
    var mail: [String]?
    var mailFrom: (text: String, mark: SourceMark)?
    var mailContentType: (text: String, mark: SourceMark)?
    var sendmail: (text: String, mark: SourceMark)?
    var webhook: String?
    var ping: String?
    var job: (name: Job.Name, mark: SourceMark)?
    var credential: String?
    var format: (word: String, mark: SourceMark)?
    var on: (kinds: Set<NotificationKind>, mark: SourceMark)?
    var after: (number: Int, mark: SourceMark)?
    var repeatInterval: (span: Duration?, mark: SourceMark)?
    var batch: (span: Duration, mark: SourceMark)?
    var perHour: (number: Int, mark: SourceMark)?

    static let formats =
        Notifier.WebhookFormat.allCases.map(\.rawValue)
        + Notifier.PingFormat.allCases.map(\.rawValue)

    /// The notifier, if the table has what it needs and nothing that does not belong to it.
    func notifier(named name: Notifier.Name, at mark: SourceMark) throws(Fault) -> Notifier {
        let transport = try transport(at: mark)
        if case .mail = transport {
        } else if let stray = mailFrom ?? mailContentType ?? sendmail {
            throw Fault(
                stray.mark, "mail-from, mail-content-type and sendmail go with mail alone")
        }
        if transport.isPing {
            let strays = [
                ("after", after?.mark), ("repeat", repeatInterval?.mark),
                ("per-hour", perHour?.mark),
            ]
            for case (let key, let mark?) in strays {
                throw Fault(mark, "\(key) does not go with a ping, which reports each run")
            }
            if let on,
                let other = on.kinds.subtracting(NotificationKind.ofPings).map(\.rawValue).min()
            {
                throw Fault(
                    on.mark,
                    "a ping cannot tell \"\(other)\"; only start, success and failure, and the service tells the rest"
                )
            }
        }
        if !transport.canBatch, let batch {
            throw Fault(batch.mark, "batch goes with mail and webhook alone")
        }
        return Notifier(
            name: name, transport: transport, on: on?.kinds, after: after?.number ?? 1,
            repeatInterval: repeatInterval?.span, batch: batch?.span,
            perHour: perHour?.number ?? 20,
            sendmail: sendmail?.text)
    }

    private func transport(at mark: SourceMark) throws(Fault) -> Notifier.Transport {
        let found = [
            ("mail", mail != nil), ("webhook", webhook != nil), ("ping", ping != nil),
            ("job", job != nil), ("url-credential", credential != nil),
        ].filter(\.1).map(\.0)
        try Draft.checkOne(of: found, among: NotifierKey.transports, at: mark)
        if let webhook { return .webhook(.url(webhook), try webhookFormat()) }
        if let ping { return .ping(.url(ping), try pingFormat()) }
        if let credential {
            guard let format else {
                throw Fault(
                    mark,
                    "url-credential needs format, one of "
                        + Self.formats.joined(separator: ", "))
            }
            if let format = Notifier.PingFormat(rawValue: format.word) {
                return .ping(.credential(credential), format)
            }
            return .webhook(.credential(credential), try webhookFormat())
        }
        if let format {
            throw Fault(format.mark, "format goes with webhook, ping and url-credential alone")
        }
        if let job { return .job(job.name) }
        return .mail(to: mail ?? [], from: mailFrom?.text, contentType: mailContentType?.text)
    }

    private func webhookFormat() throws(Fault) -> Notifier.WebhookFormat {
        guard let format else { return .json }
        guard let known = Notifier.WebhookFormat(rawValue: format.word) else {
            throw Fault(
                format.mark, "\"\(format.word)\" is a format of pings; use ping instead of webhook")
        }
        return known
    }

    private func pingFormat() throws(Fault) -> Notifier.PingFormat {
        guard let format else { return .healthchecks }
        guard let known = Notifier.PingFormat(rawValue: format.word) else {
            throw Fault(
                format.mark,
                "\"\(format.word)\" is a format of webhooks; use webhook instead of ping")
        }
        return known
    }
}

/// Values about telling people.
extension TomlNode {
    private static let addressesMax = 100
    private static let notifiersMax = 20

    /// One address of a mail, or an array of them.
    func mailAddresses() throws(Fault) -> [String] {
        guard case .array(let nodes) = value else { return [try mailAddress()] }
        guard !nodes.isEmpty else { throw Fault(mark, "must have at least one address") }
        guard nodes.count <= Self.addressesMax else {
            throw Fault(mark, "has \(nodes.count) addresses; at most \(Self.addressesMax)")
        }
        var addresses: [String] = []
        for node in nodes { addresses.append(try node.mailAddress()) }
        return addresses
    }

    /// An address as sendmail takes it. It becomes a part of a header, so it has nothing that could
    /// end it or add another address.
    func mailAddress() throws(Fault) -> String {
        let text = try string()
        let isPlain = text.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7f && !",;:<>()[]\\\"".utf8.contains($0)
        }
        let at = text.utf8.count { $0 == UInt8(ascii: "@") }
        guard isPlain, (1...254).contains(text.utf8.count), at <= 1, !text.hasPrefix("-"),
            !text.hasPrefix("@"), !text.hasSuffix("@")
        else {
            throw Fault(mark, "\"\(text)\" is no address such as \"root\" or \"ops@example.org\"")
        }
        return text
    }

    func programPath() throws(Fault) -> String {
        let text = try string()
        guard text.hasPrefix("/"), (2...4095).contains(text.utf8.count), !text.utf8.contains(0)
        else { throw Fault(mark, "\"\(text.shortened(to: 100))\" is no absolute path") }
        return text
    }

    func contentType() throws(Fault) -> String {
        let text = try string()
        guard (3...200).contains(text.utf8.count), text.utf8.contains(UInt8(ascii: "/")),
            text.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
        else { throw Fault(mark, "\"\(text)\" is no type such as \"text/plain; charset=UTF-8\"") }
        return text
    }

    /// The most bytes of a URL.
    private static let urlBytesMax = 2000

    /// A URL of https, or of http to this machine. Elsewhere http would show its secret to the
    /// network.
    func url() throws(Fault) -> String {
        let text = try string()
        guard text.utf8.count <= Self.urlBytesMax else {
            throw Fault(mark, "is too long; at most \(Self.urlBytesMax) bytes")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && !"\"\\<>^`{|}".utf8.contains($0) }),
            let host = Self.host(of: text)
        else {
            throw Fault(
                mark,
                "is no URL such as \"https://example.org/hook\", with its special characters encoded"
            )
        }
        let isLocal =
            host == "localhost" || host == "[::1]"
            || (host.hasPrefix("127.") && host.split(separator: ".").count == 4
                && host.utf8.allSatisfy { ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2e })
        guard text.lowercased().hasPrefix("https://") || isLocal else {
            throw Fault(mark, "http:// is only for this machine (localhost); use https://")
        }
        return text
    }

    /// The host of a URL of http or https, in small letters, without the port; nil if it has none.
    private static func host(of url: String) -> String? {
        let lower = url.lowercased()
        guard let scheme = ["https://", "http://"].first(where: { lower.hasPrefix($0) }) else {
            return nil
        }
        let authority = lower.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
        let place =
            authority.split(
                separator: "@", omittingEmptySubsequences: false
            ).last ?? authority
        let host =
            place.hasPrefix("[")
            ? place.prefix { $0 != "]" } + "]" : place.prefix { $0 != ":" }
        return host.isEmpty || host == "[]" ? nil : String(host)
    }

    func notificationKinds() throws(Fault) -> Set<NotificationKind> {
        guard case .array(let nodes) = value else {
            throw Fault(
                mark, "must be an array such as [\"failure\", \"recovery\"], not \(value.kind)")
        }
        guard !nodes.isEmpty else { throw Fault(mark, "must have at least one word") }
        var kinds: Set<NotificationKind> = []
        for node in nodes {
            kinds.insert(
                try node.choice(of: NotificationKind.configurable.map { ($0.rawValue, $0) }))
        }
        return kinds
    }

    /// The names of notifiers, each once.
    func notifierNames() throws(Fault) -> [Notifier.Name] {
        guard case .array(let nodes) = value else {
            throw Fault(mark, "must be an array such as [\"ops\"], not \(value.kind)")
        }
        guard nodes.count <= Self.notifiersMax else {
            throw Fault(mark, "has \(nodes.count) names; at most \(Self.notifiersMax)")
        }
        var names: [Notifier.Name] = []
        for node in nodes {
            let text = try node.string()
            guard let name = Notifier.Name(text) else {
                throw Fault(node.mark, Notifier.Name.fault(in: text) ?? "is no name")
            }
            guard !names.contains(name) else {
                throw Fault(node.mark, "\"\(name)\" is there twice")
            }
            names.append(name)
        }
        return names
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

/// One key of a table `[notify.NAME]`, with its shape and its reader.
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
            "proxy", .pattern("^(https?|socks5h?)://[^/@]+/?$"),
            "The proxy for the requests, such as http://proxy.example.org:3128; the default is none."
        ) { node, draft throws(Fault) in draft.proxy = (try node.proxy(), node.mark) },
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
                throw Fault(node.mark, "is shorter than 1 min; at least 1 min, or \"none\"")
            }
            draft.repeatInterval = (span, node.mark)
        },
        NotifierKey(
            "batch", .span,
            "How long messages are collected to be sent as one.", standard: .string("30s")
        ) { node, draft throws(Fault) in
            let span = try node.span()
            guard span <= .seconds(3600) else {
                throw Fault(node.mark, "is longer than 1 h; at most 1 h")
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
    /// The keys of a job that are about notifications.
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
                throw Fault(node.mark, "is shorter than 1 s; at least 1 s, or \"none\"")
            }
            set(&draft.policy, span)
        }
    }
}

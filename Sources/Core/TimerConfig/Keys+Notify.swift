// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

extension NotifierDraft: KeyTarget {
    /// Each notifier has exactly one of these.
    static let transportNames = ["mail", "webhook", "ping", "job", "url-credential"]

    /// The keys of a table `[notify.NAME]`.
    static let keys: [NotifierKey] = [
        NotifierKey(
            \.mail, "mail", .addresses, "Sends a mail to this address, or to these addresses."),
        NotifierKey(\.mailFrom, "mail-from", .address, "The sender of the mails."),
        NotifierKey(
            \.mailContentType, "mail-content-type", .contentType,
            "The type of the text of the mails, as in MIME.", none: "text/plain; charset=UTF-8"),
        NotifierKey(
            \.sendmail, "sendmail", .path,
            "The absolute path of the program that sends the mails; the default is sendmail in the usual directories."
        ),
        NotifierKey(\.webhook, "webhook", .url, "Sends a POST request to this URL."),
        NotifierKey(
            \.ping, "ping", .url,
            "Sends a request for each run to this URL of a service that expects them."),
        NotifierKey(
            \.job, "job", .jobName,
            "Runs this job, with the facts in variables TIMERD_NOTIFY_…."),
        NotifierKey(
            \.credential, "url-credential", .credential,
            "Like webhook or ping, as format says: the URL is in this credential of the runner."),
        NotifierKey(
            \.proxy, "proxy", .proxy,
            "The proxy for the requests, such as http://proxy.example.org:3128; the default is none."
        ),
        NotifierKey(
            \.format, "format", .format,
            "The format of the requests; the default is json of a webhook, and healthchecks of a ping."
        ),
        NotifierKey(
            \.on, "on", .kinds,
            "What it tells about; the default is start, success and failure of a ping, and of others what is wrong and when it is over."
        ),
        NotifierKey(
            \.after, "after", .integer(1...1000),
            "How many firings in a row must fail before it tells so."),
        NotifierKey(
            \.repeatInterval, "repeat", .spanOrNone.atLeast(.seconds(60)),
            "How long after a message it sends another one while the incident is not over."),
        NotifierKey(
            \.batch, "batch", .span.atMost(.seconds(3600)),
            "How long messages are collected to be sent as one."),
        NotifierKey(
            \.perHour, "per-hour", .integer(1...10_000),
            "How many messages it sends in an hour at most."),
    ]
}

extension Key where Target == NotifierDraft {
    /// Each notifier has exactly one of these.
    static var transports: [String] { NotifierDraft.transportNames }
}

extension Draft {
    /// The keys of a job that are about notifications.
    static let notifications: [JobKey] = [
        JobKey(
            "notify", .array(.pattern(ValueShape.name), min: 0),
            "The notifiers that tell people about the job, by the names of their tables.",
            value: { .names($0.policy.notify) }
        ) { node, draft throws(Fault) in
            draft.policy.notify = try node.notifierNames()
            draft.notifyMark = node.mark
        },
        JobKey(
            \.policy.lateAfter, "late-after", .spanOrNone.atLeast(.seconds(1)),
            "How long after its time a run that has not started is late."),
        JobKey(
            \.policy.longAfter, "long-after", .spanOrNone.atLeast(.seconds(1)),
            "After which time there is a message that a run is still running."),
        JobKey(
            \.policy.staleAfter, "stale-after", .spanOrNone.atLeast(.seconds(1)),
            "After which time without a run that succeeded there is a message."),
        JobKey(
            \.policy.pausedAfter, "paused-after", .spanOrNone.atLeast(.seconds(1)),
            "After which time there is a message that the job is still paused."),
    ]
}

extension KeyShape where Value == [String] {
    fileprivate static var addresses: Self {
        Self(.oneOrMore(.pattern("^[^-@]"))) { (node) throws(Fault) in try node.mailAddresses() }
    }
}

extension KeyShape where Value == String {
    fileprivate static var address: Self {
        Self(.pattern("^[^-@]")) { (node) throws(Fault) in try node.mailAddress() }
    }

    fileprivate static var contentType: Self {
        Self(.pattern("/"), write: { .string($0) }) { (node) throws(Fault) in
            try node.contentType()
        }
    }

    fileprivate static var credential: Self {
        Self(.pattern("^[A-Za-z0-9._@-]{1,255}$"), type: "NAME") { (node) throws(Fault) in
            let name = try node.string()
            if let fault = TomlNode.fault(inCredential: name) { throw Fault(node.mark, fault) }
            return name
        }
    }

    fileprivate static var proxy: Self {
        Self(.pattern("^(https?|socks5h?)://[^/@]+/?$"), type: "URL") { (node) throws(Fault) in
            try node.proxy()
        }
    }

    fileprivate static var format: Self {
        Self(.words(NotifierDraft.formats)) { (node) throws(Fault) in
            try node.choice(of: NotifierDraft.formats.map { ($0, $0) })
        }
    }
}

extension KeyShape where Value == Set<NotificationKind> {
    fileprivate static var kinds: Self {
        list(of: .words(NotificationKind.configurable.map(\.rawValue)), min: 1) {
            (node) throws(Fault) in try node.notificationKinds()
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The values of a table `[notify.NAME]` as they are read, before they are a notifier.
struct NotifierDraft: Sendable {
    var mail: [String]?
    var mailFrom: String?
    var mailContentType: String?
    var sendmail: String?
    var webhook: String?
    var ping: String?
    var job: Job.Name?
    var credential: String?
    var proxy: String?
    var format: String?
    var on: Set<NotificationKind>?
    var after = Notifier.standardAfter
    var repeatInterval: Duration?
    var batch = Notifier.standardBatch
    var perHour = Notifier.standardPerHour
    /// Where the values are that were right, by their keys.
    var marks: [String: SourceMark] = [:]

    static let formats =
        Notifier.WebhookFormat.allCases.map(\.rawValue)
        + Notifier.PingFormat.allCases.map(\.rawValue)

    /// The notifier, if the table has what it needs and nothing that does not belong to it.
    func notifier(named name: Notifier.Name, at mark: SourceMark) throws(Fault) -> Notifier {
        let transport = try transport(at: mark)
        let strays = strays(of: transport)
        if var fault = strays.first {
            fault.others = Array(strays.dropFirst())
            throw fault
        }
        return Notifier(
            name: name, transport: transport, on: on, after: after, repeatInterval: repeatInterval,
            batch: batch, perHour: perHour, sendmail: sendmail, proxy: proxy)
    }

    /// What is wrong beside values that were refused.
    ///
    /// - Parameter keys: all keys of the table, right or not.
    func faults(_ keys: Set<String>, at mark: SourceMark) -> [Fault] {
        do throws(Fault) {
            try Draft.checkOne(
                of: NotifierKey.transports.map(keys.contains), among: NotifierKey.transports,
                at: mark)
            // Without its value the kind of a refused one is not known.
            guard let transport = try? transport(at: mark) else { return [] }
            return strays(of: transport)
        } catch { return [error] }
    }

    /// The keys that do not belong to a transport.
    private func strays(of transport: Notifier.Transport) -> [Fault] {
        func faults(_ keys: [String], _ message: (String) -> String) -> [Fault] {
            keys.compactMap { key in marks[key].map { Fault($0, message(key)) } }
        }
        var found: [Fault] = []
        if case .mail = transport {
        } else {
            found += faults(["mail-from", "mail-content-type", "sendmail"]) { _ in
                "mail-from, mail-content-type and sendmail go with mail alone"
            }
        }
        switch transport {
        case .webhook, .ping: break
        case .mail, .job:
            found += faults(["proxy"]) { _ in
                "proxy can only be used with webhook, ping and url-credential"
            }
        }
        if transport.isPing {
            found += faults(["after", "repeat", "per-hour"]) { key in
                "\(key) does not go with a ping, which reports each run"
            }
            if let other = on?.subtracting(NotificationKind.ofPings).map(\.rawValue).min() {
                found += faults(["on"]) { _ in
                    "a ping cannot tell \"\(other)\"; only start, success and failure, and the service tells the rest"
                }
            }
        }
        if !transport.canBatch {
            found += faults(["batch"]) { _ in "batch can only be used with mail and webhook" }
        }
        return found
    }

    private func transport(at mark: SourceMark) throws(Fault) -> Notifier.Transport {
        try Draft.checkOne(
            of: [mail != nil, webhook != nil, ping != nil, job != nil, credential != nil],
            among: NotifierKey.transports, at: mark)
        if let webhook { return .webhook(.url(webhook), try webhookFormat(at: mark)) }
        if let ping { return .ping(.url(ping), try pingFormat(at: mark)) }
        if let credential {
            guard let format else {
                throw Fault(
                    mark,
                    "url-credential needs format, one of "
                        + Self.formats.joined(separator: ", "))
            }
            if let format = Notifier.PingFormat(rawValue: format) {
                return .ping(.credential(credential), format)
            }
            return .webhook(.credential(credential), try webhookFormat(at: mark))
        }
        if format != nil {
            throw Fault(
                marks["format"] ?? mark,
                "format can only be used with webhook, ping and url-credential")
        }
        if let job { return .job(job) }
        return .mail(to: mail ?? [], from: mailFrom, contentType: mailContentType)
    }

    private func webhookFormat(at mark: SourceMark) throws(Fault) -> Notifier.WebhookFormat {
        guard let format else { return .json }
        guard let known = Notifier.WebhookFormat(rawValue: format) else {
            throw Fault(
                marks["format"] ?? mark,
                "\"\(format)\" is a format of pings; use ping instead of webhook")
        }
        return known
    }

    private func pingFormat(at mark: SourceMark) throws(Fault) -> Notifier.PingFormat {
        guard let format else { return .healthchecks }
        guard let known = Notifier.PingFormat(rawValue: format) else {
            throw Fault(
                marks["format"] ?? mark,
                "\"\(format)\" is a format of webhooks; use webhook instead of ping")
        }
        return known
    }
}

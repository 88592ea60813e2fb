// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

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
    var proxy: (url: String, mark: SourceMark)?
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
        switch transport {
        case .webhook, .ping: break
        case .mail, .job:
            if let proxy {
                throw Fault(proxy.mark, "proxy goes with webhook, ping and url-credential alone")
            }
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
            sendmail: sendmail?.text, proxy: proxy?.url)
    }

    private func transport(at mark: SourceMark) throws(Fault) -> Notifier.Transport {
        try Draft.checkOne(
            of: [mail != nil, webhook != nil, ping != nil, job != nil, credential != nil],
            among: NotifierKey.transports, at: mark)
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

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The values of a table `[notify.NAME]` as they are read, before they are a notifier.
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
        let strays = strays(of: transport)
        if var fault = strays.first {
            fault.others = Array(strays.dropFirst())
            throw fault
        }
        return Notifier(
            name: name, transport: transport, on: on?.kinds, after: after?.number ?? 1,
            repeatInterval: repeatInterval?.span, batch: batch?.span,
            perHour: perHour?.number ?? 20,
            sendmail: sendmail?.text, proxy: proxy?.url)
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
        var faults: [Fault] = []
        if case .mail = transport {
        } else {
            faults += [mailFrom, mailContentType, sendmail].compactMap { $0?.mark }.map {
                Fault($0, "mail-from, mail-content-type and sendmail go with mail alone")
            }
        }
        switch transport {
        case .webhook, .ping: break
        case .mail, .job:
            if let proxy {
                faults.append(
                    Fault(proxy.mark, "proxy goes with webhook, ping and url-credential alone"))
            }
        }
        if transport.isPing { faults += straysOfPing }
        if !transport.canBatch, let batch {
            faults.append(Fault(batch.mark, "batch goes with mail and webhook alone"))
        }
        return faults
    }

    private var straysOfPing: [Fault] {
        let strays = [
            ("after", after?.mark), ("repeat", repeatInterval?.mark), ("per-hour", perHour?.mark),
        ]
        var faults = strays.compactMap { key, mark in
            mark.map { Fault($0, "\(key) does not go with a ping, which reports each run") }
        }
        if let on,
            let other = on.kinds.subtracting(NotificationKind.ofPings).map(\.rawValue).min()
        {
            faults.append(
                Fault(
                    on.mark,
                    "a ping cannot tell \"\(other)\"; only start, success and failure, and the service tells the rest"
                ))
        }
        return faults
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

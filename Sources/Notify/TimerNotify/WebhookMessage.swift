// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// Requests to services for people, which show a message in a chat or on a phone, and to programs.
extension OutgoingRequest {
    /// A message for people, or for a program.
    init(_ sheet: MessageSheet, as format: Notifier.WebhookFormat) {
        switch format {
        case .json: self = Self.json(sheet)
        case .slack: self = Self.slack(sheet)
        case .discord: self = Self.discord(sheet)
        case .ntfy: self = Self.ntfy(sheet)
        }
        headers.append(Header("X-Timerd-Message", "\(sheet.envelope.number)"))
    }

    private static func json(_ value: some Encodable) -> OutgoingRequest {
        // The values are texts, whole numbers and words, which all can be encoded.
        let body = (try? ControlJSON.encode(value)) ?? Array("{}".utf8)
        return OutgoingRequest(headers: [Header("Content-Type", "application/json")], body: body)
    }

    static let bodyMax = 250_000

    private static func json(_ sheet: MessageSheet) -> OutgoingRequest {
        var request = OutgoingRequest()
        for limit in WebhookDocument.outputLimits {
            request = json(WebhookDocument(sheet, limit: limit))
            if request.body.count <= bodyMax { return request }
        }
        // Without any output it is too large only if there are very many.
        var most = sheet.reports.count / 2
        while request.body.count > bodyMax, most > 0 {
            request = json(WebhookDocument(sheet, limit: (0, 0), most: most))
            most /= 2
        }
        return request
    }

    // MARK: - Slack

    private struct SlackMessage: Encodable {
        var text: String
    }

    /// The most characters of a text that Slack recommends.
    private static let slackMax = 4000

    private static func slack(_ sheet: MessageSheet) -> OutgoingRequest {
        // Slack has no other escapes than these, and knows no markup in a block of code.
        func escaped(_ text: String) -> String {
            var escaped = String.UnicodeScalarView()
            for scalar in text.unicodeScalars {
                switch scalar {
                case "&": escaped += "&amp;".unicodeScalars
                case "<": escaped += "&lt;".unicodeScalars
                case ">": escaped += "&gt;".unicodeScalars
                default: escaped.append(scalar)
                }
            }
            return String(escaped)
        }
        return json(SlackMessage(text: sheet.chat(limit: slackMax, escaped, inCode: escaped)))
    }

    // MARK: - Discord

    private struct DiscordMessage: Encodable {
        struct Mentions: Encodable { var parse: [String] = [] }

        /// A job must not be able to call the members of a channel.
        var allowedMentions = Mentions()
        var content: String
        /// No previews of links.
        var flags = 4
        var username = "timerd"
    }

    private static let discordMax = 2000

    private static func discord(_ sheet: MessageSheet) -> OutgoingRequest {
        func escaped(_ text: String) -> String {
            var escaped = String.UnicodeScalarView()
            for scalar in text.unicodeScalars {
                if "\\`*_~|<>[]()#@:".unicodeScalars.contains(scalar) { escaped.append("\\") }
                escaped.append(scalar)
            }
            return String(escaped)
        }
        return json(DiscordMessage(content: sheet.chat(limit: discordMax, escaped) { $0 }))
    }

    // MARK: - ntfy

    /// A longer text becomes a file that people have to open.
    private static let ntfyBytesMax = 4000

    private static func ntfy(_ sheet: MessageSheet) -> OutgoingRequest {
        let kinds = sheet.reports.map(\.notification.kind)
        let isTrouble = kinds.contains { $0.isTrouble }
        let tag =
            isTrouble
            ? "rotating_light"
            : kinds.contains(.recovery) ? "white_check_mark" : "information_source"
        let text = Array(sheet.chatText(limit: ntfyBytesMax / 2, outputLines: 20).utf8)
        let title = MailEncoding.header("", text: OutputExcerpt.shortened(sheet.headline, to: 200))
        return OutgoingRequest(
            headers: [
                Header("Content-Type", "text/plain; charset=utf-8"),
                // Encoded words, as in a mail, are what ntfy decodes; a header has no folded lines.
                Header("Title", String(title.dropFirst(2)).filter { $0 != "\n" }),
                Header("Priority", isTrouble ? "high" : "default"), Header("Tags", tag),
            ],
            body: text.count > ntfyBytesMax
                ? OutputExcerpt.beginning(of: text, bytes: ntfyBytesMax) : text)
    }
}

/// The text of a message in a chat.
extension MessageSheet {
    /// The headline, and the rest in a block of code, in which nothing is markup.
    ///
    /// - Parameters:
    ///   - limit: the most characters, as UTF-16 counts them.
    ///   - escape: writes a text without markup.
    ///   - inCode: the same in a block of code.
    func chat(
        limit: Int, _ escape: (String) -> String, inCode: (String) -> String
    ) -> String {
        let title = escape(Self.withoutFences(OutputExcerpt.shortened(headline, to: 250)))
        var lines = 40
        while true {
            let rest = chatText(limit: limit, outputLines: lines, withHeadline: false)
            let code = inCode(Self.withoutFences(rest))
            let text = code.isEmpty ? title : "\(title)\n```\n\(code)\n```"
            if text.utf16.count <= limit || lines == 0 {
                return text.utf16.count <= limit ? text : OutputExcerpt.shortened(title, to: limit)
            }
            lines = lines * 3 / 4
        }
    }

    /// The text without markup: facts, the end of the output, the next command.
    ///
    /// - Parameter limit: about how many characters at most; the output is cut to fit.
    func chatText(limit: Int, outputLines: Int, withHeadline: Bool = false) -> String {
        var lines: [String] = withHeadline ? [headline, ""] : []
        if let single {
            lines += chatFacts(of: single)
            let text = OutputExcerpt.text(single.output)
            let room = limit - lines.reduce(0) { $0 + $1.utf16.count + 1 } - 300
            let (output, _) = OutputExcerpt.lastLines(
                of: text, lines: outputLines, characters: max(0, min(room, outputLines * 100)))
            if !output.isEmpty, outputLines > 0 { lines += [""] + output }
            lines += ["", commands(for: single)[0]]
        } else {
            let rows = reports.prefix(max(1, min(20, outputLines))).map {
                OutputExcerpt.shortened(headline(of: $0), to: 120)
            }
            lines += rows
            if reports.count > rows.count { lines.append("and \(reports.count - rows.count) more") }
            lines += ["", "timerctl failures"]
        }
        return lines.joined(separator: "\n")
    }

    private func chatFacts(of report: Report) -> [String] {
        let shown = ["Run", "Took", "Failing since", "Due", "Started", "Paused", "Last success"]
        return facts(of: report).filter { shown.contains($0.name) }.map {
            "\($0.name): \($0.value)"
        }
    }

    /// The text without the end mark of a block of code: zero-width spaces separate backticks.
    private static func withoutFences(_ text: String) -> String {
        guard text.contains("``") else { return text }
        var parted = String.UnicodeScalarView()
        var last: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            if scalar == "`", last == "`" { parted.append("\u{200b}") }
            parted.append(scalar)
            last = scalar
        }
        return String(parted)
    }
}

extension OutputExcerpt {
    /// The first bytes, to the end of a character, with an ellipsis.
    static func beginning(of text: [UInt8], bytes: Int) -> [UInt8] {
        guard text.count > bytes else { return text }
        let ellipsis = Array("…".utf8)
        var head = text.prefix(max(0, bytes - ellipsis.count))
        // The bytes 10xxxxxx continue a character that may not be complete.
        while let last = head.last, last & 0xc0 == 0x80 { head.removeLast() }
        if let last = head.last, last >= 0xc0 { head.removeLast() }
        return Array(head) + ellipsis
    }
}

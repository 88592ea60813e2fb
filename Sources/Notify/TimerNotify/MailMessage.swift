// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// A mail with its header, made of a message.
struct MailMessage {
    let sheet: MessageSheet
    let recipients: [String]
    /// The sender; nil: the mail program writes the user as whom it runs.
    let sender: String?
    /// The type of the output, for a mail that is the output of a job.
    let contentType: String?

    /// The most bytes of output in a mail. Encoded they are less than twice as many.
    static let outputMax = 60_000
    private static let subjectMax = 200

    init(_ sheet: MessageSheet, to recipients: [String], from sender: String?, contentType: String?)
    {
        self.sheet = sheet
        self.recipients = recipients
        self.sender = sender
        self.contentType = contentType
    }

    /// The header, an empty line, and the body.
    var bytes: [UInt8] {
        let (encoding, body) = MailEncoding.body(content)
        var lines: [String] = []
        if let sender { lines.append(MailEncoding.header("From", words: [sender], between: " ")) }
        lines += [
            MailEncoding.header("To", words: recipients, between: ", "),
            MailEncoding.header(
                "Subject", text: OutputExcerpt.shortened(subject, to: Self.subjectMax)),
            "Date: \(sheet.mailDate(sheet.envelope.created))",
            "Message-ID: \(messageID(sheet.envelope.name))",
        ]
        if let earlier = sheet.envelope.inReplyTo.map(sheet.envelope.name(of:)) {
            lines += [
                "In-Reply-To: \(messageID(earlier))", "References: \(messageID(earlier))",
            ]
        }
        lines += [
            "Auto-Submitted: auto-generated",
            MailEncoding.header("X-Timerd-Notifier", text: "\(sheet.notifier)"),
        ]
        if let job = sheet.single?.notification.job {
            lines.append(MailEncoding.header("X-Timerd-Job", text: "\(job)"))
        }
        lines += [
            "MIME-Version: 1.0", MailEncoding.header("Content-Type", words: [type], between: " "),
            "Content-Transfer-Encoding: \(encoding)",
        ]
        return Array((lines.joined(separator: "\n") + "\n\n").utf8) + body
    }

    /// The report whose output alone is the mail, as cron sends it; nil: it is a message about runs.
    private var output: Report? {
        sheet.single.flatMap { $0.notification.kind == .output ? $0 : nil }
    }

    private var subject: String {
        guard let output else { return sheet.headline }
        let user = output.user.map { Printable.text($0) } ?? "timerd"
        let command = output.command.map { Printable.text($0) } ?? output.notification.jobText
        return "Cron <\(user)@\(sheet.host)> \(command)"
    }

    private var type: String {
        let plain = "text/plain; charset=utf-8"
        return output == nil ? plain : contentType ?? plain
    }

    private var content: [UInt8] {
        guard let output else { return Array(sheet.text.utf8) }
        let report = output.limited(to: Self.outputMax)
        // What a text of another type may contain is not known here.
        guard contentType == nil else { return report.output }
        let cut =
            report.outputIsCut
            ? "[the beginning is left out: timerctl log \(report.notification.run.map { "\($0)" } ?? "RUN")]\n"
            : ""
        return Array("\(cut)\(OutputExcerpt.text(report.output))\n".utf8)
    }

    /// The same for each attempt to send a message, so that a mail that came twice is recognised.
    private func messageID(_ name: String) -> String {
        func atoms(_ text: String) -> String {
            let bytes = text.utf8.filter { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
            // Two dots in a row, or one at an end, are no valid name.
            let parts = bytes.split(separator: UInt8(ascii: "."))
            return parts.map { String(decoding: Array($0), as: UTF8.self) }.joined(separator: ".")
        }
        let host = atoms(sheet.envelope.host)
        return "<timerd.\(atoms(name))@\(host.isEmpty ? "localhost" : host)>"
    }
}

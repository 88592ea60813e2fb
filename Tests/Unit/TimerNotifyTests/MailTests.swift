// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerCore

@testable import TimerNotify

@Suite struct MailTests {
    @Test func aFailure() throws {
        var notification = try Night.notification(.failure, failedInARow: 4)
        notification.since = Night.instant("2026-11-21T23:00:12Z")
        let report = Report(
            notification, output: Array("sending\n\u{1b}[31mrsync: refused\u{1b}[0m\n".utf8),
            description: "Nächtliche Sicherung", command: "rsync -a /srv backup:/srv")
        #expect(
            try Night.mail([report]) == """
                To: root, ops@example.org
                Subject: backup failed on web1: exit 3 (4 times in a row)
                Date: Sun, 22 Nov 2026 03:00:42 +0100
                Message-ID: <timerd.17.660d3d8354680.3f2a9c@web1>
                Auto-Submitted: auto-generated
                X-Timerd-Notifier: ops
                X-Timerd-Job: backup
                MIME-Version: 1.0
                Content-Type: text/plain; charset=utf-8
                Content-Transfer-Encoding: quoted-printable

                backup failed on web1: exit 3 (4 times in a row)

                Job            backup (N=C3=A4chtliche Sicherung)
                Run            backup:20261122T020000.000000Z:1
                Ended          Sun 2026-11-22 03:00:12 +01:00
                Took           12.345 s, CPU 1.200 s, peak memory 34816 KiB
                Failing since  Sun 2026-11-22 00:00:12 +01:00, 3 h ago
                Command        rsync -a /srv backup:/srv

                Its output:

                    | sending
                    | rsync: refused

                Look further:
                    timerctl log backup:20261122T020000.000000Z:1
                    timerctl why backup

                timerd on web1, notifier ops, message 17

                """)
    }

    @Test func aRecoveryAnswersTheFailure() throws {
        var notification = try Night.notification(.recovery, outcome: .exited(0), failedInARow: 4)
        notification.recoveredFrom = [.failure]
        let mail = try Night.mail(
            [Report(notification)], Night.recipients,
            Night.envelope(
                inReplyTo: .init(number: 9, created: Night.instant("2026-11-22T01:00:42Z"))))
        #expect(mail.contains("Subject: backup recovered on web1 after 4 failures\n"))
        #expect(
            mail.contains(
                "In-Reply-To: <timerd.9.660d301a1a280.3f2a9c@web1>\nReferences: <timerd.9.660d301a1a280.3f2a9c@web1>\n"
            ))
    }

    @Test func severalAreATable() throws {
        var reports = try (1...4).map {
            Report(try Night.notification(.failure, of: "job-\($0)", failedInARow: $0))
        }
        reports.append(Report(try Night.notification(.late, of: "report", outcome: nil)))
        let mail = try Night.mail(reports)
        #expect(
            mail.contains(
                "Subject: 4 failures, 1 late run on web1: job-1, job-2, job-3 and 2 more\n"))
        #expect(
            unfolded(mail).contains(
                """
                TIME      JOB     WHAT                RUN
                03:00:12  job-1   exit 3              job-1:20261122T020000.000000Z:1
                03:00:12  job-2   exit 3, 2 in a row  job-2:20261122T020000.000000Z:1
                """))
        #expect(unfolded(mail).contains("03:00:12  report  late                -\n"))
        #expect(!mail.contains("X-Timerd-Job"))
    }

    /// The text with the soft line breaks of quoted-printable removed.
    private func unfolded(_ mail: String) -> String { mail.replacing("=\n", with: "") }

    @Test(
        arguments: [
            (.start, "backup started on web1"), (.success, "backup succeeded on web1"),
            (.failure, "backup failed on web1: exit 3"),
            (.recovery, "backup recovered on web1: it was late"),
            (.late, "backup is late on web1: due at 00:00:12, not started"),
            (.long, "backup is still running on web1 after 3 h"),
            (.stale, "backup has not succeeded on web1 for 3 h"),
            (.lost, "backup failed on web1: exit 3"),
            (
                .skipped,
                "a run of backup was skipped on web1: the previous run had not ended (concurrency)"
            ),
            (.pausedLong, "backup has been paused on web1 for 3 h"),
            (.output, "output of backup on web1"), (.test, "test of the notifier ops on web1"),
        ] as [(NotificationKind, String)])
    func eachKindHasItsSentence(kind: NotificationKind, sentence: String) throws {
        var notification = try Night.notification(kind)
        notification.since = Night.instant("2026-11-21T23:00:12Z")
        notification.skipReason = "still-running"
        notification.recoveredFrom = [.late]
        let sheet = MessageSheet(
            notifier: try Night.name("ops"), envelope: try Night.envelope(),
            reports: [Report(notification)])
        #expect(sheet.headline == sentence)
        #expect(sheet.text.hasPrefix(sentence + "\n"))
    }

    @Test(arguments: [
        (RunOutcome.signalled("SIGKILL"), "killed by SIGKILL"),
        (.timedOut, "timed out after 12 s"),
        (
            .spawnFailed(errno: "ENOENT", what: "exec /bin/x"),
            "could not start: no such program /bin/x"
        ),
        (.lost(.reboot), "lost: the machine went down while it ran"),
    ])
    func eachOutcomeIsInWords(outcome: RunOutcome, words: String) throws {
        let mail = try Night.mail([Report(try Night.notification(.failure, outcome: outcome))])
        #expect(unfolded(mail).contains("\n\nbackup failed on web1: \(words)\n"))
    }

    @Test func ofOutputTheMailIsWhatCronSends() throws {
        let report = Report(
            try Night.notification(.output), output: Array("a\n.\nFrom here\nb  \n".utf8),
            user: "www",
            command: "cd / && run-parts --report /etc/cron.hourly")
        let mail = try Night.mail([report])
        #expect(
            mail.contains("Subject: Cron <www@web1> cd / && run-parts --report /etc/cron.hourly\n"))
        #expect(mail.hasSuffix("\n\na\n=2E\n=46rom here\nb =20\n"))
        let html = Notifier.Transport.mail(
            to: ["root"], from: "timerd@example.org", contentType: "text/html; charset=utf-8")
        let typed = try Night.mail([report], html)
        #expect(typed.hasPrefix("From: timerd@example.org\nTo: root\n"))
        #expect(typed.contains("Content-Type: text/html; charset=utf-8\n"))
    }

    /// Names, notes and descriptions come from people who may not write headers.
    @Test func noTextBeginsALineOfTheHeader() throws {
        let evil = "x\r\nBcc: all@example.org\n\nbody\u{2028}\u{0}"
        var notification = try Night.notification(.skipped, outcome: nil)
        notification.skipReason = evil
        let report = Report(
            notification, output: Array(evil.utf8), description: evil, user: evil, command: evil)
        var output = report
        output.notification.kind = .output
        let transport = Notifier.Transport.mail(
            to: ["root\nBcc: all@example.org"], from: "a\nBcc: b@c", contentType: "text/x\nBcc: d@e"
        )
        for report in [report, output] {
            let mail = try Night.mail([report], transport, Night.envelope(host: evil))
            let header = mail.split(separator: "\n\n", maxSplits: 1)[0]
            #expect(!header.contains("\r") && !header.contains("\u{0}"))
            for line in header.split(separator: "\n") {
                #expect(!line.hasPrefix("Bcc") && line.utf8.count <= 998, "\(line)")
                #expect(line.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7f }, "\(line)")
            }
        }
    }

    @Test(arguments: [
        ("Subject: plain", "plain"),
        ("Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
        // It would be read as something else.
        ("Subject: =?UTF-8?Q?=3D=3Fx=3F=3D?=", "=?x?="),
        (
            "Subject: "
                + "a word and a word and a word and a word and a word and a word and a\n word and a word",
            "a word and a word and a word and a word and a word and a word and a word and a word"
        ),
        (
            "Subject: =?UTF-8?Q?=E2=82=AC=E2=82=AC=E2=82=AC=E2=82=AC=E2=82=AC=E2=82=AC?=\n =?UTF-8?Q?=E2=82=AC?=",
            "€€€€€€€"
        ),
    ])
    func headersAreEncodedAndFolded(line: String, text: String) {
        #expect(MailEncoding.header("Subject", text: text) == line)
    }

    @Test(arguments: [
        ("", ""), ("a=b\n", "a=3Db\n"), (" \n\t\n x", "=20\n=09\n x"), ("\r\n", "=0D\n"),
        (".\n..\n.a", "=2E\n=2E.\n=2Ea"), ("From x\n From", "=46rom x\n From"), ("é", "=C3=A9"),
        (String(repeating: "a", count: 76), String(repeating: "a", count: 76)),
        (
            String(repeating: "a", count: 77),
            String(repeating: "a", count: 75) + "=\n" + "aa"
        ),
    ])
    func bodiesAreQuotedPrintable(text: String, encoded: String) {
        #expect(
            String(decoding: MailEncoding.quotedPrintable(Array(text.utf8)), as: UTF8.self)
                == encoded)
    }

    /// Whatever the bytes are, a reader gets them back, from lines that every mail program accepts.
    @Test func randomBodiesAreDecodedAgain() {
        var random = SeededRandom()
        for _ in 0..<300 {
            let kinds: [ClosedRange<UInt8>] = [0...255, 32...126, 128...255, 9...13]
            let kind = kinds[random.int(below: kinds.count)]
            let bytes = (0..<random.int(below: 300)).map { _ in
                random.int(below: 12) == 0
                    ? UInt8(ascii: "\n")
                    : kind.lowerBound
                        + UInt8(random.int(below: Int(kind.upperBound - kind.lowerBound) + 1))
            }
            let quoted = MailEncoding.quotedPrintable(bytes)
            #expect(decodedQuotedPrintable(quoted) == bytes)
            let (encoding, body) = MailEncoding.body(bytes)
            #expect(encoding == "base64" || body == quoted)
            let lines = body.split(separator: UInt8(ascii: "\n"))
            #expect(lines.allSatisfy { $0.count <= 76 })
            #expect(lines.joined().allSatisfy { $0 == 9 || (32...126).contains($0) })
        }
    }

    private func decodedQuotedPrintable(_ bytes: [UInt8]) -> [UInt8] {
        var decoded: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "=") else {
                decoded.append(byte)
                continue
            }
            if rest.first == UInt8(ascii: "\n") {
                rest.removeFirst()
            } else if let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                decoded.append(value)
                rest.removeFirst(2)
            }
        }
        return decoded
    }

    @Test(arguments: [
        ("", "\n"), ("f", "Zg==\n"), ("fo", "Zm8=\n"), ("foo", "Zm9v\n"), ("foob", "Zm9vYg==\n"),
    ])
    func base64IsThatOfRFC4648(text: String, encoded: String) {
        #expect(String(decoding: MailEncoding.base64(Array(text.utf8)), as: UTF8.self) == encoded)
    }

    @Test func theLargestMailFits() throws {
        for byte: UInt8 in [0, 255] {
            let output = [UInt8](repeating: byte, count: 1 << 18)
            for kind in [NotificationKind.output, .failure] {
                let report = Report(
                    try Night.notification(kind), output: output,
                    command: String(repeating: "x", count: 100_000))
                #expect(try Night.mail([report]).utf8.count < 250_000)
            }
        }
        let name = String(repeating: "x", count: 60)
        let many = try (0..<OutgoingMessage.notificationsMax).map {
            Report(
                try Night.notification(.failure, of: "\(name)\($0)", failedInARow: .max),
                output: [UInt8](repeating: 255, count: 10_000))
        }
        #expect(try Night.mail(many).utf8.count < 250_000)
    }
}

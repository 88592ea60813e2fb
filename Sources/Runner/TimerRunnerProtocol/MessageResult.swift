// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The result of an attempt to send a message.
public struct MessageResult: Hashable, Sendable {
    /// What the attempt means for the message.
    public enum Verdict: Hashable, Sendable {
        /// The receiver has accepted it.
        case sent
        /// It is worth another attempt, for this reason.
        case failed(String)
        /// The receiver refuses it, and would refuse it again, for this reason.
        case refused(String)
    }

    /// Whether the message is sent, is worth another attempt, or is refused.
    public var verdict: Verdict
    /// The status of the answer; nil for a mail, and if there was no answer.
    public var status: Int?
    /// What the receiver or the program said, without secrets.
    public var answer: [UInt8]
    /// How long the receiver asked to wait before the next attempt; nil if it did not.
    public var retryAfter: Duration?

    /// What curl(1) writes before the status, on a line of its own after the answer.
    package static let statusMark = "timerd-http-status: "
    /// What it writes behind that: the status, the header field `Retry-After`, and the address to which it was
    /// redirected, with tabs between them.
    package static let statusFields = "%{http_code}\t%header{retry-after}\t%{redirect_url}"

    /// By default there was no answer.
    public init(
        _ verdict: Verdict, status: Int? = nil, answer: [UInt8] = [], retryAfter: Duration? = nil
    ) {
        self.verdict = verdict
        self.status = status
        self.answer = answer
        self.retryAfter = retryAfter
    }

    /// Reads the result from the end of the run that sent the message.
    ///
    /// - Parameter isRequest: whether the message is a request, not a mail.
    public init(_ end: RunEnd, isRequest: Bool) {
        let (answer, head) = isRequest ? Self.split(end.tail) : (end.tail, nil)
        status = head?.status
        self.answer = Self.trimmed(answer)
        let words = Self.words(of: self.answer)
        switch head {
        // The receiver has accepted it, even if the rest of its answer was too long or too late.
        case .some(let head) where (200..<300).contains(head.status): verdict = .sent
        case .some(let head):
            let text =
                "HTTP status \(head.status)" + Self.redirection(head)
                + (words.isEmpty ? "" : ": \(words)")
            verdict = Self.isFinal(head.status) ? .refused(text) : .failed(text)
            if case .failed = verdict { retryAfter = RetryAfter.wait(head.retryAfter, at: end.at) }
        case nil: verdict = Self.verdict(on: end.outcome, words, isRequest: isRequest)
        }
    }

    /// Redirections are not followed, so they do not become a success by themselves.
    private static func isFinal(_ status: Int) -> Bool {
        (300..<500).contains(status) && ![408, 425, 429].contains(status)
    }

    /// Where the receiver says that its address is now, and what to do about it; empty if it says nothing. Redirections
    /// are not followed: an answer must not decide who gets the next message.
    private static func redirection(_ head: Head) -> String {
        guard (300..<400).contains(head.status), !head.location.isEmpty else { return "" }
        // A query, and a user with a password, may be new secrets.
        let place = head.location.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let text = words(of: Array(place))
        guard let start = text.firstRange(of: "://")?.upperBound else { return "" }
        let authority = text[start...].prefix { $0 != "/" }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        let url = text[..<start] + host + text[authority.endIndex...]
        let what = [301, 308].contains(head.status) ? "has moved" : "redirects"
        return ", the address \(what) to \(url) (put that into the configuration if it is right)"
    }

    private static func verdict(
        on outcome: RunOutcome, _ words: String, isRequest: Bool
    ) -> Verdict {
        let program = isRequest ? "curl" : "sendmail"
        func text(_ how: String) -> String { words.isEmpty ? how : "\(how): \(words)" }
        switch outcome {
        case .exited(0): return isRequest ? .failed(text("no answer")) : .sent
        case .exited(let code):
            let text = text("\(program) ended with exit code \(code)")
            // EX_USAGE, EX_DATAERR and EX_NOUSER of sysexits.h.
            return !isRequest && [64, 65, 67].contains(code) ? .refused(text) : .failed(text)
        case .timedOut: return .failed(text("no answer in time"))
        case .spawnFailed(let code, let what): return .failed("cannot \(what) (\(code))")
        case .signalled, .replaced, .stopped, .windowEnded, .lost, .skipped:
            return .failed(text("\(program) did not end by itself (\(outcome))"))
        }
    }

    /// What curl(1) writes about the header of an answer.
    private struct Head {
        var status: Int
        var retryAfter: String
        var location: [UInt8]
    }

    /// The answer, and the fields on the last line with the mark. An answer that contains such a
    /// line comes before it.
    private static func split(_ tail: [UInt8]) -> (answer: [UInt8], head: Head?) {
        let mark = Array(statusMark.utf8)
        var lines = tail.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard let place = lines.lastIndex(where: { $0.starts(with: mark) }) else {
            return (tail, nil)
        }
        let fields = lines[place].dropFirst(mark.count).split(
            separator: UInt8(ascii: "\t"), maxSplits: 2, omittingEmptySubsequences: false)
        guard let first = fields.first, let status = Int(String(decoding: first, as: UTF8.self))
        else { return (tail, nil) }
        lines.remove(at: place)
        let answer = Array(lines.joined(separator: [10]))
        // curl writes 000 if there was no answer.
        guard status != 0 else { return (answer, nil) }
        return (
            answer,
            Head(
                status: status,
                retryAfter: fields.count > 1 ? String(decoding: fields[1], as: UTF8.self) : "",
                location: fields.count > 2 ? Array(fields[2]) : [])
        )
    }

    private static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes[...]
        while let last = bytes.last, last == 10 || last == 13 || last == 32 { bytes.removeLast() }
        while let first = bytes.first, first == 10 || first == 13 { bytes.removeFirst() }
        return Array(bytes)
    }

    /// How much of an answer is part of a reason.
    private static let wordsMax = 200

    /// The beginning of the answer on one line, with printable characters only.
    private static func words(of answer: [UInt8]) -> String {
        var text = ""
        for scalar in String(decoding: answer.prefix(4 * wordsMax), as: UTF8.self).unicodeScalars {
            guard text.unicodeScalars.count < wordsMax else { return text + "…" }
            let shown: Unicode.Scalar = scalar.isPrintable ? scalar : " "
            if shown == " ", text.isEmpty || text.hasSuffix(" ") { continue }
            text.unicodeScalars.append(shown)
        }
        return text.hasSuffix(" ") ? String(text.dropLast()) : text
    }
}

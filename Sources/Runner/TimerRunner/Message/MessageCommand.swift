// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerRunnerProtocol

/// How the runner sends a message: the program, what it reads, and what is removed from its output.
///
/// The program, the recipients and the address come from the configuration that the runner has read
/// itself; the scheduler only adds the contents. The address of a request usually contains a secret,
/// so it is on the standard input of curl(1), and neither in its arguments nor in its environment.
struct MessageCommand: Sendable {
    /// The most seconds that curl(1) may take to connect. For the whole request it gets 5/6 of the
    /// timeout of the message: a curl that ends by itself reports the reason, and one that the runner
    /// kills does not.
    static let connectSeconds: Int64 = 20
    /// The most bytes that a receiver may answer, and how many of them are kept.
    static let answerBytesMax = 1 << 20
    static let tailBytes = 8 << 10
    /// The most bytes of the file of an address.
    static let credentialBytesMax = 8 << 10
    /// The descriptor of the body of a request.
    static let bodyDescriptor = 3

    /// What the program reads from its standard input.
    var input: String
    /// What it reads from `bodyDescriptor`; nil for a mail.
    var body: [UInt8]?
    /// Removes the secrets of the message from its output.
    var redaction = Redaction()

    /// The definition of the run that sends a message, without its input.
    ///
    /// - Parameters:
    ///   - timeout: how long it may take.
    ///   - user: the user as whom it runs; nil: the runner's own.
    static func definition(
        for notifier: Notifier, timeout: Duration, user: String?
    ) -> Definition {
        var definition = Definition(.arguments(["curl", "--disable", "--config", "-"]))
        definition.workingDirectory = "/"
        definition.execution.user = user
        definition.execution.timeout = timeout
        definition.execution.killTimeout = .seconds(5)
        definition.execution.outputTail = tailBytes
        definition.execution.umask = 0o077
        definition.execution.confinement.noNewPrivileges = true
        if case .mail(let recipients, let from, _) = notifier.transport {
            let sender = from.map { ["-f", $0] } ?? []
            // Without -t, because with it sendmail would take the recipients from the contents, which
            // the scheduler provides.
            definition.command = .arguments(
                [notifier.sendmail ?? "sendmail", "-i"] + sender + ["--"] + recipients)
            // The sendmail of some mail servers is a set-group-ID program, which may write into the
            // queue only by that group, and leaves a process that delivers the mail.
            definition.execution.confinement.noNewPrivileges = false
            definition.execution.killsLeftovers = false
        }
        return definition
    }

    /// The path of the file that has the address; nil if there is none.
    ///
    /// - Parameter directory: `$CREDENTIALS_DIRECTORY`; nil if it is not set.
    static func credential(
        of notifier: Notifier, in directory: String?
    ) throws(Spawner.Failure) -> String? {
        guard case .credential(let name) = notifier.transport.address else { return nil }
        guard let directory else {
            throw Spawner.failure(
                ENOENT,
                "read the credential \(name): the runner has none; give it one with LoadCredential= (docs/NOTIFICATIONS.md)"
            )
        }
        return "\(directory)/\(name)"
    }

    /// Creates the command for a message: its contents come from the scheduler, everything else from
    /// the configuration.
    ///
    /// - Parameter credential: the contents of the file with the address, if it has one.
    /// - Throws: what is wrong with one of them; the text contains no secret.
    init(
        _ message: MessageRequest, for notifier: Notifier, credential: [UInt8]?
    ) throws(Spawner.Failure) {
        switch (message.content, notifier.transport) {
        case (.mail(let bytes), .mail):
            guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
                throw Spawner.failure(EINVAL, "send a mail that is not text")
            }
            input = text
        case (.request(let request), .webhook(let address, _)),
            (.request(let request), .ping(let address, _)):
            guard let service = MessageService(notifier.transport) else { throw Self.otherKind }
            try service.check(request)
            let address = try Self.address(address, credential)
            redaction = Redaction(address.secrets)
            input = Self.configuration(
                for: request, at: address.url(for: request, to: service), of: address.scheme,
                through: notifier.proxy, within: message.timeout)
            body = request.body
        case (.mail, _), (.request, _):
            throw Self.otherKind
        }
    }

    private static var otherKind: Spawner.Failure {
        Spawner.failure(
            ESTALE,
            "send a message that was made for another kind of notifier; the configuration has changed since"
        )
    }

    private static func address(
        _ address: Notifier.Address, _ credential: [UInt8]?
    ) throws(Spawner.Failure) -> MessageAddress {
        let text: String
        let what: String
        switch address {
        case .url(let url): (text, what) = (url, "use the URL of the notifier, which")
        case .credential(let name):
            what = "use the credential \(name), which"
            let bytes = (credential ?? []).trimmed
            guard let decoded = String(validating: bytes, as: UTF8.self) else {
                throw Spawner.failure(EINVAL, "\(what) has a character that a URL cannot have")
            }
            text = decoded
        }
        do throws(MessageAddress.Fault) {
            return try MessageAddress(text)
        } catch {
            throw Spawner.failure(EINVAL, "\(what) \(error.description)")
        }
    }

    // MARK: - curl

    /// The configuration of curl(1) for a request that was checked, at this URL.
    private static func configuration(
        for request: MessageRequest.Request, at url: String, of scheme: String,
        through proxy: String?, within timeout: Duration
    ) -> String {
        let seconds = max(1, timeout.components.seconds * 5 / 6)
        var lines = [
            "url = \(quoted(url))",
            "request = \(quoted(request.method))",
            // Without globoff, curl would expand brackets and braces in the address. Redirections are
            // not followed, and no other protocol is allowed, so that an answer cannot make curl
            // connect elsewhere.
            "globoff", "proto = \(quoted("=\(scheme)"))",
            "connect-timeout = \(min(connectSeconds, seconds))", "max-time = \(seconds)",
            "max-filesize = \(answerBytesMax)", "silent", "show-error",
            "write-out = \(quoted("\n\(MessageResult.statusMark)\(MessageResult.statusFields)\n"))",
        ]
        // An address with http is always one of this machine, which needs no proxy; and without TLS
        // the proxy could read the request.
        if let proxy, scheme == "https" { lines.append("proxy = \(quoted(proxy))") }
        let names = request.headers.map { $0.name.lowercased() }
        if !names.contains("content-type"), request.method != "GET" {
            lines.append("header = \(quoted("Content-Type: text/plain; charset=utf-8"))")
        }
        for header in request.headers where !header.value.isEmpty {
            lines.append("header = \(quoted("\(header.name): \(header.value)"))")
        }
        if request.method != "GET" {
            lines.append("data-binary = \(quoted("@/dev/fd/\(bodyDescriptor)"))")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A value in quotation marks, as the configuration of curl(1) has them.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for character in text.unicodeScalars {
            switch character {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            default: quoted.unicodeScalars.append(character)
            }
        }
        return quoted + "\""
    }
}

extension Notifier.Transport {
    /// Where its requests go; nil for a mail and a job.
    fileprivate var address: Notifier.Address? {
        switch self {
        case .webhook(let address, _), .ping(let address, _): address
        case .mail, .job: nil
        }
    }
}

extension [UInt8] {
    /// The bytes without white space at both ends, such as the newline at the end of a file.
    fileprivate var trimmed: [UInt8] {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0d).contains($0) }
        let begin = firstIndex { !isSpace($0) } ?? endIndex
        let end = lastIndex { !isSpace($0) }.map { $0 + 1 } ?? begin
        return Array(self[begin..<end])
    }
}

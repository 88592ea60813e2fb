// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What is the same for all notifications of one message. A message that is sent again has the same
/// envelope, and so the same bytes.
public struct MessageEnvelope: Hashable, Sendable {
    /// Another message of the same database.
    public struct Reference: Hashable, Sendable {
        /// Its number in the outbox.
        public var number: Int64
        /// When it was put together, by the wall clock.
        public var created: WallInstant

        public init(number: Int64, created: WallInstant) {
            self.number = number
            self.created = created
        }
    }

    /// The number of the message in the database.
    public var number: Int64
    /// The identity of the database. A restored copy has the same, and counts from an earlier
    /// number, so the instant at which a message was put together distinguishes it as well.
    public var identity: String
    /// The hostname of the machine that sends it.
    public var host: String
    /// When the message was put together, by the wall clock.
    public var created: WallInstant
    /// The time zone in which people read its times.
    public var zone: ZoneRules
    /// The earlier message about the same incident; nil: there is none.
    public var inReplyTo: Reference?

    /// By default its times are in UTC, and it is no reply.
    public init(
        number: Int64, identity: String, host: String, created: WallInstant, zone: ZoneRules = .utc,
        inReplyTo: Reference? = nil
    ) {
        self.number = number
        self.identity = identity
        self.host = host
        self.created = created
        self.zone = zone
        self.inReplyTo = inReplyTo
    }

    /// The identity of a message of this database, which no other one has.
    func name(of message: Reference) -> String {
        let created = String(message.created.microsecondsSinceEpoch, radix: 16)
        return "\(message.number).\(created)" + (identity.isEmpty ? "" : ".\(identity)")
    }

    /// The same for this message.
    var name: String { name(of: Reference(number: number, created: created)) }
}

/// A notification with everything that a reader wants to know about it.
public struct Report: Hashable, Sendable {
    /// What the agenda decided to report.
    public var notification: JobNotification
    /// The last part of the run's output; empty if there is none.
    public var output: [UInt8]
    /// Whether the run wrote more than that.
    public var outputIsCut: Bool
    /// The description of the job; nil if it has none, or is not configured any more.
    public var description: String?
    /// The user as which it runs; nil if that is not known.
    public var user: String?
    /// What it runs, on one line; nil if that is not known.
    public var command: String?

    /// By default without output and without facts about the job.
    public init(
        _ notification: JobNotification, output: [UInt8] = [], outputIsCut: Bool = false,
        description: String? = nil, user: String? = nil, command: String? = nil
    ) {
        self.notification = notification
        self.output = output
        self.outputIsCut = outputIsCut
        self.description = description
        self.user = user
        self.command = command
    }

    /// The same with all of the output that fits into `bytes`.
    func limited(to bytes: Int) -> Report {
        guard output.count > bytes else { return self }
        var report = self
        report.output = OutputExcerpt.tail(of: output, bytes: bytes)
        report.outputIsCut = true
        return report
    }
}

/// A message in the form that the transport of its notifier needs.
public enum OutgoingMessage: Hashable, Sendable {
    /// A mail with its header, as `sendmail -i` reads it from its standard input. Lines end with
    /// LF.
    case mail([UInt8])
    case request(OutgoingRequest)
    /// The receiver has no request for what happened, such as Uptime Kuma for a start.
    case nothing

    /// The most notifications of one message. More of them make a message that is too large for some
    /// receivers.
    public static let notificationsMax = 500

    /// The message of a notifier about these notifications: the same bytes for the same arguments.
    /// A notifier that starts a job sends nothing.
    ///
    /// - Parameter reports: at least one.
    /// - Complexity: O(*n*) in the bytes of the reports.
    public init(_ notifier: Notifier, _ envelope: MessageEnvelope, _ reports: [Report]) {
        let sheet = MessageSheet(notifier: notifier.name, envelope: envelope, reports: reports)
        switch notifier.transport {
        case .mail(let recipients, let sender, let contentType):
            self = .mail(
                MailMessage(sheet, to: recipients, from: sender, contentType: contentType).bytes)
        case .webhook(_, let format): self = .request(OutgoingRequest(sheet, as: format))
        case .ping(_, let format):
            self = OutgoingRequest(sheet, as: format).map { .request($0) } ?? .nothing
        case .job: self = .nothing
        }
    }
}

/// An HTTP request, without the part of the address that the configuration has, which may be
/// secret.
public struct OutgoingRequest: Hashable, Sendable {
    /// One line of the header.
    public struct Header: Hashable, Sendable {
        /// Its name, such as `Content-Type`.
        public var name: String
        /// Its value: printable ASCII.
        public var value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// `POST` or `GET`.
    public var method: String
    /// What is added to the path of the address: `/start`, or nothing. It has only the characters
    /// `/a-z0-9-`.
    public var path: String
    /// What is added to the query of the address, with percent-encoding: `rid=…`, or nothing. It has
    /// only the characters `A-Za-z0-9%&=._~-`.
    public var query: String
    /// The lines of the header, in this order.
    public var headers: [Header]
    /// The body; empty if there is none.
    public var body: [UInt8]

    /// By default an empty POST to the address itself.
    public init(
        method: String = "POST", path: String = "", query: String = "", headers: [Header] = [],
        body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
    }

    /// A query of the parameters that have a value, percent-encoded.
    static func query(_ parameters: [(name: String, value: String?)]) -> String {
        parameters.compactMap { name, value in
            value.map { "\(name)=\(String(percentEncoding: $0))" }
        }
        .joined(separator: "&")
    }
}

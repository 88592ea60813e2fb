// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// A request to a runner to send a message of a notifier. The runner decides from its own reading of
/// the configuration which program sends it, to whom, and from where it gets the address.
public struct MessageRequest: Hashable, Sendable {
    /// The run that sends it, of the job `Job.Name.messages`. An attempt that is requested again is
    /// not started again.
    public var run: Run.ID
    /// The name of the notifier, whose address the runner knows.
    public var notifier: Notifier.Name
    /// The whole mail, or what is added to the address.
    public var content: Content
    /// How long the attempt may take: in `timeouts`. At its end the receiver counts as one that does
    /// not answer.
    public var timeout: Duration

    /// What is sent, by the transport of the notifier.
    public enum Content: Hashable, Sendable {
        /// A whole mail, with its header.
        case mail([UInt8])
        /// A request by HTTP, to the address of the notifier.
        case request(Request)
    }

    /// What is added to the address of a notifier.
    public struct Request: Hashable, Sendable {
        /// `GET` or `POST`.
        public var method: String
        /// Appended to the path of the address; empty, or such as `/start`.
        public var path: String
        /// Parameters such as `rid=1&m=x`, percent-encoded. They replace those of the address that
        /// have the same names.
        public var query: String
        /// The header fields, in this order.
        public var headers: [Header]
        /// The body; empty if there is none.
        public var body: [UInt8]

        /// One field of the header.
        public struct Header: Hashable, Sendable {
            public var name: String
            /// Printable ASCII characters.
            public var value: String

            public init(_ name: String, _ value: String) {
                self.name = name
                self.value = value
            }
        }

        /// By default an empty POST to the address itself.
        public init(
            method: String = "POST", path: String = "", query: String = "",
            headers: [Header] = [], body: [UInt8] = []
        ) {
            self.method = method
            self.path = path
            self.query = query
            self.headers = headers
            self.body = body
        }
    }

    /// The allowed values of `timeout`.
    public static let timeouts: ClosedRange<Duration> = .seconds(6) ... .seconds(60)
    /// The most bytes of a mail or a body.
    public static let bytesMax = 256 << 10
    /// The most bytes of a path, of a query, and of all header fields.
    public static let extraBytesMax = 8 << 10

    /// A request to send this content.
    ///
    /// - Parameter timeout: how long the attempt may take; the next possible timeout is used.
    public init(
        run: Run.ID, notifier: Notifier.Name, content: Content,
        timeout: Duration = Self.timeouts.upperBound
    ) {
        self.run = run
        self.notifier = notifier
        self.content = content
        self.timeout = min(max(timeout, Self.timeouts.lowerBound), Self.timeouts.upperBound)
    }

    /// The run of an attempt to send the message that was created at this instant. No two messages
    /// of a scheduler are created at the same instant.
    public static func run(created: WallInstant, attempt: Int) -> Run.ID {
        Run.ID(firing: Firing.ID(job: .messages, scheduled: created), attempt: attempt)
    }

    /// The approximate memory that it takes, in bytes.
    package var cost: Int {
        switch content {
        case .mail(let bytes): bytes.count + 256
        case .request(let request): request.body.count + request.extraBytes + 256
        }
    }

    /// Whether it has at most the sizes that a runner accepts.
    public var fits: Bool {
        switch content {
        case .mail(let bytes): bytes.count <= Self.bytesMax
        case .request(let request):
            request.body.count <= Self.bytesMax && request.extraBytes <= Self.extraBytesMax
        }
    }
}

extension MessageRequest.Request {
    fileprivate var extraBytes: Int {
        method.utf8.count + path.utf8.count + query.utf8.count
            + headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
    }
}

extension Run.ID {
    /// Whether it is no run of a job, but sends a message of a notifier.
    public var isMessage: Bool { firing.job == .messages }
}

extension WireWriter {
    mutating func put(_ request: MessageRequest) {
        put(request.run)
        put(request.notifier.description)
        put(request.timeout)
        switch request.content {
        case .mail(let bytes):
            put(UInt8(0))
            put(bytes)
        case .request(let request):
            put(UInt8(1))
            put(request.method)
            put(request.path)
            put(request.query)
            put(request.headers) {
                $0.put($1.name)
                $0.put($1.value)
            }
            put(request.body)
        }
    }
}

extension WireReader {
    mutating func message() throws(Fault) -> MessageRequest {
        let run = try run()
        guard run.isMessage, let notifier = Notifier.Name(try string()) else { throw Fault() }
        let timeout = try span()
        guard MessageRequest.timeouts.contains(timeout) else { throw Fault() }
        let content: MessageRequest.Content
        switch try byte() {
        case 0: content = .mail(try array())
        case 1:
            var request = MessageRequest.Request(
                method: try string(), path: try string(), query: try string())
            for _ in 0..<(try count(of: 16, most: 64)) {
                request.headers.append(.init(try string(), try string()))
            }
            request.body = try array()
            content = .request(request)
        default: throw Fault()
        }
        let request = MessageRequest(
            run: run, notifier: notifier, content: content, timeout: timeout)
        guard request.fits else { throw Fault() }
        return request
    }
}

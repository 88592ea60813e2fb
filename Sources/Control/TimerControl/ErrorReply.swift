// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The answer to a request that failed, and what timerctl prints for it with `--json`.
public struct ErrorReply: Codable, Hashable, Sendable, Error {
    /// The kind of error, for programs. The sentences may change, these words do not.
    public enum Code: String, CaseIterable, Sendable {
        /// The request, its body or its query cannot be read.
        case badRequest = "bad-request"
        /// The body has a key that this request does not know.
        case unknownKey = "unknown-key"
        /// The query has a parameter that this request does not know.
        case unknownParameter = "unknown-parameter"
        /// The client may read, but not change anything.
        case forbidden
        /// The client is not logged in: it has no session, or its session has ended.
        case unauthorized
        /// The web server does not serve this host.
        case misdirected
        /// The body is not of the type that the request must have.
        case unsupportedMediaType = "unsupported-media-type"
        /// The path is not in the API.
        case notFound = "not-found"
        /// No job of this name is configured.
        case noSuchJob = "no-such-job"
        /// The run is neither active nor in the history, which keeps runs only for some time.
        case noSuchRun = "no-such-run"
        /// The message does not exist, or not any more.
        case noSuchMessage = "no-such-message"
        /// No notifier of this name is configured.
        case noSuchNotifier = "no-such-notifier"
        /// The path exists, but not with this method.
        case methodNotAllowed = "method-not-allowed"
        /// The request was not complete in time.
        case timeout
        /// The state of the job does not allow this.
        case conflict
        /// The body or the header has too many bytes.
        case tooLarge = "too-large"
        /// The configuration has errors, so the current one is kept.
        case invalidConfiguration = "invalid-configuration"
        /// The daemon or its database is too busy at the moment; try again.
        case busy
        /// Anything else, which `error` explains.
        case failed
        // These codes come only from timerctl and the web server.
        /// Nothing listens at the control socket.
        case noDaemon = "no-daemon"
        /// The connection to the daemon failed, or ended before the answer was complete.
        case connectionFailed = "connection-failed"
        /// The answer does not have the form that this version of timerctl expects.
        case unexpectedResponse = "unexpected-response"
        /// The command line is wrong.
        case usage
    }

    /// What kind of error it is. More words may be added; the sentences may change.
    public var code: String
    /// Its parts, such as the errors of a configuration, one per line.
    public var details: [String]?
    /// What is wrong, and what to do next.
    public var error: String

    /// By default a failure of no particular kind.
    public init(_ error: String, code: Code = .failed, details: [String]? = nil) {
        self.error = error
        self.code = code.rawValue
        self.details = details
    }
}

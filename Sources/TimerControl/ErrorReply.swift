// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Why a request failed.
public struct ErrorReply: Codable, Hashable, Sendable, Error {
    /// The kind of error, for programs. The sentences may change, these words do not.
    public enum Code: String, CaseIterable, Sendable {
        /// The request, its body or its query cannot be read.
        case badRequest = "bad-request"
        /// The body has a key that this request does not know.
        case unknownKey = "unknown-key"
        /// The query has a parameter that this request does not know.
        case unknownParameter = "unknown-parameter"
        /// The client may not change anything.
        case forbidden
        /// The client is not logged in: it has no session, or its session has ended.
        case unauthorized
        /// The web server does not serve this host.
        case misdirected
        /// The body is not of the type that the request must have.
        case unsupportedMediaType = "unsupported-media-type"
        /// The API does not have this path.
        case notFound = "not-found"
        /// No job has this name.
        case noSuchJob = "no-such-job"
        /// There is no record of this run.
        case noSuchRun = "no-such-run"
        /// There is no record of this message.
        case noSuchMessage = "no-such-message"
        /// No notifier has this name.
        case noSuchNotifier = "no-such-notifier"
        /// The path exists, but not with this method.
        case methodNotAllowed = "method-not-allowed"
        /// The request was not complete in time.
        case timeout
        /// The state of the job does not allow this.
        case conflict
        /// The body or the header has too many bytes.
        case tooLarge = "too-large"
        /// The configuration has errors.
        case invalidConfiguration = "invalid-configuration"
        /// The daemon or its database is too busy at the moment; try again.
        case busy
        /// Anything else.
        case failed
        // These codes come only from timerctl and the web server.
        /// Nothing listens at the socket.
        case noDaemon = "no-daemon"
        /// The connection to the daemon failed.
        case connectionFailed = "connection-failed"
        /// The answer does not have the form that this version of timerctl expects.
        case unexpectedResponse = "unexpected-response"
        /// The command line is wrong.
        case usage
    }

    /// The kind of error: one of `Code`.
    public var code: String
    /// Its parts, such as the errors of a configuration, one per line.
    public var details: [String]?
    /// What is wrong, and what to do next.
    public var error: String

    /// Creates an error.
    public init(_ error: String, code: Code = .failed, details: [String]? = nil) {
        self.error = error
        self.code = code.rawValue
        self.details = details
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Why a request was not carried out.
public struct ErrorReply: Codable, Hashable, Sendable, Error {
    /// What kind of error it is, for programs. The sentences may change, these words do not.
    public enum Code: String, CaseIterable, Sendable {
        /// The request, its body or its query cannot be read.
        case badRequest = "bad-request"
        /// The body has a key that this request does not know.
        case unknownKey = "unknown-key"
        /// The query has a parameter that this request does not know.
        case unknownParameter = "unknown-parameter"
        /// The client may not change anything.
        case forbidden
        /// There is nothing at this path.
        case notFound = "not-found"
        /// No job has this name.
        case noSuchJob = "no-such-job"
        /// Nothing is known of this run.
        case noSuchRun = "no-such-run"
        /// The path is good, the method is not.
        case methodNotAllowed = "method-not-allowed"
        /// The request was not complete in time.
        case timeout
        /// The job is not in a state in which this can be done.
        case conflict
        /// The body or the header has too many bytes.
        case tooLarge = "too-large"
        /// The configuration has errors.
        case invalidConfiguration = "invalid-configuration"
        /// The daemon is too busy at the moment, or its database is; ask again.
        case busy
        /// Anything else.
        case failed
        // What only timerctl says.
        /// Nothing listens at the socket.
        case noDaemon = "no-daemon"
        /// The connection to the daemon failed.
        case connectionFailed = "connection-failed"
        /// The answer is not what this version of timerctl knows.
        case unexpectedResponse = "unexpected-response"
        /// The command line is wrong.
        case usage
    }

    /// What kind of error it is: one of `Code`.
    public var code: String
    /// The parts of it, one a line, such as the errors of a configuration.
    public var details: [String]?
    /// What is wrong, and what to do next.
    public var error: String

    /// A refusal as described.
    public init(_ error: String, code: Code = .failed, details: [String]? = nil) {
        self.error = error
        self.code = code.rawValue
        self.details = details
    }
}

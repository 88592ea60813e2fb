// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostFiles

/// Why etcd did not do what it was asked. The description says where, what is wrong and what to do.
public struct EtcdError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of errors: those of the options, of the connection, of TLS, and of etcd itself.
    public enum Code: Hashable, Sendable, CaseIterable {
        /// An option is not valid, or the options contradict each other.
        case invalidOptions
        case hostNotFound
        /// Nothing listens there.
        case connectionRefused
        /// No connection within `connectTimeout`.
        case connectTimeout
        /// etcd's certificate is not one that this machine trusts.
        case untrusted
        /// A file with a certificate or a key cannot be used.
        case certificateFile
        /// etcd does not accept this machine's certificate, or requires one.
        case certificateRefused
        /// TLS failed for another reason than a certificate.
        case tlsFailed
        /// No answer within `timeout`.
        case timeout
        /// The connection ended before the answer was complete.
        case connectionLost
        case replyTooLarge
        /// The answer is not JSON.
        case notJSON
        /// The answer is JSON, or has a status, that etcd does not send.
        case notEtcd
        case redirected
        /// The database of etcd has reached its quota.
        case full
        case wrongPassword
        /// There is a user, but etcd knows none.
        case authenticationOff
        /// etcd requires a user, and the options have none.
        case userMissing
        /// The token of the login is not valid any more.
        case tokenExpired
        case notPermitted
        case leaseNotFound
        /// The revision is older than what etcd keeps.
        case compacted
        /// The member has no leader, or the leader does not answer.
        case noLeader
        case busy
        /// etcd found that its members have different data.
        case corrupt
        /// etcd does not accept the request: this is a mistake of timerd.
        case requestRefused
        /// An error of etcd that is not in this list.
        case unavailable
        case wrongCluster
        /// A watch got nothing for longer than `silenceMax`.
        case silent
        /// `EtcdCanceller.cancel` ended the call.
        case cancelled
    }

    /// What a request did that ended with this error.
    public enum Effect: Hashable, Sendable {
        /// It was not sent, so that it can be repeated anywhere.
        case notSent
        /// etcd refused it: it did nothing.
        case refused
        /// It was sent. etcd may have done it, may do it later, or never.
        case unknown
    }

    /// The kind of error, for decisions; the description is for people.
    public var code: Code
    /// The endpoint, or the option that is wrong.
    public var place: String
    /// The cause in the words of etcd, of libcurl or of the system. It has no control characters.
    public var detail: String
    /// Whether the request may have changed something.
    public var effect: Effect
    /// The errors of the other endpoints that were tried.
    public var others: [String] = []

    init(_ code: Code, at place: String, _ detail: String = "", effect: Effect = .notSent) {
        self.code = code
        self.place = place
        self.detail = Self.printable(detail)
        self.effect = effect
    }

    static func invalid(_ place: String, _ detail: String) -> Self {
        Self(.invalidOptions, at: printable(place), detail)
    }

    /// How many characters of a foreign text are shown.
    private static let detailMax = 300

    /// A text of another machine, as it can be shown on a terminal.
    static func printable(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars.prefix(detailMax) {
            result.unicodeScalars.append(scalar.controlsTerminal ? " " : scalar)
        }
        while result.last == " " { result.removeLast() }
        return result
    }

    /// Whether another member of the cluster may do what this one did not do.
    var isOfThisEndpoint: Bool {
        switch code {
        case .invalidOptions, .certificateFile, .full, .wrongPassword, .authenticationOff,
            .userMissing, .tokenExpired, .notPermitted, .leaseNotFound, .compacted,
            .requestRefused, .wrongCluster, .cancelled:
            false
        case .hostNotFound, .connectionRefused, .connectTimeout, .untrusted, .certificateRefused,
            .tlsFailed, .timeout, .connectionLost, .replyTooLarge, .notJSON, .notEtcd, .redirected,
            .noLeader, .busy, .corrupt, .unavailable, .silent:
            true
        }
    }

    public var description: String {
        let cause = detail.isEmpty ? "" : " (\(detail))"
        let rest = others.isEmpty ? "" : "; also tried: " + others.joined(separator: "; ")
        return "\(place): \(sentence)\(cause); \(advice)\(rest)"
    }
}

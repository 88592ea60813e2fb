// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The state of a machine's connection to etcd.
public struct FleetLinkStatus: Hashable, Sendable {
    /// Whether `timerd-fleet` is connected. It is not part of its messages: this end knows it.
    public var isRunning: Bool
    /// The endpoint of etcd that answered last; nil if none has answered yet, or if the last request
    /// was not answered.
    public var endpoint: String?
    /// The cluster that answered last, in hexadecimal digits.
    public var cluster: String?
    /// The version of etcd at the endpoint that was asked for it last.
    public var version: String?
    /// What is wrong, and what to do next; nil if nothing is.
    public var problem: String?

    /// By default nothing is known of etcd, and nothing is wrong.
    public init(
        isRunning: Bool, endpoint: String? = nil, cluster: String? = nil, version: String? = nil,
        problem: String? = nil
    ) {
        self.isRunning = isRunning
        self.endpoint = endpoint
        self.cluster = cluster
        self.version = version
        self.problem = problem
    }
}

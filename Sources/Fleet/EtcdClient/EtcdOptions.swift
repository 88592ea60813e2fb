// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Where etcd is, and how this machine proves who it is.
public struct EtcdOptions: Hashable, Sendable {
    /// The addresses of the members of one cluster, such as `https://10.0.0.1:2379`; at least one.
    public var endpoints: [String]
    /// The name of the fleet, of the form of a job name. Its keys begin with `/timerd/<fleet>/`.
    public var fleet: String
    /// The file with the certificates that sign those of etcd; nil: those that this machine trusts.
    public var ca: String?
    /// The file with this machine's certificate, if etcd requires one.
    public var certificate: String?
    /// The file with the private key of `certificate`.
    public var key: String?
    /// The user in etcd, if its authentication is enabled.
    public var user: String?
    /// The password of `user`.
    public var password: String?
    /// The only cluster whose answers are accepted; nil: any.
    public var cluster: String?
    /// How long one attempt to connect may take, with the look-up of the host and with TLS.
    public var connectTimeout: Duration = .seconds(2)
    /// How long one call may take, with all attempts.
    public var timeout: Duration = .seconds(5)
    /// The longest answer that is read, in bytes.
    public var replyBytesMax = 16 << 20
    /// The longest message of a watch that is read, in bytes.
    public var messageBytesMax = 16 << 20

    /// The options for a cluster without TLS and without users.
    public init(endpoints: [String], fleet: String) {
        self.endpoints = endpoints
        self.fleet = fleet
    }

    /// How many endpoints there may be. A cluster of etcd has at most seven members.
    static let endpointsMax = 16

    /// The endpoints, if the options fit together.
    ///
    /// - Throws: `EtcdError` with the code `invalidOptions`.
    func checked() throws(EtcdError) -> [EtcdEndpoint] {
        guard (1...Self.endpointsMax).contains(endpoints.count) else {
            throw .invalid("etcd", "there must be 1 to \(Self.endpointsMax) endpoints")
        }
        var parsed: [EtcdEndpoint] = []
        for text in endpoints { parsed.append(try EtcdEndpoint(text)) }
        guard (certificate == nil) == (key == nil) else {
            throw .invalid("certificate", "a certificate needs its key, and a key its certificate")
        }
        guard (user == nil) == (password == nil) else {
            throw .invalid("user", "a user needs a password, and a password its user")
        }
        for endpoint in parsed where !endpoint.isEncrypted {
            guard ca == nil, certificate == nil else {
                throw .invalid(
                    endpoint.url, "certificates need an endpoint that begins with https://")
            }
            guard user == nil || endpoint.isLocal else {
                throw .invalid(
                    endpoint.url,
                    "a password is sent to another machine only if the endpoint begins with "
                        + "https://")
            }
        }
        guard connectTimeout > .zero, timeout > .zero, replyBytesMax > 0, messageBytesMax > 0 else {
            throw .invalid("timeout", "time-outs and limits must be greater than 0")
        }
        return parsed
    }
}

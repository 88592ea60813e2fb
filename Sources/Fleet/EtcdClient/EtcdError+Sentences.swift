// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension EtcdError {
    /// What is wrong, without the place and the cause, which `description` adds.
    var sentence: String {
        switch code {
        case .invalidOptions: "this cannot be used"
        case .hostNotFound: "the host is not found"
        case .connectionRefused: "no connection"
        case .connectTimeout: "no connection in time"
        case .untrusted: "the certificate of etcd is not trusted"
        case .certificateFile: "a file with a certificate or a key cannot be used"
        case .certificateRefused: "etcd does not accept the certificate of this machine"
        case .tlsFailed: "TLS failed"
        case .timeout: "no answer in time"
        case .connectionLost: "the connection was lost before the answer was complete"
        case .replyTooLarge: "the answer is too large"
        case .notJSON: "the answer is not JSON"
        case .notEtcd: "this is not an answer of etcd"
        case .redirected: "the answer is a redirect, which timerd never follows"
        case .full: "the database of etcd is full"
        case .wrongPassword: "etcd does not know this user with this password"
        case .authenticationOff: "authentication is not enabled in etcd, but a user is configured"
        case .userMissing: "etcd requires a user"
        case .tokenExpired: "etcd does not accept the login any more"
        case .notPermitted: "the user does not have this permission in etcd"
        case .leaseNotFound: "the lease does not exist any more"
        case .compacted: "etcd does not keep this revision any more"
        case .noLeader: "etcd has no leader"
        case .busy: "etcd has too many requests"
        case .corrupt: "the members of etcd have different data"
        case .requestRefused: "etcd does not accept the request"
        case .unavailable: "etcd reports an error"
        case .wrongCluster: "this is another cluster than the one of the fleet"
        case .silent: "nothing arrived for too long"
        case .cancelled: "timerd ended the request"
        }
    }

    /// What a user can do about it.
    var advice: String {
        switch code {
        case .invalidOptions: "correct [fleet] in the configuration"
        case .hostNotFound: "check the name in [fleet], and the DNS of this machine"
        case .connectionRefused:
            "start etcd (systemctl start etcd), and check its listen-client-urls"
        case .connectTimeout:
            "check that the machine is running, and that no firewall drops the connection"
        case .untrusted:
            "ca in [fleet] must contain the certificate that signed that of etcd, and the "
                + "certificate of etcd must be valid and contain the host of the endpoint"
        case .certificateFile:
            "check ca, certificate and key in [fleet], and that timerd may read the files"
        case .certificateRefused:
            "certificate in [fleet] must be signed by the trusted-ca-file of etcd and not be "
                + "expired"
        case .tlsFailed:
            "check that the port speaks TLS; an endpoint without TLS begins with http://"
        case .timeout: "check the load and the disk of this member (etcdctl endpoint status)"
        case .connectionLost:
            "the log of etcd says whether it was restarted, or refused the certificate"
        case .replyTooLarge: "nothing else may write to the keys of the fleet"
        case .notJSON, .notEtcd:
            "check the address: it must be a client URL of etcd 3.4 or later, without a proxy "
                + "that answers for it"
        case .redirected: "use the address of etcd itself"
        case .full:
            "compact and defragment it, then clear the alarm (etcdctl compact, etcdctl defrag, "
                + "etcdctl alarm disarm), and set auto-compaction-retention: \"1h\""
        case .wrongPassword: "check user and password-file in [fleet]"
        case .authenticationOff:
            "enable it (etcdctl auth enable), or remove user and password-file from [fleet]"
        case .userMissing: "set user and password-file in [fleet]"
        case .tokenExpired: "timerd logs in again; check that the clocks of etcd's members agree"
        case .notPermitted:
            "grant it: etcdctl role grant-permission ROLE --prefix=true readwrite /timerd/FLEET/"
        case .leaseNotFound: "timerd asks for another one"
        case .compacted: "timerd reads all keys again"
        case .noLeader:
            "more than half of its members must be running and connected (etcdctl endpoint health)"
        case .busy: "timerd tries again; check the load of etcd"
        case .corrupt:
            "stop the fleet and restore etcd from a snapshot (etcdctl snapshot restore)"
        case .requestRefused: "please report this as a bug of timerd"
        case .unavailable: "the log of etcd says why"
        case .wrongCluster:
            "correct the endpoints in [fleet]; if etcd was replaced on purpose, run "
                + "timerctl fleet adopt"
        case .silent: "timerd connects again"
        case .cancelled: "nothing needs to be done"
        }
    }

    /// The error that etcd reports.
    ///
    /// What it may have done although it reports an error is decided by the exact text: only the
    /// errors that etcd finds before it begins are known to have done nothing. A full database is
    /// not one of them: `quotaApplierV3` in etcd's apply.go first applies the transaction, and
    /// reports the full database then.
    ///
    /// - Parameters:
    ///   - number: the code of gRPC.
    static func reported(
        _ message: String, number: Int64, status: Int, at place: String
    ) -> Self {
        let code = known.first { message.hasOccurrence(of: $0.text) }
        if let code {
            return Self(
                code.code, at: place, message, effect: code.isBefore ? .refused : .unknown)
        }
        // Only texts of etcd itself: the gateway and a proxy before it report other things.
        guard message.hasOccurrence(of: "etcdserver: ") else {
            return Self(
                status == 404 || status == 405 ? .notEtcd : .unavailable, at: place, message,
                effect: .unknown)
        }
        switch number {
        case 3: return Self(.requestRefused, at: place, message, effect: .refused)
        case 7: return Self(.notPermitted, at: place, message, effect: .refused)
        case 16: return Self(.tokenExpired, at: place, message, effect: .refused)
        default: return Self(.unavailable, at: place, message, effect: .unknown)
        }
    }

    /// The texts of etcd (api/v3rpc/rpctypes/error.go), and whether the error is always found before
    /// the request does anything.
    private static let known: [(text: String, code: Code, isBefore: Bool)] = [
        ("etcdserver: mvcc: database space exceeded", .full, false),
        ("etcdserver: authentication failed", .wrongPassword, true),
        ("etcdserver: authentication is not enabled", .authenticationOff, true),
        ("etcdserver: user name is empty", .userMissing, true),
        ("etcdserver: invalid auth token", .tokenExpired, true),
        ("etcdserver: revision of auth store is old", .tokenExpired, true),
        ("etcdserver: permission denied", .notPermitted, true),
        ("etcdserver: requested lease not found", .leaseNotFound, true),
        ("etcdserver: mvcc: required revision has been compacted", .compacted, true),
        // The check of the header `hasleader`, before the request is proposed.
        ("etcdserver: no leader", .noLeader, true),
        ("etcdserver: leader changed", .noLeader, false),
        ("etcdserver: request timed out", .noLeader, false),
        ("etcdserver: too many requests", .busy, true),
        ("etcdserver: corrupt cluster", .corrupt, false),
    ]
}

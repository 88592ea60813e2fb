// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostFiles
public import TimerCore

/// The table `[fleet]`: the fleet that a machine belongs to, and the etcd in which it shares its jobs.
public struct FleetSettings: Hashable, Sendable {
    /// The name of the fleet, of the form of a job name. Keys in etcd begin with `/timerd/<name>/`.
    public var name = ""
    /// The name of this machine; nil: its hostname.
    public var machine: MachineName?
    /// The labels of this machine, by which jobs select machines.
    public var labels: Set<String> = []
    /// The addresses of the members of one etcd cluster, such as `https://10.0.0.1:2379`: 1 to 16.
    public var etcd: [String] = []
    /// The absolute path of the file with the certificates that sign those of etcd; nil: those that
    /// this machine trusts.
    public var ca: String?
    /// The absolute path of the file with this machine's certificate; nil: etcd requires none. It is
    /// set if and only if `key` is.
    public var certificate: String?
    /// The absolute path of the file with its private key.
    public var key: String?
    /// The user in etcd; nil: its authentication is off. It is set if and only if `passwordFile` is.
    public var user: String?
    /// The absolute path of the file with the password of the user.
    public var passwordFile: String?
    /// How long a machine that does not answer counts as connected: whole seconds in `leases`.
    public var lease = Duration.seconds(10)
    /// How far the wall clock of this machine may differ from that of etcd: in `clockSkews`.
    public var clockSkewMax = Duration.seconds(1)

    /// The possible leases. A shorter one would expire when etcd elects a leader.
    public static let leases: ClosedRange<Duration> = .seconds(3) ... .seconds(600)
    /// The possible values of `clockSkewMax`. The clock of etcd is known to a second, so that a
    /// smaller difference cannot be noticed.
    public static let clockSkews: ClosedRange<Duration> = .milliseconds(100) ... .seconds(60)
    /// The most addresses in `etcd`.
    static let endpointsMax = 16

    /// The defaults; a name and an address are missing.
    init() {}
}

extension FleetSettings {
    /// What this machine is called in the fleet, which may be no valid name; empty if it has no
    /// hostname. It asks the kernel for the hostname, if `machine` is not set.
    public var machineName: String { machine?.description ?? Hostname.current ?? "" }

    /// What is wrong with the table as a whole, as the end of a sentence; nil if nothing is.
    var fault: String? {
        guard !name.isEmpty else { return "name, the name of the fleet, is missing" }
        guard !etcd.isEmpty else {
            return "etcd is missing, such as etcd = [\"https://10.0.0.1:2379\"]"
        }
        guard (certificate == nil) == (key == nil) else {
            return "certificate and key go together; add the other one"
        }
        guard (user == nil) == (passwordFile == nil) else {
            return "user and password-file go together; add the other one"
        }
        guard let plain = etcd.firstIndex(where: { !$0.lowercased().hasPrefix("https://") })
        else { return nil }
        guard ca == nil, certificate == nil else {
            return "certificates need addresses with https://, unlike address \(plain + 1) of etcd"
        }
        return nil
    }
}

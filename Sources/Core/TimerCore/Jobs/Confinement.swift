// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The restrictions on the processes of a job, in addition to those of their user.
public struct Confinement: Hashable, Sendable {
    /// Whether no program that a run executes can gain privileges: the bits set-user-ID and
    /// set-group-ID and the capabilities of files have no effect (prctl(2), PR_SET_NO_NEW_PRIVS).
    public var noNewPrivileges = false
    /// The capabilities that a run has, whether its user is root or not; nil: those that the kernel
    /// gives its user.
    public var capabilities: CapabilitySet?
    /// The AppArmor profile of its program; nil: the one that the system selects. With a `-` in
    /// front, the run starts without the profile if it is not available.
    public var appArmorProfile: String?
    /// The SELinux context of its program, with the same meaning of `-`.
    public var seLinuxContext: String?

    /// The defaults: no restrictions.
    public init() {}
}

/// A set of Linux capabilities (capabilities(7)).
public struct CapabilitySet: Hashable, Sendable {
    /// The names. The index of each is its number in `<linux/capability.h>`.
    public static let names = [
        "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID",
        "CAP_KILL",
        "CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP", "CAP_LINUX_IMMUTABLE", "CAP_NET_BIND_SERVICE",
        "CAP_NET_BROADCAST", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_IPC_LOCK", "CAP_IPC_OWNER",
        "CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_CHROOT", "CAP_SYS_PTRACE", "CAP_SYS_PACCT",
        "CAP_SYS_ADMIN", "CAP_SYS_BOOT", "CAP_SYS_NICE", "CAP_SYS_RESOURCE", "CAP_SYS_TIME",
        "CAP_SYS_TTY_CONFIG", "CAP_MKNOD", "CAP_LEASE", "CAP_AUDIT_WRITE", "CAP_AUDIT_CONTROL",
        "CAP_SETFCAP", "CAP_MAC_OVERRIDE", "CAP_MAC_ADMIN", "CAP_SYSLOG", "CAP_WAKE_ALARM",
        "CAP_BLOCK_SUSPEND", "CAP_AUDIT_READ", "CAP_PERFMON", "CAP_BPF", "CAP_CHECKPOINT_RESTORE",
    ]

    /// Capability N is bit N.
    public private(set) var bits: UInt64 = 0

    /// The empty set.
    public init() {}

    /// The names of its capabilities, by their numbers.
    public var members: [String] {
        Self.names.indices.filter { bits & 1 << $0 != 0 }.map { Self.names[$0] }
    }

    /// Adds the capability with this name. Returns false, and changes nothing, if there is none.
    public mutating func insert(_ name: String) -> Bool {
        guard let number = Self.names.firstIndex(of: name) else { return false }
        bits |= 1 << number
        return true
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// A descriptor the service manager passed (systemd.socket(5)).
public struct ListenSocket: Hashable, Sendable {
    /// The descriptor; it is closed on exec.
    public let descriptor: Int32
    /// Its FileDescriptorName=; `unknown` without one, as sd_listen_fds_with_names(3) has it.
    public let name: String

    /// Whether it is a unix stream socket that listens: what a control socket must be.
    public var isListeningUnixStream: Bool {
        sd_is_socket_unix(descriptor, Int32(SOCK_STREAM.rawValue), 1, nil, 0) > 0
    }
}

extension [ListenSocket] {
    /// The sockets of this FileDescriptorName=, in the order they were passed; one socket unit with several
    /// Listen…= lines gives each the same name.
    public func named(_ name: String) -> [ListenSocket] { filter { $0.name == name } }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// A descriptor passed by the service manager (systemd.socket(5)).
public struct ListenSocket: Hashable, Sendable {
    /// The descriptor; it is closed on exec.
    public let descriptor: Int32
    /// Its FileDescriptorName=; `unknown` if there is none, as in sd_listen_fds_with_names(3).
    public let name: String

    /// Whether it is a listening unix stream socket, as a control socket must be.
    public var isListeningUnixStream: Bool {
        sd_is_socket_unix(descriptor, Int32(SOCK_STREAM.rawValue), 1, nil, 0) > 0
    }
}

extension [ListenSocket] {
    /// The sockets with this FileDescriptorName=, in the order in which they were passed; all
    /// sockets of one socket unit have the same name.
    public func named(_ name: String) -> [ListenSocket] { filter { $0.name == name } }
}

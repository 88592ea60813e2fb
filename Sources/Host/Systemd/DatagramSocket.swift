// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Synchronization

/// A datagram socket that sends to one unix address and never waits.
///
/// libsystemd's own sd_notify(3) and sd_journal_sendv(3) send on blocking sockets: if the peer is
/// stopped or hangs, they wait until it reads again. A scheduler must not wait, so this module
/// implements both protocols, which are documented and stable, on its own sockets.
///
/// The socket is never connected: each datagram contains the address, so a peer that was restarted
/// and bound the same address with another socket gets the next one.
final class DatagramSocket: Sendable {
    private let address: [UInt8]
    /// Nil until the first datagram, and while no descriptor can be created.
    private let descriptor = Mutex<Int32?>(nil)

    /// Nil if the text is not a valid address or too long. `@` starts an abstract address
    /// (unix(7)).
    init?(address: String) {
        guard let first = address.utf8.first,
            first == UInt8(ascii: "/") || first == UInt8(ascii: "@"),
            address.utf8.count > 1
        else { return nil }
        var bytes = Array(address.utf8)
        let spaceBytes = MemoryLayout.size(ofValue: sockaddr_un().sun_path)
        if first == UInt8(ascii: "@") {
            guard bytes.count <= spaceBytes else { return nil }
            bytes[0] = 0
        } else {
            guard bytes.count < spaceBytes, !bytes.contains(0) else { return nil }
            bytes.append(0)
        }
        self.address = bytes
    }

    deinit { descriptor.withLock { if let descriptor = $0 { close(descriptor) } } }

    /// Sends one datagram, along with a descriptor if one is given.
    /// - Returns: 0, or the errno: EAGAIN if the peer does not read, EMSGSIZE if the datagram is
    ///   too large, EMFILE if no descriptor can be created.
    func send(_ bytes: [UInt8], passing passed: Int32? = nil) -> Int32 {
        descriptor.withLock { descriptor in
            if descriptor == nil {
                let type = SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
                let opened = socket(AF_UNIX, Int32(type), 0)
                guard opened >= 0 else { return errno }
                descriptor = opened
            }
            guard let descriptor else { return EBADF }
            return send(bytes, passing: passed, on: descriptor)
        }
    }

    /// Whether a peer has not read each datagram yet.
    var hasUnread: Bool {
        descriptor.withLock { descriptor in descriptor.map { clinux_unread($0) > 0 } ?? false }
    }

    private func send(_ bytes: [UInt8], passing passed: Int32?, on descriptor: Int32) -> Int32 {
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: address) }
        let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        return withUnsafeMutablePointer(to: &name) { name in
            bytes.withUnsafeBytes { bytes in
                var part = iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                    iov_len: bytes.count)
                return withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    message.msg_name = UnsafeMutableRawPointer(name)
                    message.msg_namelen = socklen_t(offset + address.count)
                    if !bytes.isEmpty {
                        message.msg_iov = part
                        message.msg_iovlen = 1
                    }
                    return Self.deliver(&message, passing: passed, on: descriptor)
                }
            }
        }
    }

    private static func deliver(
        _ message: inout msghdr, passing passed: Int32?, on descriptor: Int32
    ) -> Int32 {
        // Control data for one descriptor, in the layout of CMSG_LEN and CMSG_SPACE: the header
        // rounded up to a word, and the descriptor rounded up again (cmsg(3)).
        let word = MemoryLayout<Int>.size
        let header = (MemoryLayout<cmsghdr>.size + word - 1) / word * word
        var control = [UInt8](repeating: 0, count: header + word)
        return control.withUnsafeMutableBytes { control in
            if let passed {
                // Each field is stored separately: glibc's cmsghdr ends in a flexible array, so
                // Swift has no initializer for it.
                control.storeBytes(of: header + MemoryLayout<Int32>.size, as: Int.self)
                control.storeBytes(of: SOL_SOCKET, toByteOffset: word, as: Int32.self)
                control.storeBytes(of: Int32(SCM_RIGHTS), toByteOffset: word + 4, as: Int32.self)
                control.storeBytes(of: passed, toByteOffset: header, as: Int32.self)
                message.msg_control = control.baseAddress
                message.msg_controllen = control.count
            }
            while true {
                if sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL)) >= 0 { return 0 }
                if errno != EINTR { return errno }
            }
        }
    }
}

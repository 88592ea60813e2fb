// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A bound datagram socket in the role of systemd or journald.
public final class SystemdReceiver {
    /// Its address: a path, or `@` and an abstract name.
    public let address: String
    /// The socket, which does not block.
    public let descriptor: Int32

    public static func unusedPath() -> String {
        "/tmp/timerd-test-\(UUID().uuidString.prefix(13)).sock"
    }

    public init(address: String = SystemdReceiver.unusedPath()) {
        self.address = address
        let kind = SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        descriptor = socket(AF_UNIX, Int32(kind), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) {
            $0.copyBytes(from: address.utf8)
            if address.hasPrefix("@") { $0[0] = 0 }
        }
        let length = 2 + address.utf8.count + (address.hasPrefix("@") ? 0 : 1)
        let result = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(length))
            }
        }
        precondition(result == 0, "\(address): \(String(cString: strerror(errno)))")
    }

    deinit {
        close(descriptor)
        if !address.hasPrefix("@") { unlink(address) }
    }

    /// The next datagram, and the file that was passed with it; nil if there is no datagram.
    public func receive() -> (bytes: [UInt8], file: PassedFile?)? {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var control = [UInt8](repeating: 0, count: 64)
        var received = 0
        var controlCount = 0
        buffer.withUnsafeMutableBytes { buffer in
            control.withUnsafeMutableBytes { control in
                var part = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
                withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    message.msg_iov = part
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    received = recvmsg(descriptor, &message, 0)
                    controlCount = Int(message.msg_controllen)
                }
            }
        }
        guard received >= 0 else { return nil }
        // A cmsghdr is a length word and two Int32; the descriptor follows (cmsg(3)).
        let passed = control.withUnsafeBytes { $0.load(fromByteOffset: 16, as: Int32.self) }
        return (Array(buffer[..<received]), controlCount >= 20 ? PassedFile(passed) : nil)
    }

    /// The next datagram as a text; nil if there is none.
    public func text() -> String? { receive().map { String(decoding: $0.bytes, as: UTF8.self) } }

    public func drain() { while receive() != nil {} }
}

/// A file passed over a socket, read like journald does: it checks the seals and reads from the
/// start.
public final class PassedFile {
    private let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// The seals SEAL, SHRINK, GROW and WRITE, which journald requires: F_GET_SEALS of fcntl(2).
    public var isSealed: Bool { fcntl(descriptor, 1034) & 0xf == 0xf }

    public func bytes() -> [UInt8] {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return Array(bytes[..<max(count, 0)])
    }
}

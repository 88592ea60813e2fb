// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

/// A bound datagram socket in the role of systemd or journald.
final class Receiver {
    /// Its address: a path, or `@` and an abstract name.
    let address: String
    private let descriptor: Int32

    static func unusedPath() -> String { "/tmp/timerd-test-\(UUID().uuidString.prefix(13)).sock" }

    init(address: String = Receiver.unusedPath()) {
        self.address = address
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
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
        #expect(result == 0, "\(address): \(String(cString: strerror(errno)))")
    }

    deinit {
        close(descriptor)
        if !address.hasPrefix("@") { unlink(address) }
    }

    /// The next datagram, and the file that was passed with it; nil if there is no datagram.
    func receive() -> (bytes: [UInt8], file: PassedFile?)? {
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

    func text() -> String? { receive().map { String(decoding: $0.bytes, as: UTF8.self) } }

    func drain() { while receive() != nil {} }
}

/// A file passed over a socket, read like journald does: it checks the seals and reads from the
/// start.
final class PassedFile {
    private let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// The seals SEAL, SHRINK, GROW and WRITE, which journald requires: F_GET_SEALS of fcntl(2).
    var isSealed: Bool { fcntl(descriptor, 1034) & 0xf == 0xf }

    func bytes() -> [UInt8] {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return Array(bytes[..<max(count, 0)])
    }
}

/// A decoder of the journal's protocol, written from its description and not from the encoder's
/// source.
func decodeEntry(_ bytes: [UInt8]) throws -> [(name: String, value: [UInt8])] {
    struct Malformed: Error {}
    var fields: [(String, [UInt8])] = []
    var rest = bytes[...]
    while !rest.isEmpty {
        let end = try #require(rest.firstIndex(of: 0x0a))
        let line = rest[..<end]
        rest = rest[(end + 1)...]
        if let equals = line.firstIndex(of: UInt8(ascii: "=")) {
            let name = String(decoding: line[..<equals], as: UTF8.self)
            fields.append((name, Array(line[(equals + 1)...])))
        } else {
            guard rest.count >= 8 else { throw Malformed() }
            let count = rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(8)
            guard rest.count > count, rest.dropFirst(count).first == 0x0a else { throw Malformed() }
            fields.append((String(decoding: line, as: UTF8.self), Array(rest.prefix(count))))
            rest = rest.dropFirst(count + 1)
        }
    }
    return fields
}

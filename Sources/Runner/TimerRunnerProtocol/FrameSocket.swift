// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A connection that carries frames and never blocks. Data that cannot be written yet is buffered;
/// the caller limits how much that is.
package struct FrameSocket: ~Copyable {
    package let descriptor: Int32
    /// Whether more data may arrive: false if the other end has closed or sent a frame that is too
    /// long.
    package private(set) var isOpen = true
    private var incoming: [UInt8] = []
    private var taken = 0
    private var outgoing: [UInt8] = []
    private var written = 0
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)
    private let frameBytesMax: Int

    /// - Parameters:
    ///   - descriptor: a connected stream socket that does not block; closed with this value.
    ///   - frameBytesMax: the most bytes of a frame that is read.
    package init(_ descriptor: Int32, frameBytesMax: Int) {
        self.descriptor = descriptor
        self.frameBytesMax = frameBytesMax
    }

    deinit { close(descriptor) }

    /// The number of bytes that wait to be written.
    package var backlog: Int { outgoing.count - written }

    /// Adds a frame to the buffer, for `flush` to write.
    package mutating func send(_ payload: [UInt8]) { Self.append(payload, to: &outgoing) }

    /// Adds what another thread could not write; it may begin within a frame.
    package mutating func sendRest(_ bytes: [UInt8]) { outgoing += bytes }

    /// Writes as much as the socket accepts now. False if the other end is gone.
    package mutating func flush() -> Bool {
        let count = Self.write(outgoing[written...], to: descriptor)
        // This is the error of the last write, before other calls change it.
        let code = errno
        written += count
        guard written == outgoing.count else {
            // The written part is removed from time to time and not at each write.
            if written > 1 << 20 {
                outgoing.removeFirst(written)
                written = 0
            }
            return code == EAGAIN
        }
        outgoing.removeAll(keepingCapacity: true)
        written = 0
        return true
    }

    /// Appends a frame with this payload: its length, and then the payload.
    package static func append(_ payload: [UInt8], to bytes: inout [UInt8]) {
        let count = UInt32(payload.count)
        for shift in stride(from: 0, to: 32, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: count >> shift))
        }
        bytes += payload
    }

    /// Writes as much as a socket accepts now. If that is not all, errno is EAGAIN if the rest can
    /// be written later, and another value if the other end is gone.
    /// - Returns: the number of bytes that are written.
    package static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int {
        bytes.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let count = Glibc.send(
                    descriptor, bytes.baseAddress! + written, bytes.count - written,
                    Int32(MSG_NOSIGNAL))
                if count > 0 {
                    written += count
                } else if errno != EINTR {
                    break
                }
            }
            return written
        }
    }

    /// Reads some bytes for `next`. False if there were none.
    @discardableResult
    package mutating func fill() -> Bool {
        if taken > 0 {
            incoming.removeFirst(taken)
            taken = 0
        }
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count > 0 {
            incoming += buffer[..<count]
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            isOpen = false
        }
        return count > 0
    }

    /// Returns the next complete frame; nil if there is none.
    package mutating func next() -> ArraySlice<UInt8>? {
        guard incoming.count - taken >= 4 else { return nil }
        var length = 0
        for place in 0..<4 { length |= Int(incoming[taken + place]) << (8 * place) }
        guard length <= frameBytesMax else {
            isOpen = false
            incoming = []
            taken = 0
            return nil
        }
        guard incoming.count - taken - 4 >= length else { return nil }
        defer { taken += 4 + length }
        return incoming[(taken + 4)..<(taken + 4 + length)]
    }

    /// The user at the other end according to the kernel (unix(7), SO_PEERCRED); nil if that is
    /// unknown.
    package static func peer(of descriptor: Int32) -> UInt32? {
        // The layout of struct ucred, which glibc declares only with _GNU_SOURCE: pid, uid, gid.
        var credentials: (Int32, UInt32, UInt32) = (0, .max, .max)
        var size = socklen_t(MemoryLayout<(Int32, UInt32, UInt32)>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else {
            return nil
        }
        return credentials.1
    }
}

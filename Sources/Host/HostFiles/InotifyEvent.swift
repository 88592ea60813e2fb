// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A change in a watched directory, as the kernel reports it (inotify(7)).
public struct InotifyEvent: Hashable, Sendable {
    /// The number of the watch; -1 if the kernel dropped events.
    public var watch: Int32
    /// What happened, as flags such as IN_CREATE (inotify(7)).
    public var mask: UInt32
    /// The name in the directory; empty if the directory itself has changed, or if the kernel dropped events.
    public var name: String

    public init(watch: Int32, mask: UInt32, name: String = "") {
        self.watch = watch
        self.mask = mask
        self.name = name
    }

    /// Whether the event has one of these flags.
    public func has(_ flags: Int32...) -> Bool {
        flags.contains { mask & UInt32(bitPattern: $0) != 0 }
    }

    /// An inotify descriptor, which jobs do not inherit and which never blocks.
    /// - Returns: a descriptor that the caller must close; -1 with errno set if there is none.
    public static func descriptor() -> Int32 {
        inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
    }

    /// All events that are waiting in an inotify descriptor, which must not block.
    /// - Complexity: O(*n*) in the number of events.
    public static func read(from descriptor: Int32) -> [Self] {
        var events: [Self] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return events }
            buffer.withUnsafeBytes { append($0[..<count], to: &events) }
        }
    }

    private static func append(_ bytes: Slice<UnsafeRawBufferPointer>, to events: inout [Self]) {
        let header = MemoryLayout<inotify_event>.size
        var at = bytes.startIndex
        while at + header <= bytes.endIndex {
            let event = bytes.base.loadUnaligned(fromByteOffset: at, as: inotify_event.self)
            let end = min(at + header + Int(event.len), bytes.endIndex)
            let name = String(
                decoding: bytes[(at + header)..<end].prefix { $0 != 0 }, as: UTF8.self)
            events.append(Self(watch: event.wd, mask: event.mask, name: name))
            at = end
        }
    }
}

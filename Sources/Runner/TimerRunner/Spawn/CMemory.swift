// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Memory for what a C structure points to: strings, and arrays of values. All of it is freed when
/// the last reference to this object is released: keep one with `withExtendedLifetime` while C uses
/// the pointers.
final class CMemory {
    private var blocks: [UnsafeMutableRawPointer] = []
    /// The rest of the last block, from which the next allocation is taken.
    private var free = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    /// Enough for most commands with their environments, which then take one allocation.
    private static let blockBytes = 4096

    deinit { for block in blocks { Glibc.free(block) } }

    /// The text as a C string, ended by a NUL byte. A NUL byte in the text ends it too, so check
    /// for one before.
    /// - Complexity: O(*n*) in the length of the text.
    func string(_ text: String) -> UnsafeMutablePointer<CChar> {
        var text = text
        return text.withUTF8 { bytes in
            let copy = allocate(bytes.count + 1, alignment: 1)
            if let start = bytes.baseAddress {
                copy.copyMemory(from: start, byteCount: bytes.count)
            }
            copy.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
            return copy.bindMemory(to: CChar.self, capacity: bytes.count + 1)
        }
    }

    /// An array of pointers to such texts, ended by NULL.
    func strings(
        _ texts: some Collection<String>
    ) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> {
        let size = MemoryLayout<UnsafeMutablePointer<CChar>?>.stride
        let array = allocate((texts.count + 1) * size, alignment: size)
            .bindMemory(to: UnsafeMutablePointer<CChar>?.self, capacity: texts.count + 1)
        for (index, text) in texts.enumerated() { (array + index).initialize(to: string(text)) }
        (array + texts.count).initialize(to: nil)
        return array
    }

    /// A copy of the values; nil if there are none.
    func array<Value: BitwiseCopyable>(_ values: [Value]) -> UnsafePointer<Value>? {
        guard !values.isEmpty else { return nil }
        let array = allocate(
            values.count * MemoryLayout<Value>.stride, alignment: MemoryLayout<Value>.alignment
        ).bindMemory(to: Value.self, capacity: values.count)
        values.withUnsafeBufferPointer { array.initialize(from: $0.baseAddress!, count: $0.count) }
        return UnsafePointer(array)
    }

    private func allocate(_ bytes: Int, alignment: Int) -> UnsafeMutableRawPointer {
        if let start = free.baseAddress {
            let aligned = start.alignedUp(toMultipleOf: alignment)
            let used = aligned - start + bytes
            if used <= free.count {
                free = UnsafeMutableRawBufferPointer(rebasing: free[used...])
                return aligned
            }
        }
        let count = max(bytes, Self.blockBytes)
        // As elsewhere in Swift, the process aborts if there is no memory. The result of malloc is
        // aligned for any type.
        guard let block = malloc(count) else { abort() }
        blocks.append(block)
        free = UnsafeMutableRawBufferPointer(start: block + bytes, count: count - bytes)
        return block
    }
}

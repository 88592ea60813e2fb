// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// Memory for what C structures point to.
@Suite struct CMemoryTests {
    @Test(arguments: [0, 1, 15, 4094, 4095, 4096, 4097, 100_000])
    func aTextIsCopiedUnchanged(length: Int) {
        let memory = CMemory()
        let text = String(repeating: "ä", count: length / 2) + (length % 2 == 1 ? "x" : "")
        // Texts before and after it, which must not change.
        let before = memory.string("before")
        let copy = memory.string(text)
        let after = memory.string("after")
        withExtendedLifetime(memory) {
            #expect(String(cString: copy) == text)
            #expect(String(cString: before) == "before" && String(cString: after) == "after")
        }
    }

    @Test func aListEndsWithNull() {
        let memory = CMemory()
        let texts = (0..<1000).map { "NAME_\($0)=\(String(repeating: "v", count: $0 % 97))" }
        let list = memory.strings(texts)
        let none = memory.strings([])
        withExtendedLifetime(memory) {
            for (index, text) in texts.enumerated() {
                #expect(list[index].map { String(cString: $0) } == text)
            }
            #expect(list[texts.count] == nil && none[0] == nil)
        }
    }

    @Test func valuesAreAlignedAfterTexts() {
        let memory = CMemory()
        for length in 0..<40 {
            _ = memory.string(String(repeating: "x", count: length))
            let values = [UInt64(length), .max, 0]
            let copy = memory.array(values)
            withExtendedLifetime(memory) {
                #expect(UInt(bitPattern: copy) % 8 == 0)
                #expect(Array(UnsafeBufferPointer(start: copy, count: 3)) == values)
            }
        }
        #expect(memory.array([UInt64]()) == nil)
    }
}

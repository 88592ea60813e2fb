// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Unchecked because it owns the memory of the blocks, which nothing else can reach.
///
/// Rows by their slots, in blocks, so that no row is moved when more are added. The memory of a
/// block whose rows are all gone is freed; one such block is kept, for the next rows.
struct Rows: ~Copyable, @unchecked Sendable {
    private static let blockShift = 6
    private static let blockMask = 1 << blockShift - 1

    private struct Block {
        /// Nil if the block has no rows.
        var rows: UnsafeMutablePointer<Row>?
        /// A bit for each slot in use.
        var used: UInt64 = 0
        /// Whether it is one of the `open` blocks.
        var isOpen = true
    }

    private var blocks: [Block] = []
    /// The blocks that have, or had when they were added here, free slots.
    private var open: [Int32] = []
    /// A block with memory and without rows.
    private var spare: Int?
    private(set) var count = 0

    deinit {
        for block in blocks {
            guard let rows = block.rows else { continue }
            var used = block.used
            while used != 0 {
                (rows + used.trailingZeroBitCount).deinitialize(count: 1)
                used &= used - 1
            }
            rows.deallocate()
        }
    }

    subscript(slot: Int) -> Row {
        _read { yield address(of: slot).pointee }
        _modify { yield &address(of: slot).pointee }
    }

    private func address(of slot: Int) -> UnsafeMutablePointer<Row> {
        guard let rows = blocks[slot >> Self.blockShift].rows else {
            preconditionFailure("no such row")
        }
        return rows + (slot & Self.blockMask)
    }

    /// Whether the slot still contains this timer.
    func has(_ slot: Int, _ generation: UInt32) -> Bool {
        let index = slot >> Self.blockShift
        guard index < blocks.count else { return false }
        let block = blocks[index]
        guard block.used & (1 << UInt64(slot & Self.blockMask)) != 0, let rows = block.rows else {
            return false
        }
        return rows[slot & Self.blockMask].generation == generation
    }

    /// - Complexity: O(1).
    mutating func insert(_ row: consuming Row) -> Int {
        count += 1
        let index = openBlock()
        if spare == index { spare = nil }
        let rows: UnsafeMutablePointer<Row>
        if let made = blocks[index].rows {
            rows = made
        } else {
            rows = .allocate(capacity: Self.blockMask + 1)
            blocks[index].rows = rows
        }
        let place = (~blocks[index].used).trailingZeroBitCount
        blocks[index].used |= 1 << UInt64(place)
        (rows + place).initialize(to: row)
        return index << Self.blockShift + place
    }

    /// A block with a free slot.
    private mutating func openBlock() -> Int {
        while let last = open.last {
            if blocks[Int(last)].used != .max { return Int(last) }
            blocks[Int(last)].isOpen = false
            open.removeLast()
        }
        blocks.append(Block())
        open.append(Int32(blocks.count - 1))
        return blocks.count - 1
    }

    /// Frees the slot, and the memory of its block if that has no rows any more.
    /// - Complexity: O(1).
    mutating func remove(_ slot: Int) {
        let index = slot >> Self.blockShift
        address(of: slot).deinitialize(count: 1)
        blocks[index].used &= ~(1 << UInt64(slot & Self.blockMask))
        count -= 1
        if !blocks[index].isOpen {
            blocks[index].isOpen = true
            open.append(Int32(index))
        }
        guard blocks[index].used == 0 else { return }
        if let spare {
            blocks[spare].rows?.deallocate()
            blocks[spare].rows = nil
        }
        spare = index
    }
}

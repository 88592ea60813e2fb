// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// A table of tab-separated values in `Data`, its first line the names of the columns.
struct Table {
    struct Row {
        let columns: [String: Int]
        let cells: [String]

        subscript(name: String) -> String {
            columns[name].flatMap { $0 < cells.count ? cells[$0] : nil } ?? ""
        }
    }

    let rows: [Row]

    init(_ name: String) throws {
        let url = try #require(Bundle.module.url(forResource: "Data/\(name)", withExtension: nil))
        let lines = try String(contentsOf: url, encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: true)
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
        let columns = Dictionary(
            uniqueKeysWithValues: lines[0].enumerated().map { ($0.element, $0.offset) })
        rows = lines.dropFirst().map { Row(columns: columns, cells: $0) }
    }
}

extension String {
    /// The text with `\t`, `\n` and `\\` as what they stand for.
    var unescaped: String {
        var result = ""
        var isEscaped = false
        for character in self {
            if isEscaped {
                result.append(character == "t" ? "\t" : character == "n" ? "\n" : character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else {
                result.append(character)
            }
        }
        return result
    }
}

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014). It says its
/// seed, so that a failure can be had again with TIMERD_TEST_SEED.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(function: String = #function) {
        let given = ProcessInfo.processInfo.environment["TIMERD_TEST_SEED"].flatMap { UInt64($0) }
        state = given ?? UInt64.random(in: 0 ... .max)
        print("\(function): TIMERD_TEST_SEED=\(state)")
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, not including, the bound.
    mutating func int(below bound: Int) -> Int { bound <= 0 ? 0 : Int(next() % UInt64(bound)) }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// A table of tab-separated values in `Data`. Its first line contains the names of the columns.
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
    /// The text in which `\t`, `\n` and `\\` are replaced by their meanings.
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

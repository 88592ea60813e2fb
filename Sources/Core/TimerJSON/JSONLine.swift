// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A log entry as one JSON object on a line, for programs that collect logs line by line, such as
/// those of container platforms.
package struct JSONLine {
    private var bytes: [UInt8] = [UInt8(ascii: "{")]

    /// An object without members.
    package init() {}

    /// The complete object, with its newline.
    package var line: String { String(decoding: bytes, as: UTF8.self) + "}\n" }

    /// Adds a member. It is not checked whether the name was already added.
    package mutating func add(_ name: String, _ value: String) {
        begin(name)
        bytes.append(json: value, .printable)
    }

    /// Adds a member whose value is a number. It is not checked whether the name was already added.
    package mutating func add(_ name: String, _ value: Int64) {
        begin(name)
        bytes += String(value).utf8
    }

    private mutating func begin(_ name: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(json: name, .printable)
        bytes.append(UInt8(ascii: ":"))
    }
}

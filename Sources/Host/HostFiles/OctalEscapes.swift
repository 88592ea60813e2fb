// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Substring {
    /// A field of fstab(5) or proc_pid_mountinfo(5) with the characters that are written there as a
    /// backslash and three octal digits, such as `\040` for a blank.
    ///
    /// - Complexity: O(*n*).
    public var withoutOctalEscapes: String {
        guard utf8.contains(UInt8(ascii: "\\")) else { return String(self) }
        var bytes: [UInt8] = []
        var rest = Array(utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), rest.count >= 3,
                let code = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
            else {
                bytes.append(byte)
                continue
            }
            bytes.append(code)
            rest = rest.dropFirst(3)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

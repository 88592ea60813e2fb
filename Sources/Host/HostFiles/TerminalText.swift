// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Unicode.Scalar {
    /// Whether a terminal does something else with it than show it in its place: control characters, which may move the
    /// cursor, set the title or end the line, and those that end a line or change the direction in which it is read
    /// (CVE-2021-42574). Tabs and line ends are among them.
    ///
    /// - Complexity: O(1).
    public var controlsTerminal: Bool {
        value < 0x20 || (0x7f...0x9f).contains(value)
            // The line and the paragraph separator; then embeddings, overrides and isolates.
            || (0x2028...0x202e).contains(value) || (0x2066...0x2069).contains(value)
    }
}

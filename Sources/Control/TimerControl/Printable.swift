// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostFiles

/// Makes text from jobs and users safe to print.
///
/// The output of jobs, descriptions and notes may contain characters that move the cursor of a
/// terminal, set its title, look like another line, or reverse the order in which a line is read
/// (CVE-2021-42574).
public enum Printable {
    /// The text with such characters written as `\x1b`. Tabs are kept.
    /// - Complexity: O(*n*).
    public static func text(_ text: String) -> String {
        escaping(text) { scalar in
            scalar != "\t" && scalar.controlsTerminal
        } as: {
            hexadecimal($0)
        }
    }

    /// The same as `text`, but line ends are kept as well.
    /// - Complexity: O(*n*).
    public static func lines(_ text: String) -> String {
        // Not split into lines, because Swift combines CR and LF into one character.
        escaping(text) { scalar in
            scalar != "\t" && scalar != "\n" && scalar.controlsTerminal
        } as: {
            hexadecimal($0)
        }
    }

    /// JSON with such characters in the notation of JSON, such as `\u009b`, so that its meaning
    /// does not change. (Most are escaped already; those below U+0020 always.)
    public static func json(_ text: String) -> String {
        escaping(text, \.controlsTerminal) { digits in
            "\\u" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
        }
    }

    private static func hexadecimal(_ digits: String) -> String {
        "\\x" + String(repeating: "0", count: max(0, 2 - digits.utf8.count)) + digits
    }

    private static func escaping(
        _ text: String, _ isWanted: (Unicode.Scalar) -> Bool, as escape: (String) -> String
    ) -> String {
        // Most texts have no byte that could start such a character; C2 and E2 start those that are
        // not ASCII.
        guard text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f || $0 == 0xc2 || $0 == 0xe2 }),
            text.unicodeScalars.contains(where: isWanted)
        else { return text }
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isWanted(scalar) {
                shown += escape(String(scalar.value, radix: 16)).unicodeScalars
            } else {
                shown.append(scalar)
            }
        }
        return String(shown)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The rules for names of environment variables.
public enum VariableName {
    /// Whether it is a name as POSIX requires: ASCII letters, digits and underscores, and no digit first.
    ///
    /// - Complexity: O(*n*) in the number of bytes.
    public static func isValid(_ name: String) -> Bool {
        guard let first = name.utf8.first, !isDigit(first) else { return false }
        return name.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "_") || isDigit(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// Whether no configuration and no file may set it: timerd sets it itself, or a job could
    /// impersonate the daemon with it.
    public static func isReserved(_ name: String) -> Bool {
        ["TIMERD_", "LISTEN_", "WATCHDOG_"].contains { name.hasPrefix($0) }
            || ["NOTIFY_SOCKET", "CREDENTIALS_DIRECTORY"].contains(name)
    }
}

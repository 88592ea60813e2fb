// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The values of systemd that several keys have.
enum UnitValue {
    /// A boolean as in systemd.syntax(7); nil if it is not one.
    static func boolean(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "1", "yes", "y", "true", "t", "on": true
        case "0", "no", "n", "false", "f", "off": false
        default: nil
        }
    }

    /// A time span; nil: it never ends.
    static func span(_ text: String) throws(TimeSpanError) -> Duration? {
        try TimeSpan.parse(text)
    }

    /// A number of bytes with a suffix to the base 1024, as Limit… of systemd.exec(5) has them.
    static func bytes(_ text: String) -> UInt64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let shifts: [String: UInt64] = [
            "": 0, "B": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60,
        ]
        let suffix = UnitFile.trimmed(text.dropFirst(digits.utf8.count))
        guard let number = UInt64(digits), let shift = shifts[suffix] else { return nil }
        let (size, overflow) = number.multipliedReportingOverflow(by: 1 << shift)
        return overflow || size > UInt64(Int64.max) ? nil : size
    }

    /// The number of an exit status by its name or number (systemd.exec(5), "Process Exit Codes").
    static func exitStatus(_ text: String) -> Int? {
        if let number = Int(text) { return (0...255).contains(number) ? number : nil }
        for prefix in ["EXIT_", "EX_"] where text.hasPrefix(prefix) {
            return exitNames[String(text.dropFirst(prefix.utf8.count))]
        }
        return exitNames[text]
    }

    private static let exitNames: [String: Int] = {
        let lines: [(Int, String)] = [
            (
                0,
                """
                SUCCESS FAILURE INVALIDARGUMENT NOTIMPLEMENTED NOPERMISSION NOTINSTALLED
                NOTCONFIGURED NOTRUNNING
                """
            ),
            (
                64,
                """
                USAGE DATAERR NOINPUT NOUSER NOHOST UNAVAILABLE SOFTWARE OSERR OSFILE CANTCREAT
                IOERR TEMPFAIL PROTOCOL NOPERM CONFIG
                """
            ),
            (
                200,
                """
                CHDIR NICE FDS EXEC MEMORY LIMITS OOM_ADJUST SIGNAL_MASK STDIN STDOUT CHROOT
                IOPRIO TIMERSLACK SECUREBITS SETSCHEDULER CPUAFFINITY GROUP USER CAPABILITIES
                CGROUP SETSID CONFIRM STDERR
                """
            ),
            (
                224,
                """
                PAM NETWORK NAMESPACE NO_NEW_PRIVILEGES SECCOMP SELINUX_CONTEXT PERSONALITY
                APPARMOR ADDRESS_FAMILIES RUNTIME_DIRECTORY
                """
            ),
            (
                235,
                """
                CHOWN SMACK_PROCESS_LABEL KEYRING STATE_DIRECTORY CACHE_DIRECTORY LOGS_DIRECTORY
                CONFIGURATION_DIRECTORY NUMA_POLICY CREDENTIALS BPF
                """
            ),
            (255, "EXCEPTION"),
        ]
        var names: [String: Int] = [:]
        for (first, words) in lines {
            for (offset, word) in words.split(whereSeparator: \.isWhitespace).enumerated() {
                names[String(word)] = first + offset
            }
        }
        return names
    }()
}

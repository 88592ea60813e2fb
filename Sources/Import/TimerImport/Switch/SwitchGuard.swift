// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The condition that jobs have while they are switched from their source to timerd, or back: a run is skipped
/// unless the source is off. So the one change that switches the source decides for both sides.
///
/// The scripts are constants. What belongs to a source, such as its path, is an argument, and no line of a
/// crontab is in it.
public enum SwitchGuard {
    /// The exit code with which a guard says that the source is still on.
    public static let stillOn: Int32 = 1

    /// The condition of a job, as it is while the job is switched.
    ///
    /// - Parameter own: the condition that the job has otherwise. It must be met too, but nothing waits for it: a
    ///   run that waits would start after the switch, although the source has run it.
    static func condition(of source: SwitchedSource, and own: TomlValue?) -> TomlValue {
        var entries: [TomlEntry] = []
        var ownCommand: [TomlValue] = []
        if case .table(let keys) = own {
            entries = keys.filter { !["command", "otherwise", "wait-max"].contains($0.key) }
            if case .array(let words)? = keys.first(where: { $0.key == "command" })?.value {
                ownCommand = words
            }
        }
        let command = command(of: source).map(TomlValue.string) + ownCommand
        entries.append(TomlEntry("command", .array(command)))
        entries.append(TomlEntry("otherwise", .string("skip")))
        return .table(entries)
    }

    /// The program that exits with 0 if the source is off, with `stillOn` if it is on, and with 3 if that is not
    /// known. Further arguments are a command to execute if the source is off.
    public static func command(of source: SwitchedSource) -> [String] {
        let arguments =
            switch source {
            case .userTable: [table, "sh", MarkedTable.marker]
            case .file(let path): [file, "sh", MarkedTable.marker, path]
            case .timer(let unit, _): [timer, "sh", unit.description]
            }
        return ["/bin/sh", "-c"] + arguments
    }

    /// A job may set its own PATH and locale, which must not change what is executed here and what it says.
    private static let plain = "PATH=/usr/bin:/bin LC_ALL=C"

    private static let rest = "[ $# = 0 ] || exec \"$@\""

    private static let table =
        "t=$(\(plain) crontab -l 2>&1) || { echo \"the crontab cannot be read: $t\"; exit 3; }; "
        + "printf '%s\\n' \"$t\" | \(plain) grep -qxF -e \"$1\" || { echo \"cron still runs it\"; exit 1; }; "
        + "shift; \(rest)"

    private static let file =
        "\(plain) grep -qxF -e \"$1\" -- \"$2\"; "
        + "case $? in 0) ;; 1) echo \"cron still runs it\"; exit 1;; *) echo \"$2 cannot be read\"; exit 3;; esac; "
        + "shift 2; \(rest)"

    /// A timer that the boot starts, and that is not active, is off once the boot is over. During the boot it counts as
    /// on, because systemd may not have started it yet.
    private static let timer =
        "on() { echo \"systemd still runs it\"; exit 1; }; "
        + "s=$(\(plain) systemctl show -p ActiveState -p UnitFileState -- \"$1\" 2>&1) "
        + "|| { echo \"systemd does not answer: $s\"; exit 3; }; "
        + "case $s in *ActiveState=inactive*|*ActiveState=failed*) ;; "
        + "*ActiveState=*) on;; *) echo \"systemd does not answer\"; exit 3;; esac; "
        + "case $s in *UnitFileState=disabled*|*UnitFileState=masked*|*UnitFileState=indirect*) ;; "
        + "*) case $(\(plain) systemctl is-system-running) in running|degraded|maintenance) ;; *) on;; esac;; esac; "
        + "shift; \(rest)"
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What runs jobs that timerd can take over: a table of cron, or a timer of systemd.
public enum SwitchedSource: Hashable, Sendable, CustomStringConvertible {
    /// The crontab of a user.
    case userTable(String)
    /// `/etc/crontab`, or a file of `/etc/cron.d`.
    case file(String)
    /// A timer, and how systemd starts it, which decides how it is switched on again.
    case timer(UnitName, TimerStart)

    /// How a timer gets started.
    public enum TimerStart: String, Sendable {
        /// By its section `[Install]`: it is switched off with `systemctl disable`.
        case enabled
        /// By what its package installed, since it has no `[Install]`: it is switched off with `systemctl mask`.
        case `static`
        /// By hand or by another unit.
        case disabled
    }

    /// Its name as `--only` takes it.
    public var name: String {
        switch self {
        case .userTable(let user): user
        case .file(let path): path
        case .timer(let unit, _): unit.description
        }
    }

    public var description: String {
        switch self {
        case .userTable(let user): "the crontab of \(user)"
        case .file, .timer: name
        }
    }

    /// Who runs its jobs before they are switched.
    public var scheduler: String {
        if case .timer = self { "systemd" } else { "cron" }
    }

    /// What the names of its notifiers and of its file in jobs.d begin with.
    public var stem: String {
        let parts =
            switch self {
            case .userTable(let user): ["crontab", user]
            case .file(let path): path.split(separator: "/").dropFirst().map(String.init)
            case .timer(let unit, _): ["systemd", unit.stem]
            }
        return JobNamer.clean(parts.joined(separator: "-")) ?? "switched"
    }

    /// The text behind `# switched-from: ` in its file.
    var header: String {
        switch self {
        case .userTable(let user): "crontab \(user)"
        case .file(let path): "file \(path)"
        case .timer(let unit, let start): "timer \(unit) \(start.rawValue)"
        }
    }

    /// Reads what `header` wrote; nil if it is something else.
    init?(header: some StringProtocol) {
        let words = String(header).split(separator: " ").map(String.init)
        switch (words.first, words.count) {
        case ("crontab", 2): self = .userTable(words[1])
        case ("file", 2) where words[1].hasPrefix("/"): self = .file(words[1])
        case ("timer", 3):
            guard let unit = UnitName(words[1]), let start = TimerStart(rawValue: words[2]) else {
                return nil
            }
            self = .timer(unit, start)
        default: return nil
        }
    }

    /// Whether it is the same source, however its timer gets started.
    public func isSame(as other: SwitchedSource) -> Bool {
        switch (self, other) {
        case (.timer(let unit, _), .timer(let otherUnit, _)): unit == otherUnit
        default: self == other
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What must be true on the machine when a run of a job is about to start, and what happens with the
/// run if it is not. The runner checks it, in its own view of the machine.
public struct Condition: Hashable, Sendable {
    /// A path that must be there, or must not.
    public struct Path: Hashable, Sendable, CustomStringConvertible {
        /// Absolute, without the `!`.
        public var path: String
        public var isNegated: Bool

        public init(_ path: String, isNegated: Bool = false) {
            self.path = path
            self.isNegated = isNegated
        }

        /// As in the file: with `!` in front if it is negated.
        public var description: String { (isNegated ? "!" : "") + path }
    }

    /// What happens with a run whose condition is not met.
    public enum Otherwise: String, CaseIterable, Hashable, Sendable {
        /// The run is skipped.
        case skip
        /// It waits, for `waitMax` at most, and is skipped then.
        case wait
    }

    /// Files, directories or anything else that must exist, or must not.
    public var pathExists: [Path] = []
    /// Paths where a file system must be mounted, or must not.
    public var mounted: [Path] = []
    /// Whether the machine must be connected to power, or must not; nil: it does not matter. A
    /// machine without a battery counts as connected.
    public var acPower: Bool?
    /// Whether the machine must have a default route and an address.
    public var networkOnline = false
    /// The load average of the last minute must be less than this; nil: it does not matter. Above
    /// zero.
    public var loadBelow: Double?
    /// A program and its arguments, which is executed as the user of the job: exit code 0 is yes,
    /// 1 to 254 is no, and anything else fails the run. Empty: none.
    public var command: [String] = []
    /// What happens with the run if the answer is no.
    public var otherwise = Otherwise.skip
    /// How long the run waits with `wait`, from when it was first to start. Above zero.
    public var waitMax = waitMaxDefault

    public static let waitMaxDefault: Duration = .seconds(3600)
    /// How long each check may take before the run fails.
    public static let timeout: Duration = .seconds(10)
    /// The exit code of `command` with which the run fails, as in systemd.
    public static let failureCode: Int32 = 255

    public init() {}

    /// Whether nothing is asked.
    public var isEmpty: Bool {
        pathExists.isEmpty && mounted.isEmpty && acPower == nil && !networkOnline
            && loadBelow == nil && command.isEmpty
    }

    /// The parts of the machine of which a change may meet the condition, as far as a runner notices
    /// changes of them. A file system that is mounted brings its files with it.
    public var watched: MachineParts {
        var parts: MachineParts = []
        if !mounted.isEmpty || !pathExists.isEmpty { parts.insert(.mounts) }
        if networkOnline { parts.insert(.network) }
        if acPower != nil { parts.insert(.power) }
        return parts
    }

    /// How long a run waits before it is asked again, after so many answers: 1, 2, 4 … 60 s.
    static func delay(afterAnswers count: Int) -> Duration {
        .seconds(min(60, 1 << min(max(0, count - 1), 6)))
    }
}

/// The words for what is asked, which are those of the file.
extension Condition {
    /// Such as `path-exists /srv/data`.
    public static func word(pathExists path: Path) -> String { "path-exists \(path)" }
    /// Such as `mounted /mnt/backup`.
    public static func word(mounted path: Path) -> String { "mounted \(path)" }
    /// `ac-power`, or `ac-power false`.
    public static func word(acPower isWanted: Bool) -> String {
        isWanted ? "ac-power" : "ac-power false"
    }
    public static let networkWord = "network-online"
    /// Such as `load-below 4.0`.
    public static func word(loadBelow limit: Double) -> String { "load-below \(limit)" }

    /// Everything that is asked, in the order in which it is: what costs least comes first, and a
    /// path on a file system is only looked at if that is mounted.
    public var words: [String] {
        mounted.map(Self.word(mounted:)) + pathExists.map(Self.word(pathExists:))
            + (acPower.map { [Self.word(acPower: $0)] } ?? [])
            + (networkOnline ? [Self.networkWord] : [])
            + (loadBelow.map { [Self.word(loadBelow: $0)] } ?? [])
            + (command.isEmpty ? [] : ["command \(command.joined(separator: " "))"])
    }
}

extension Condition {
    /// Writes what affects a runner: what is asked, and not what follows from the answer.
    @inlinable
    public func write(to writer: inout some FingerprintWriter) {
        for paths in [pathExists, mounted] {
            writer.put(paths) {
                $0.put($1.path)
                $0.put($1.isNegated)
            }
        }
        writer.put(acPower) { $0.put($1) }
        writer.put(networkOnline)
        writer.put(loadBelow) { $0.put($1.bitPattern) }
        writer.put(command) { $0.put($1) }
    }
}

/// Parts of the machine that conditions ask about, and of which the kernel says when they change.
public struct MachineParts: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The file systems that are mounted.
    public static let mounts = MachineParts(rawValue: 1)
    /// Routes, and the addresses of interfaces.
    public static let network = MachineParts(rawValue: 2)
    /// Batteries and what charges them.
    public static let power = MachineParts(rawValue: 4)
    /// All of them.
    public static let all: MachineParts = [.mounts, .network, .power]
}

extension Condition {
    /// What a runner found.
    public enum Answer: Hashable, Sendable {
        /// Everything is as it must be.
        case yes
        /// This is not, in the words of the file: `mounted /mnt/backup`.
        case no(String)
        /// It could not be found out, for this reason; with the name of an errno.
        case failed(errno: String, why: String)
    }
}

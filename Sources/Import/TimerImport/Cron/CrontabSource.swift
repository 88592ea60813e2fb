// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The program whose rules a crontab follows, by its name on the command line.
public enum CronFlavour: String, CaseIterable, Sendable {
    /// Debian's cron, version 3.0pl1.
    case debian
    /// cronie, as on Fedora, RHEL, Arch and SUSE.
    case cronie
    /// systemd-cron, which makes systemd units of crontabs.
    case systemdCron = "systemd-cron"

    /// Its name as sentences have it.
    var name: String { self == .debian ? "Debian's cron" : rawValue }
}

/// How crontabs are imported, and what is asked of the machine.
public struct CrontabOptions: Sendable {
    public var flavour = CronFlavour.debian
    /// Whether jobs have timerd's own policies instead of those that behave like cron.
    public var isModern = false
    /// Whether jobs of a crontab without PATH get cron's PATH.
    public var isStrictPath = false
    /// Whether a line that runs all scripts of a directory becomes a job for each of them.
    public var expandsRunParts = false
    /// The names that jobs and notifiers of others have.
    public var (takenJobs, takenNotifiers): (Set<String>, Set<String>) = ([], [])
    /// Whether this is the name of a user.
    public var isAccount: @Sendable (String) -> Bool = { _ in true }
    /// Whether this is the name of a program that a shell finds, in the PATH that a crontab sets; nil:
    /// it sets none.
    public var isProgram: @Sendable (_ name: String, _ path: String?) -> Bool = { _, _ in false }
    /// Whether this is the name of a time zone.
    public var isZone: @Sendable (String) -> Bool = { _ in true }
    /// The names of the scripts that run-parts(8) would run in a directory, sorted; nil if it cannot be read.
    public var scripts: @Sendable (String) -> [String]? = { _ in nil }

    public init() {}
}

/// A crontab, and what is known of it beside its text.
public struct CrontabSource: Sendable {
    /// Its path as the user named it, or `-`.
    public var file: String
    public var bytes: [UInt8]
    /// What its jobs and notifiers are called if a line has no better name, such as `crontab`.
    public var stem: String
    /// Whether each line names a user before the command; nil: found out.
    public var hasUserField: Bool?
    /// Whether that is only likely, so that a note says so if the lines look otherwise.
    public var isFieldAssumed = false
    /// The user whose crontab it is, who gets its mail.
    public var owner: String
    /// Whether the jobs name the owner as their user.
    public var namesOwner: Bool

    public init(
        file: String, bytes: [UInt8], stem: String, hasUserField: Bool?, owner: String,
        namesOwner: Bool
    ) {
        (self.file, self.bytes, self.stem) = (file, bytes, stem)
        (self.hasUserField, self.owner, self.namesOwner) = (hasUserField, owner, namesOwner)
    }
}

/// Why a whole file cannot be imported; single lines are in the report.
public struct ImportFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// The place, what is wrong, and what to do next.
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// One line of a file, with what makes it impossible to import.
struct SourceLine {
    /// The number of the line in the file, from 1.
    var number: Int
    /// The line without its end; what is not UTF-8 is replaced.
    var text: String
    /// Why it cannot be imported, whatever it says; nil if it can.
    var fault: String?
    /// Whether Debian's cron refuses the whole file because of the fault.
    var breaksFile = false

    /// Whether cron ignores it: an empty line, or a comment.
    var isComment: Bool {
        let first = text.utf8.first { $0 != 32 && $0 != 9 }
        return first == nil || first == UInt8(ascii: "#")
    }

    /// The lines of a crontab, with what cron itself refuses.
    /// - Complexity: O(*n*).
    static func lines(of bytes: [UInt8], _ flavour: CronFlavour) -> [SourceLine] {
        var parts = bytes.split(separator: 10, omittingEmptySubsequences: false)
        let isTerminated = parts.last?.isEmpty != false
        if isTerminated { parts = parts.dropLast() }
        return parts.enumerated().map { index, part in
            var line = part
            if flavour == .systemdCron, line.last == 13 { line = line.dropLast() }
            let isLast = index == parts.count - 1 && !isTerminated
            let fault = fault(
                in: line, isFirst: index == 0, isCut: isLast && flavour != .systemdCron)
            return SourceLine(
                number: index + 1, text: String(decoding: line, as: UTF8.self),
                fault: fault?.why, breaksFile: fault?.breaksFile ?? false)
        }
    }

    private typealias Fault = (why: String, breaksFile: Bool)

    private static func fault(in line: ArraySlice<UInt8>, isFirst: Bool, isCut: Bool) -> Fault? {
        if isFirst, line.starts(with: [0xef, 0xbb, 0xbf]) {
            return (
                "begins with a byte order mark; remove it: sed -i '1s/^\\xef\\xbb\\xbf//'", true
            )
        }
        if line.contains(0) { return ("has a NUL byte", false) }
        if line.last == 13 {
            let why =
                "ends with a carriage return, as files from Windows do, which cron takes for a part of the line; "
                + "remove it: sed -i 's/\\r$//'"
            return (why, line.count == 1)
        }
        if String(validating: line, as: UTF8.self) == nil {
            return ("is not UTF-8, which a configuration of timerd must be", false)
        }
        let isEmpty = line.allSatisfy { $0 == 32 || $0 == 9 }
        return isCut && !isEmpty
            ? ("the file ends without a line end; cron ignores such a file; add one", true) : nil
    }
}

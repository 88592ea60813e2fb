// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
public import TimerCore

/// Looks on this machine for what the runs of jobs need: users, groups, directories and programs, with the rights of
/// the job's user as far as the mode of files says. What cannot be looked up, because a directory is closed to this
/// process or a directory service does not answer, is not said to be missing.
public struct MachineCheck: Sendable {
    /// What the runs of a job need of the machine. Many jobs ask the same.
    public struct Question: Hashable, Sendable {
        let user: String?
        let group: String?
        let pamService: String?
        /// Whether its user has other rights to files than their modes say.
        let hasCapabilities: Bool
        let workingDirectory: String?
        /// What is executed beside the shell.
        let programs: [Program]
        /// The job's own PATH; nil: not known, because a file of variables may have another.
        let path: String?
        /// The files that the runner reads for its runs: of credentials, and with variables.
        let files: [File]
        let nice: Int
        let priorities: Priorities
        let limits: [Execution.Limit: UInt64?]

        struct Program: Hashable, Sendable {
            /// The key that names it.
            var key: String
            /// Its path, or a name that is looked up in `path`.
            var name: String
        }

        struct File: Hashable, Sendable {
            /// The key that names the file.
            var key: String
            var path: String
            /// Whether it is read with the rights of the job's user, and not with the runner's.
            var isReadAsUser: Bool
        }

        public init(of job: Job) {
            let execution = job.execution
            user = execution.user
            group = execution.group
            pamService = execution.pamService
            hasCapabilities = execution.confinement.capabilities != nil
            workingDirectory = job.workingDirectory
            programs = Self.programs(of: job)
            path =
                execution.environmentFile == nil
                ? job.environment["PATH"] ?? Execution.searchPath : nil
            files = Self.files(of: execution)
            nice = execution.nice
            priorities = execution.priorities
            limits = execution.limits
        }

        private static func programs(of job: Job) -> [Program] {
            var programs: [Program] = []
            if case .arguments(let arguments) = job.command, let name = arguments.first {
                programs.append(Program(key: "command", name: name))
            }
            if let name = job.execution.condition?.command.first {
                programs.append(Program(key: "condition", name: name))
            }
            return programs
        }

        private static func files(of execution: Execution) -> [File] {
            var files = execution.credentials.values.sorted().map {
                File(key: "credentials", path: $0, isReadAsUser: false)
            }
            // With a hyphen in front it need not be there.
            if let path = execution.environmentFile, path.hasPrefix("/") {
                files.append(File(key: "environment-file", path: path, isReadAsUser: true))
            }
            return files
        }
    }

    /// What a job names and this machine does not have.
    public struct Finding: Sendable {
        var code: ConfigWarning.Code
        /// The key that names what is missing.
        var key: String
        var message: String
    }

    /// As whom the runs of jobs execute that name no user.
    private let standardUser: FileRights
    /// Directories of which this process has its own, other than the runs of jobs.
    private let hidden: [String]
    /// What an unprivileged runner may do; nil: the runner is root, or not known.
    private let privileges: OwnPrivileges?
    /// The resource limits that the runner may give to runs.
    private let highestLimits: HighestLimits

    private var users: [String: User] = [:]
    private var groups: [String: Group] = [:]
    /// How many groups a user may be in (NGROUPS_MAX).
    private static let groupsMax = 65_536
    /// The groups of each user, by their numbers.
    private var memberships: [String: Set<gid_t>] = [:]

    /// - Parameters:
    ///   - runsAsRoot: whether jobs that name no user run as root, and not as the user of this process.
    ///   - hidden: directories in which nothing is looked at, since this process has others in their place than jobs.
    ///   - privileges: what the runner may do, if it is not root.
    ///   - highestLimits: the resource limits that the runner may give to runs.
    public init(
        runsAsRoot: Bool = false, hidden: [String] = [], privileges: OwnPrivileges? = nil,
        highestLimits: HighestLimits = HighestLimits(ofOwnRunner: false)
    ) {
        self.privileges = privileges
        self.highestLimits = highestLimits
        standardUser = runsAsRoot ? FileRights(uid: 0, groups: []) : .own
        self.hidden = hidden
    }

    private enum User {
        case known(home: String, uid: uid_t, group: gid_t)
        case missing
        case unknown
    }

    private enum Group {
        case known(gid_t)
        case missing
        case unknown
    }

    /// - Complexity: one look-up of each user and group, and some of files for each question.
    mutating func findings(for question: Question) -> [Finding] {
        var found: [Finding] = []
        var home: String?
        var rights: FileRights? = standardUser
        if let name = question.user {
            rights = nil
            switch user(name) {
            case .known(let path, let uid, let group):
                home = path
                rights = self.rights(of: name, uid, group, in: question.group)
            case .unknown: break
            case .missing:
                found.append(
                    Finding(
                        code: .unknownUser, key: "user",
                        message: "there is no user \"\(name)\" on this machine; its runs will fail")
                )
            }
        }
        if let name = question.group, case .missing = group(name) {
            found.append(
                Finding(
                    code: .unknownGroup, key: "group",
                    message: "there is no group \"\(name)\" on this machine; its runs will fail"))
        }
        if let name = question.pamService, Self.isMissing(pamService: name) {
            found.append(
                Finding(
                    code: .unknownPamService, key: "pam-service",
                    message:
                        "there is no PAM service \"\(name)\" on this machine: neither /etc/pam.d/\(name) nor "
                        + "/usr/lib/pam.d/\(name) exists; its runs will fail"))
        }
        if let privileges {
            found += privileges.missing(nice: question.nice, question.priorities).map { finding in
                Finding(
                    code: .missingPrivilege, key: finding.key,
                    message: "\(finding.message); its runs will fail")
            }
        }
        found += highestLimits.findings(for: question.limits, isRoot: rights?.uid == 0)
        for file in question.files {
            let reader = file.isReadAsUser ? rights : standardUser.uid == 0 ? nil : standardUser
            found += finding(
                FileCheck(file: file.path, with: reader, hidden: hidden), .missingFile,
                file.key, question)
        }
        // With capabilities the mode of files may not count.
        if question.hasCapabilities { rights = nil }
        if let path = question.workingDirectory {
            found += finding(
                FileCheck(directory: path, with: rights, hidden: hidden), .missingDirectory,
                "working-directory", question)
        }
        for program in question.programs {
            let look = look(
                for: program.name, in: question.workingDirectory ?? home, path: question.path,
                with: rights)
            found += finding(look, .missingProgram, program.key, question)
        }
        return found
    }

    private func finding(
        _ look: FileCheck, _ code: ConfigWarning.Code, _ key: String, _ question: Question
    ) -> [Finding] {
        switch look {
        case .good: []
        case .unknown(let why):
            [Finding(code: .notExamined, key: key, message: why)]
        case .missing(let fault), .bad(let fault):
            [Finding(code: code, key: key, message: "\(fault); its runs will fail")]
        case .closed(let fault):
            [
                Finding(
                    code: code, key: key,
                    message: fault.replacingUser(with: question.user)
                        + "; its runs will fail")
            ]
        }
    }

    /// The rights of a user, with those of a group that its job names.
    private mutating func rights(
        of name: String, _ uid: uid_t, _ group: gid_t, in other: String?
    ) -> FileRights? {
        guard uid != 0 else { return FileRights(uid: 0, groups: []) }
        guard var groups = memberships(of: name, with: group) else { return nil }
        if let other {
            guard case .known(let id) = self.group(other) else { return nil }
            groups.insert(id)
        }
        return FileRights(uid: uid, groups: groups)
    }

    // MARK: - Users and groups

    private mutating func user(_ name: String) -> User {
        if let known = users[name] { return known }
        let user: User =
            switch UserDatabase.user(named: name) {
            case .found(let entry):
                .known(home: entry.home, uid: entry.uid, group: entry.gid)
            case .missing: .missing
            case .failed: .unknown
            }
        users[name] = user
        return user
    }

    private mutating func group(_ name: String) -> Group {
        if let known = groups[name] { return known }
        let group: Group =
            switch UserDatabase.group(named: name) {
            case .found(let entry): .known(entry.gid)
            case .missing: .missing
            case .failed: .unknown
            }
        groups[name] = group
        return group
    }

    /// Whether a user is in one of these groups. False as well if there is no such user; nil if it cannot be known.
    mutating func isMember(_ name: String, of groups: [String]) -> Bool? {
        let primary: gid_t
        switch user(name) {
        case .known(_, _, let group): primary = group
        case .missing: return false
        case .unknown: return nil
        }
        guard let own = memberships(of: name, with: primary) else { return nil }
        var isKnown = true
        for group in groups {
            switch self.group(group) {
            case .known(let id): if own.contains(id) { return true }
            case .missing: break
            case .unknown: isKnown = false
            }
        }
        return isKnown ? false : nil
    }

    private mutating func memberships(of name: String, with group: gid_t) -> Set<gid_t>? {
        if let known = memberships[name] { return known }
        guard
            let numbers = UserDatabase.groups(
                ofUser: name, primary: group, upTo: Self.groupsMax)
        else { return nil }
        let found = Set(numbers)
        memberships[name] = found
        return found
    }

    // MARK: - Files

    private static func isMissing(pamService name: String) -> Bool {
        ["/etc/pam.d", "/usr/lib/pam.d"].allSatisfy { folder in
            var status = stat()
            return stat("\(folder)/\(name)", &status) != 0 && isAbsent
        }
    }

    /// What keeps a program from being executed, as the runner looks for it: by its path, or in the
    /// directories of the job's own PATH.
    ///
    /// - Parameters:
    ///   - directory: where the job runs; nil: not known.
    ///   - path: its own PATH; nil: not known.
    private func look(
        for name: String, in directory: String?, path: String?, with rights: FileRights?
    ) -> FileCheck {
        guard !name.utf8.contains(UInt8(ascii: "/")) else {
            guard let path = Self.absolute(name, in: directory) else { return .good }
            return FileCheck(program: path, with: rights, hidden: hidden)
        }
        guard let path else { return .good }
        var other: FileCheck?
        for folder in path.split(separator: ":", omittingEmptySubsequences: false) {
            let relative = folder.isEmpty ? "./\(name)" : "\(folder)/\(name)"
            guard let file = Self.absolute(relative, in: directory) else { return .good }
            switch FileCheck(program: file, with: rights, hidden: hidden) {
            case .good: return .good
            case .missing: break
            // The program may be in this directory, so the search cannot go on.
            case .unknown(let why): return .unknown(why)
            case .bad(let found): other = other ?? .bad(found)
            case .closed(let found): other = other ?? .closed(found)
            }
        }
        return other ?? .missing("there is no program \"\(name)\" in the job's PATH, \(path)")
    }

    private static func absolute(_ path: String, in directory: String?) -> String? {
        path.hasPrefix("/") ? path : directory.map { "\($0)/\(path)" }
    }

    /// Whether `errno` says that there is no such file.
    private static var isAbsent: Bool { errno == ENOENT || errno == ENOTDIR }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore

/// Looks on this machine for what the runs of jobs need: users, groups, directories and programs. What cannot
/// be looked up, for want of permission or because a directory service is silent, is not said to be missing.
struct MachineLook {
    /// What a job names and this machine does not have.
    struct Finding {
        var code: ConfigWarning.Code
        /// The key that names it.
        var key: String
        var message: String
    }

    private var users: [String: User] = [:]
    private var groups: [String: Group] = [:]
    /// The groups of each user, by their numbers.
    private var memberships: [String: Set<gid_t>] = [:]
    /// What was found of a program, by all that it was looked for with.
    private var programs: [[String]: String?] = [:]

    private enum User {
        case known(home: String, group: gid_t)
        case missing
        case unknown
    }

    private enum Group {
        case known(gid_t)
        case missing
        case unknown
    }

    /// - Complexity: one look-up of each user and group, and some of files for each job.
    mutating func findings(of job: Job) -> [Finding] {
        var found: [Finding] = []
        var home: String?
        if let name = job.execution.user {
            switch user(name) {
            case .known(let path, _): home = path
            case .unknown: break
            case .missing:
                found.append(
                    Finding(
                        code: .unknownUser, key: "user",
                        message: "there is no user \"\(name)\" on this machine; its runs will fail")
                )
            }
        }
        if let name = job.execution.group, case .missing = group(name) {
            found.append(
                Finding(
                    code: .unknownGroup, key: "group",
                    message: "there is no group \"\(name)\" on this machine; its runs will fail"))
        }
        if let name = job.execution.pamService, Self.isMissing(pamService: name) {
            found.append(
                Finding(
                    code: .unknownPamService, key: "pam-service",
                    message:
                        "there is no PAM service \"\(name)\" on this machine: neither /etc/pam.d/\(name) nor "
                        + "/usr/lib/pam.d/\(name) exists; its runs will fail"))
        }
        if let path = job.workingDirectory, let fault = Self.fault(ofDirectory: path) {
            found.append(
                Finding(
                    code: .missingDirectory, key: "working-directory",
                    message: "\"\(path)\" \(fault); its runs will fail"))
        }
        if let fault = fault(ofProgramOf: job, home: home) {
            found.append(
                Finding(
                    code: .missingProgram, key: "command", message: "\(fault); its runs will fail"))
        }
        return found
    }

    // MARK: - Users and groups

    private mutating func user(_ name: String) -> User {
        if let known = users[name] { return known }
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        let code = Self.withBuffer {
            getpwnam_r(name, &entry, $0.baseAddress!, $0.count, &found)
        } after: {
            found.map { (home: String(cString: $0.pointee.pw_dir), group: $0.pointee.pw_gid) }
        }
        let user: User =
            if let found = code.value {
                .known(home: found.home, group: found.group)
            } else {
                code.error == 0 ? .missing : .unknown
            }
        users[name] = user
        return user
    }

    private mutating func group(_ name: String) -> Group {
        if let known = groups[name] { return known }
        var entry = Glibc.group()
        var found: UnsafeMutablePointer<Glibc.group>?
        let code = Self.withBuffer {
            getgrnam_r(name, &entry, $0.baseAddress!, $0.count, &found)
        } after: {
            found?.pointee.gr_gid
        }
        let group: Group =
            if let id = code.value { .known(id) } else { code.error == 0 ? .missing : .unknown }
        groups[name] = group
        return group
    }

    /// Whether a user is in one of these groups. False as well if there is no such user; nil if it cannot be known.
    mutating func isMember(_ name: String, of groups: [String]) -> Bool? {
        let primary: gid_t
        switch user(name) {
        case .known(_, let group): primary = group
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
        // As many as a user may be in (NGROUPS_MAX).
        var count: Int32 = 65_536
        var groups = [gid_t](repeating: 0, count: Int(count))
        guard getgrouplist(name, group, &groups, &count) >= 0 else { return nil }
        let found = Set(groups.prefix(Int(count)))
        memberships[name] = found
        return found
    }

    /// Calls `look` with a buffer that grows for as long as it asks for more, then takes what it found out of
    /// the buffer.
    private static func withBuffer<Value>(
        _ look: (UnsafeMutableBufferPointer<CChar>) -> Int32, after take: () -> Value?
    ) -> (value: Value?, error: Int32) {
        var size = 4096
        while true {
            var buffer = [CChar](repeating: 0, count: size)
            let result = buffer.withUnsafeMutableBufferPointer { bytes -> (Value?, Int32) in
                let code = look(bytes)
                return (code == 0 ? take() : nil, code)
            }
            guard result.1 == ERANGE, size < 1 << 20 else { return result }
            size *= 2
        }
    }

    // MARK: - Files

    private static func isMissing(pamService name: String) -> Bool {
        ["/etc/pam.d", "/usr/lib/pam.d"].allSatisfy { folder in
            var status = stat()
            return stat("\(folder)/\(name)", &status) != 0 && isAbsent
        }
    }

    private static func fault(ofDirectory path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return isAbsent ? "is not there" : nil }
        return status.st_mode & S_IFMT == S_IFDIR ? nil : "is not a directory"
    }

    /// What keeps the program of a job from being executed, as the runner looks for it: by its path, or in
    /// the directories of the job's own PATH.
    private mutating func fault(ofProgramOf job: Job, home: String?) -> String? {
        guard case .arguments(let arguments) = job.command, let name = arguments.first else {
            return nil
        }
        let directory = job.workingDirectory ?? home
        // A file of variables may have another PATH.
        let path =
            job.execution.environmentFile == nil
            ? job.environment["PATH"] ?? Execution.searchPath : nil
        let key = [name, directory ?? "", path ?? ""]
        if let known = programs[key] { return known }
        let found = Self.fault(of: name, in: directory, path: path)
        programs[key] = .some(found)
        return found
    }

    /// - Parameters:
    ///   - directory: where the job runs; nil: not known.
    ///   - path: its own PATH; nil: not known.
    private static func fault(of name: String, in directory: String?, path: String?) -> String? {
        guard !name.utf8.contains(UInt8(ascii: "/")) else {
            guard let path = absolute(name, in: directory) else { return nil }
            switch look(at: path) {
            case .good, .unknown: return nil
            case .missing: return "there is no program \"\(path)\""
            case .bad(let fault): return "\"\(path)\" \(fault)"
            }
        }
        guard let path else { return nil }
        var fault: String?
        for folder in path.split(separator: ":", omittingEmptySubsequences: false) {
            guard
                let file = absolute(
                    folder.isEmpty ? "./\(name)" : "\(folder)/\(name)", in: directory)
            else { return nil }
            switch look(at: file) {
            case .good, .unknown: return nil
            case .missing: break
            case .bad(let found): fault = fault ?? "\"\(file)\" \(found)"
            }
        }
        return fault ?? "there is no program \"\(name)\" in the job's PATH, \(path)"
    }

    private static func absolute(_ path: String, in directory: String?) -> String? {
        path.hasPrefix("/") ? path : directory.map { "\($0)/\(path)" }
    }

    private enum Look {
        case good
        case missing
        case unknown
        case bad(String)
    }

    private static func look(at path: String) -> Look {
        var status = stat()
        guard stat(path, &status) == 0 else { return isAbsent ? .missing : .unknown }
        guard status.st_mode & S_IFMT == S_IFREG else { return .bad("is not a program") }
        return status.st_mode & 0o111 != 0 ? .good : .bad("is not executable; chmod +x it")
    }

    /// Whether `errno` says that there is no such file.
    private static var isAbsent: Bool { errno == ENOENT || errno == ENOTDIR }
}

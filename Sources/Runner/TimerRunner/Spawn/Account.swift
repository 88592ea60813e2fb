// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import TimerCore

/// The user as whom a run executes, with what its environment needs.
struct Account: Hashable, Sendable {
    /// The PATH in which programs named without a slash are searched, unless a job declares its own.
    static let searchPath = Execution.searchPath
    static let groupsMax = 1024

    var name: String
    var home: String
    var shell: String
    /// The ids to switch to; nil if this process already has them.
    var identity: Identity?

    struct Identity: Hashable, Sendable {
        var user: UInt32
        var group: UInt32
        /// The supplementary groups, as initgroups(3) sets them.
        var groups: [UInt32]
    }

    /// The variables that the account contributes to the environment of a job. A shell that only
    /// refuses logins is not set: programs such as flock(1) and ssh(1) would start it for a command,
    /// and fall back to /bin/sh without the variable.
    var variables: [String: String] {
        var variables = ["PATH": Self.searchPath, "HOME": home, "USER": name, "LOGNAME": name]
        if !Self.isPlaceholder(shell: shell) { variables["SHELL"] = shell }
        return variables
    }

    /// Whether a shell of the user database runs no commands: the list of systemd
    /// (`shell_is_placeholder`).
    static func isPlaceholder(shell: String) -> Bool {
        let parts = shell.split(separator: "/")
        guard let program = parts.last, shell.hasPrefix("/") else { return shell.isEmpty }
        let folders = [["bin"], ["sbin"], ["usr", "bin"], ["usr", "sbin"]]
        switch program {
        case "nologin":
            return folders.contains { $0.elementsEqual(parts.dropLast().map(String.init)) }
        case "false", "true":
            return [["bin"], ["usr", "bin"]].contains {
                $0.elementsEqual(parts.dropLast().map(String.init))
            }
        default: return false
        }
    }

    /// Looks up the effective user. A user without an entry is named by its number, and its home
    /// directory is `/`.
    static func current() -> Account {
        let user = geteuid()
        return UserDatabase.user(user).entry.map { Account($0) }
            ?? Account(name: "\(user)", home: "/", shell: "/bin/sh")
    }

    /// Looks up the user and group of a run. It does so for each run, because users are added and
    /// removed while the runner runs. A runner that is not root can only use its own user and
    /// group.
    static func resolve(
        user: String?, group: String?, current: Account
    ) throws(Spawner.Failure) -> Account {
        guard user != nil || group != nil else { return current }
        var account = current
        var uid = geteuid()
        var gid = getegid()
        if let user {
            let entry = try lookUp(user)
            account = Account(entry)
            uid = entry.uid
            gid = entry.gid
        }
        if let group { gid = try lookUpGroup(group) }
        guard geteuid() == 0 else {
            let what = user.map { "user \($0)" } ?? "group \(group ?? "")"
            guard uid == geteuid() else { throw Spawner.failure(EPERM, "switch to the \(what)") }
            guard group == nil || gid == getegid() else {
                throw Spawner.failure(EPERM, "switch to the group \(group ?? "")")
            }
            return account
        }
        account.identity = Identity(
            user: uid, group: gid, groups: try groups(of: account.name, with: gid))
        return account
    }

    /// Some user databases also find a user by its number, so a typing error such as `0` could mean
    /// root. So a text that could be a number is not accepted as a name.
    private static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= 256 else { return false }
        let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first | 0x20)
        return (isLetter || first == UInt8(ascii: "_"))
            && text.utf8.allSatisfy { $0 > 32 && $0 != 127 && !":/".utf8.contains($0) }
    }

    private static func lookUp(
        _ user: String
    ) throws(Spawner.Failure) -> UserDatabase.User {
        let what = "look up the user \(user.debugDescription)"
        guard isName(user) else { throw Spawner.failure(EINVAL, "\(what): not a valid user name") }
        return try found(UserDatabase.user(named: user), what)
    }

    private static func lookUpGroup(_ name: String) throws(Spawner.Failure) -> gid_t {
        let what = "look up the group \(name.debugDescription)"
        guard isName(name) else { throw Spawner.failure(EINVAL, "\(what): not a valid group name") }
        return try found(UserDatabase.group(named: name), what).gid
    }

    private static func found<Entry>(
        _ answer: UserDatabase.Answer<Entry>, _ what: String
    ) throws(Spawner.Failure) -> Entry {
        switch answer {
        case .found(let entry): return entry
        case .missing: throw Spawner.failure(ENOENT, what)
        case .failed(let code): throw Spawner.failure(code, what)
        }
    }

    private static func groups(
        of user: String, with group: gid_t
    ) throws(Spawner.Failure) -> [UInt32] {
        guard
            let groups = UserDatabase.groups(ofUser: user, primary: group, upTo: groupsMax)
        else { throw Spawner.failure(E2BIG, "look up the groups of \(user)") }
        return groups
    }

    /// Checks whether jobs may run as this user. The members of a group are the users who have it
    /// as their primary group and those that it lists. The group that a job declares does not make
    /// its user a member.
    ///
    /// - Parameter user: the user that the job names.
    func check(isOneOf allowed: AllowedUsers, named user: String?) throws(Spawner.Failure) {
        guard let user else {
            throw Spawner.failure(
                EPERM, "run as \(name): allowed-users is set, so the job must name its user")
        }
        guard !allowed.users.contains(user) else { return }
        var failure = Spawner.failure(EPERM, "run as \(user), who is not one of allowed-users")
        if !allowed.groups.isEmpty {
            let entry = try Self.lookUp(user)
            let own = try Self.groups(of: user, with: entry.gid)
            for group in allowed.groups {
                do throws(Spawner.Failure) {
                    if own.contains(try Self.lookUpGroup(group)) { return }
                } catch {
                    failure = error
                }
            }
        }
        throw failure
    }

    init(name: String, home: String, shell: String) {
        self.name = name
        self.home = home
        self.shell = shell
    }

    /// Empty fields get the same defaults as in login(1).
    private init(_ entry: UserDatabase.User) {
        self.init(
            name: entry.name, home: entry.home.isEmpty ? "/" : entry.home,
            shell: entry.shell.isEmpty ? "/bin/sh" : entry.shell)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore

/// The user as whom a run executes.
struct Account: Hashable, Sendable {
    /// The path for programs that are named without a slash, unless a job declares its own PATH.
    static let searchPath = Execution.searchPath
    /// The most bytes that an entry of the user database may have.
    static let entryBytesMax = 1 << 20
    /// The most supplementary groups of a user.
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

    /// The variables that the account contributes to the environment of a job.
    var variables: [String: String] {
        [
            "PATH": Self.searchPath, "HOME": home, "SHELL": shell, "USER": name, "LOGNAME": name,
        ]
    }

    /// Looks up the effective user. A user without an entry is named by its number, and its home
    /// directory is `/`. Empty fields get the same defaults as in login(1).
    static func current() -> Account {
        let user = geteuid()
        guard let entry = try? Entry.find({ getpwuid_r(user, $0, $1, $2, $3) }) else {
            return Account(name: "\(user)", home: "/", shell: "/bin/sh")
        }
        return Account(name: entry.name, home: entry.home, shell: entry.shell)
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
            account = Account(name: entry.name, home: entry.home, shell: entry.shell)
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

    /// Some user databases accept numbers as names, and a typing error could become root. So only a
    /// text that cannot be a number is a name.
    private static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= 256 else { return false }
        let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first | 0x20)
        return (isLetter || first == UInt8(ascii: "_"))
            && text.utf8.allSatisfy { $0 > 32 && $0 != 127 && !":/".utf8.contains($0) }
    }

    private static func lookUp(_ user: String) throws(Spawner.Failure) -> Entry {
        let what = "look up the user \(user.debugDescription)"
        guard isName(user) else { throw Spawner.failure(EINVAL, "\(what): no name of a user") }
        let entry: Entry
        do throws(Entry.Failure) {
            entry = try Entry.find { getpwnam_r(user, $0, $1, $2, $3) }
        } catch {
            throw Spawner.failure(error.code, what)
        }
        guard entry.name == user else { throw Spawner.failure(ENOENT, what) }
        return entry
    }

    private static func lookUpGroup(_ name: String) throws(Spawner.Failure) -> gid_t {
        let what = "look up the group \(name.debugDescription)"
        guard isName(name) else { throw Spawner.failure(EINVAL, "\(what): no name of a group") }
        var size = 1024
        while true {
            var entry = group()
            var found: UnsafeMutablePointer<group>?
            var buffer = [CChar](repeating: 0, count: size)
            let code = getgrnam_r(name, &entry, &buffer, buffer.count, &found)
            if code == ERANGE, size < entryBytesMax {
                size *= 2
            } else if code != EINTR {
                guard found != nil else { throw Spawner.failure(code == 0 ? ENOENT : code, what) }
                // As with users, some databases find a group by something other than its name.
                guard String(cString: entry.gr_name) == name else {
                    throw Spawner.failure(ENOENT, what)
                }
                return entry.gr_gid
            }
        }
    }

    private static func groups(
        of user: String, with group: gid_t
    ) throws(Spawner.Failure) -> [UInt32] {
        var count = Int32(groupsMax)
        var groups = [gid_t](repeating: 0, count: groupsMax)
        guard getgrouplist(user, group, &groups, &count) >= 0 else {
            throw Spawner.failure(E2BIG, "look up the groups of \(user)")
        }
        return Array(groups.prefix(Int(count)))
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
}

/// An entry of the user database. Its strings are copies, because those of the database are valid
/// only as long as their buffer.
private struct Entry {
    var name: String
    var home: String
    var shell: String
    var uid: uid_t
    var gid: gid_t

    /// The errno of a look-up; ENOENT if there is no such entry.
    struct Failure: Error {
        var code: Int32
    }

    typealias LookUp = (
        UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
        UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
    ) -> Int32

    static func find(_ lookUp: LookUp) throws(Failure) -> Entry {
        var size = 1024
        while true {
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            var buffer = [CChar](repeating: 0, count: size)
            let result: Entry?
            let code: Int32
            (result, code) = buffer.withUnsafeMutableBufferPointer { buffer in
                // A buffer of at least one byte has an address.
                let code = lookUp(&entry, buffer.baseAddress!, buffer.count, &found)
                return code == 0 && found != nil ? (Entry(entry), 0) : (nil, code)
            }
            if let result { return result }
            // ERANGE: the entry needs a larger buffer.
            if code == ERANGE, size < Account.entryBytesMax {
                size *= 2
            } else if code != EINTR {
                throw Failure(code: code == 0 ? ENOENT : code)
            }
        }
    }

    private init(_ entry: passwd) {
        let home = String(cString: entry.pw_dir)
        let shell = String(cString: entry.pw_shell)
        name = String(cString: entry.pw_name)
        self.home = home.isEmpty ? "/" : home
        self.shell = shell.isEmpty ? "/bin/sh" : shell
        uid = entry.pw_uid
        gid = entry.pw_gid
    }
}

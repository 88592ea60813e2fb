// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import TimerImport

/// A crontab of which lines are switched: that of a user, or a file of the system.
struct SwitchTable {
    private enum Place {
        case user(String)
        case file(folder: String, name: String)
    }

    private let place: Place

    /// Nil if the source is no crontab.
    init?(_ source: SwitchedSource) {
        switch source {
        case .userTable(let user): place = .user(user)
        case .file(let path):
            guard let slash = path.lastIndex(of: "/") else { return nil }
            place = .file(
                folder: String(path[..<slash]), name: String(path[path.index(after: slash)...]))
        case .timer: return nil
        }
    }

    /// Its content, which is empty if there is none, and whether all users may read it.
    ///
    /// cron does not run a table that another user could have written, and it is not read here either: its lines
    /// would become jobs of root.
    func read() throws(SwitchFault) -> (bytes: [UInt8], isPublic: Bool) {
        switch place {
        case .user(let user):
            try expectOwnFile(of: user)
            let tool = try Tool.run(Self.crontab(of: user) + ["-l"])
            if tool.code == 0 { return (tool.output, false) }
            guard tool.complaint.hasPrefix("no crontab for") else {
                throw SwitchFault("crontab -l failed: \(tool.complaint)")
            }
            return ([], false)
        case .file(let folder, let name):
            do throws(Directory.Failure) {
                let directory = try Directory.existing(folder)
                guard let status = try directory.status(of: name) else { return ([], true) }
                let bytes = try directory.read(name, bytes: ImportInput.bytesMax) ?? []
                return (bytes, status.st_mode & 0o004 != 0)
            } catch { throw SwitchFault(error.description) }
        }
    }

    /// Replaces the content at once.
    ///
    /// - Parameter old: what `read` returned. If another program has changed the table since then, it stays as it is.
    func replace(_ old: [UInt8], by new: [UInt8]) throws(SwitchFault) {
        guard try read().bytes == old else {
            throw SwitchFault("it was changed meanwhile; run the command again")
        }
        switch place {
        case .user(let user):
            // crontab(1) tells cron of the change.
            try Tool.done(Self.crontab(of: user) + ["-"], input: new)
        case .file(let folder, let name):
            do throws(Directory.Failure) {
                let directory = try Directory.existing(folder)
                guard let status = try directory.status(of: name) else {
                    throw Directory.Failure(description: "\(folder)/\(name): was removed")
                }
                // cron does not read a file whose name begins with a dot.
                try directory.replace(name, with: new, by: ".\(name).timerd-new", like: status)
            } catch { throw SwitchFault(error.description) }
        }
    }

    private static func crontab(of user: String) -> [String] {
        geteuid() == 0 ? ["crontab", "-u", user] : ["crontab"]
    }

    private func expectOwnFile(of user: String) throws(SwitchFault) {
        guard geteuid() == 0 else { return }
        guard let entry = UserDatabase.user(named: user).entry else {
            throw SwitchFault("there is no user \(user)")
        }
        for folder in ImportCrontabVerb.spoolFolders {
            var status = stat()
            let path = "\(folder)/\(user)"
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else { continue }
            let isOwn =
                status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1
                && (status.st_uid == entry.uid || status.st_uid == 0)
            guard isOwn else {
                throw SwitchFault("\(path): does not belong to \(user) alone, and cron ignores it")
            }
        }
    }
}

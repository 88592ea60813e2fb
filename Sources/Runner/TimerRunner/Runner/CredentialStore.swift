// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import HostFiles
import TimerCore

/// The credentials of active runs: a directory for each run, named after it, with a file for each
/// credential.
///
/// Only the user of a run can read them. All of them stay owned by the runner and are shared by
/// access control lists (acl(5)), so that the user can neither add nor enlarge a file in what is
/// usually a file system in memory. If the file system does not support such lists, the user
/// becomes the owner of the files.
///
/// - Complexity: linear in the number of credentials of a run; a run without any takes no system
///   call.
struct CredentialStore {
    /// The directory of all runs, with a directory for each run that has credentials.
    let path: String
    private var directory: Int32
    /// The names of the directories of runs that exist.
    private var names: Set<String> = []

    /// - Parameter path: an absolute path without a symbolic link. The directory exists, and no other user can write to
    ///   it.
    /// - Throws: if it cannot be opened.
    init(at path: String) throws(Runner.Failure) {
        self.path = path
        directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard directory >= 0 else {
            throw Runner.Failure("cannot open the directory of credentials, \(path)", errno)
        }
    }

    /// Removes what an earlier runner left there, except for these runs, which are active.
    mutating func clean(keeping runs: [Run.ID]) {
        let kept = Set(runs.map(\.description))
        for name in Descriptor.names(in: directory) {
            if kept.contains(name) { names.insert(name) } else { remove(name) }
        }
    }

    /// Stores the credentials of a run.
    ///
    /// - Parameter identity: of its user; nil: the runner's user.
    /// - Returns: the path of their directory.
    /// - Throws: if they cannot be stored, or if the user cannot read them there; nothing is left
    ///   of them then.
    mutating func add(
        _ credentials: [Credential], of run: Run.ID, for identity: Account.Identity?
    ) throws(Spawner.Failure) -> String {
        let name = run.description
        remove(name)
        names.insert(name)
        do throws(Spawner.Failure) {
            guard makeFolder(name) else {
                throw Spawner.failure(errno, "make \(path)/\(name) for credentials")
            }
            try fill(name, with: credentials, for: identity)
        } catch {
            remove(run)
            throw error
        }
        return "\(path)/\(name)"
    }

    /// False, with errno set, on an error.
    private mutating func makeFolder(_ name: String) -> Bool {
        if mkdirat(directory, name, 0o700) == 0 { return true }
        // The directory of all of them was deleted, and may have been made again.
        guard errno == ENOENT, let other = try? Self(at: path) else { return false }
        Glibc.close(directory)
        directory = other.directory
        return mkdirat(directory, name, 0o700) == 0
    }

    /// Removes the credentials of a run that is over, if it has any.
    mutating func remove(_ run: Run.ID) {
        guard !names.isEmpty, names.remove(run.description) != nil else { return }
        remove(run.description)
    }

    func close() { Glibc.close(directory) }

    private func fill(
        _ name: String, with credentials: [Credential], for identity: Account.Identity?
    ) throws(Spawner.Failure) {
        let what = "make \(path)/\(name) for credentials"
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        let own = openat(directory, name, flags)
        guard own >= 0 else { throw Spawner.failure(errno, what) }
        defer { Glibc.close(own) }
        for credential in credentials {
            guard Self.write(credential, in: own, for: identity?.user) else {
                throw Spawner.failure(errno, "write the credential \(credential.name)")
            }
        }
        guard fchmod(own, 0o500) == 0 else { throw Spawner.failure(errno, what) }
        guard let identity, let first = credentials.first else { return }
        guard cspawn_grant_read(own, identity.user, true) == 0 else {
            throw Spawner.failure(errno, what)
        }
        let file = identity.open("\(path)/\(name)/\(first.name)")
        guard file >= 0 else {
            throw Spawner.failure(
                errno,
                "read credentials in \(path) as uid \(identity.user): let that user search the directories on "
                    + "the way there, such as with chmod o+x")
        }
        Glibc.close(file)
    }

    /// False, with errno set, on an error.
    private static func write(_ credential: Credential, in directory: Int32, for user: UInt32?)
        -> Bool
    {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let file = openat(directory, credential.name, flags, 0o400)
        guard file >= 0 else { return false }
        defer { Glibc.close(file) }
        var rest = credential.bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { return false }
            rest = rest.dropFirst(max(0, count))
        }
        guard let user else { return true }
        return cspawn_grant_read(file, user, false) == 0
    }

    private func remove(_ name: String) {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        let own = openat(directory, name, flags)
        guard own >= 0 else {
            if errno != ENOENT { unlinkat(directory, name, 0) }
            return
        }
        // A runner that is not root needs write permission to remove the files.
        fchmod(own, 0o700)
        for entry in Descriptor.names(in: own) { unlinkat(own, entry, 0) }
        Glibc.close(own)
        unlinkat(directory, name, AT_REMOVEDIR)
    }
}

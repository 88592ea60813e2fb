// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import HostFiles
import TimerCore
import TimerRunnerProtocol

/// The files that are read before a run starts.
struct RunFiles: Sendable {
    /// A file of variables, with a `-` in front if it may be missing.
    var environmentFile: String?
    /// The path of each credential, by its name.
    var credentials: [String: String]
    /// The path of the file with the address of a message.
    var address: String?

    /// Nil if a run needs no files, so that it need not wait for a thread.
    init?(_ request: RunRequest) {
        let execution = request.definition.execution
        environmentFile = execution.environmentFile
        credentials = execution.credentials
        address = request.message?.credential
        guard environmentFile != nil || !credentials.isEmpty || address != nil else { return nil }
    }

    /// What the files of a run contain.
    struct Contents: Sendable {
        var variables: [String: String] = [:]
        var credentials: [Credential] = []
        var address: [UInt8]?
    }

    /// Reads all of them; this may take any time.
    ///
    /// - Parameter identity: of the user of the run; nil: the runner's user.
    func load(for identity: Account.Identity?) throws(Spawner.Failure) -> Contents {
        var contents = Contents()
        if let environmentFile {
            contents.variables = try EnvironmentFile.load(environmentFile, for: identity)
        }
        contents.credentials = try Credential.load(credentials, for: identity)
        if let address { contents.address = try Self.loadAddress(address) }
        return contents
    }

    /// Reads it with the permissions of the runner, in whose `$CREDENTIALS_DIRECTORY` it is.
    private static func loadAddress(_ path: String) throws(Spawner.Failure) -> [UInt8] {
        let what = "read the credential \(path)"
        let file = cspawn_open_file(path, nil)
        guard file >= 0 else {
            let code = errno
            let hint = code == ENOENT ? ": give it to the runner with LoadCredential=" : ""
            throw Spawner.failure(code, what + hint + RunFile.hint(for: code, nil))
        }
        return try RunFile.read(
            file, for: nil, upTo: MessageCommand.credentialBytesMax, what)
    }

    /// The files, as an error message names them.
    var description: String {
        let credentials =
            switch credentials.count {
            case 0: ""
            case 1: "the credential \(credentials.values.first ?? "")"
            default: "the \(credentials.count) credentials"
            }
        if let address { return "the credential \(address)" }
        guard let environmentFile else { return credentials }
        return "the environment file \(environmentFile)"
            + (credentials.isEmpty ? "" : " and \(credentials)")
    }
}

/// A file whose contents are passed to a run.
enum RunFile {
    /// Reads the file and closes it.
    ///
    /// It must be a regular file that is owned by root, the runner's user or the user of the run,
    /// that no other user can write to, and that has only one name.
    ///
    /// - Parameters:
    ///   - user: of the run; nil: the runner's.
    ///   - most: the most bytes that it may have.
    ///   - what: the operation, for errors.
    static func read(
        _ file: Int32, for user: UInt32?, upTo most: Int, _ what: String
    ) throws(Spawner.Failure) -> [UInt8] {
        defer { close(file) }
        try examine(file, for: user, what)
        guard let bytes = Descriptor.read(file, upTo: most) else {
            throw Spawner.failure(errno, what)
        }
        guard bytes.count <= most else {
            throw Spawner.failure(EFBIG, "\(what), which has more than \(most) bytes")
        }
        return bytes
    }

    private static func examine(
        _ file: Int32, for user: UInt32?, _ what: String
    ) throws(Spawner.Failure) {
        var status = stat()
        guard fstat(file, &status) == 0 else { throw Spawner.failure(errno, what) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Spawner.failure(EINVAL, "\(what), which is not a regular file")
        }
        guard [0, geteuid(), user].contains(status.st_uid) else {
            throw Spawner.failure(
                EPERM, "\(what), which belongs to uid \(status.st_uid): give it to the run's user")
        }
        // A user can create a second name (hard link) for a file that belongs to another user. A run
        // that is given that name would reveal a file that was not meant for it.
        guard status.st_nlink == 1 else {
            throw Spawner.failure(
                EPERM, "\(what), which has \(status.st_nlink) names (hard links): copy it")
        }
        guard status.st_mode & 0o022 == 0 else {
            throw Spawner.failure(EPERM, "\(what), which others may write to: chmod go-w it")
        }
    }

    /// The end of an error message about opening a file: what the user can do about it; empty if
    /// nothing special is known.
    static func hint(for code: Int32, _ identity: Account.Identity?) -> String {
        switch code {
        case ELOOP: return ", whose path has a symbolic link in it: name the file itself"
        case EACCES:
            guard let identity else { return "" }
            return
                ", which the run's user, uid \(identity.user), may not read: let that user read it"
        default: return ""
        }
    }
}

extension Account.Identity {
    /// Opens a file with the permissions of this user (`cspawn_open_file`).
    func open(_ path: String) -> Int32 {
        groups.withUnsafeBufferPointer { groups in
            var rights = cspawn_identity(
                user: user, group: group, groups: groups.baseAddress,
                group_count: Int32(groups.count))
            return cspawn_open_file(path, &rights)
        }
    }
}

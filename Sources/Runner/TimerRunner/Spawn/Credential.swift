// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc

/// A secret that a run gets as a file (systemd.exec(5), LoadCredential=).
struct Credential: Sendable {
    /// The most bytes of all credentials of a run together, as in systemd.
    static let bytesMax = 1 << 20

    /// The name of the file that the run gets.
    var name: String
    var bytes: [UInt8]

    /// Reads the files with the permissions of the runner, because the user of the run need not be
    /// able to read them: the author of the configuration decides what a run gets. No part of a path
    /// may be a symbolic link, because the user of the run may own a directory in the path, and
    /// could make the runner read another file.
    ///
    /// - Parameters:
    ///   - paths: the path of each credential, by its name.
    ///   - identity: of the user of the run, who may own the files; nil: the runner's user.
    static func load(
        _ paths: [String: String], for identity: Account.Identity?
    ) throws(Spawner.Failure) -> [Self] {
        var found: [Self] = []
        var room = bytesMax
        for (name, path) in paths.sorted(by: { $0.key < $1.key }) {
            let what = "read the credential \(name) from \(path)"
            let file = cspawn_open_file(path, nil)
            guard file >= 0 else {
                let code = errno
                throw Spawner.failure(code, what + RunFile.hint(for: code, nil))
            }
            let bytes = try RunFile.read(file, for: identity?.user, upTo: bytesMax, what)
            guard bytes.count <= room else {
                throw Spawner.failure(
                    EFBIG, "\(what): all credentials of a run have more than \(bytesMax) bytes")
            }
            room -= bytes.count
            found.append(Self(name: name, bytes: bytes))
        }
        return found
    }
}

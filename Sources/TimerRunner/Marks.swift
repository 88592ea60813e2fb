// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore

/// The directory of marks: an empty file for each run that was begun and is not forgotten, so that after a
/// crash a run without one is known never to have begun.
final class Marks: Sendable {
    private let directory: Int32

    /// Marks in the directory behind `descriptor`, through a descriptor of its own.
    init(in descriptor: Int32) throws(Runner.Failure) {
        directory = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard directory >= 0 else {
            throw Runner.Failure("cannot keep the directory of marks open", errno)
        }
    }

    deinit { close(directory) }

    /// Says that the run is begun, before it is. A run whose mark is there was begun before.
    func make(for run: Run.ID) throws(Spawner.Failure) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let file = openat(directory, run.description, flags, 0o600)
        guard file >= 0 else {
            guard errno != EEXIST else { throw Spawner.Failure(outcome: .lost(.daemon)) }
            throw Spawner.failure(errno, "mark the run")
        }
        close(file)
    }

    /// Takes the mark away; it may be gone already.
    func remove(_ run: Run.ID) { unlinkat(directory, run.description, 0) }

    /// The names of all marks in a directory.
    static func names(in directory: Int32) -> Set<String> {
        // Through an open file of its own: closedir(3) closes it, and it has its own position.
        let copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { return [] }
        guard let listing = fdopendir(copy) else {
            close(copy)
            return []
        }
        defer { closedir(listing) }
        var names: Set<String> = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.insert(name) }
        }
        return names
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostThreads

/// How the files of `jobs.d` are parsed: each when its jobs are decoded, or, of large files, the
/// next one on a thread of its own meanwhile. The jobs of one file are decoded in about the time in
/// which the next one is parsed.
struct Parsing {
    /// Whether the next file is parsed meanwhile.
    var isAhead: Bool

    /// Smaller files are parsed faster than a thread is started.
    private static let bytesMin = 64 << 10

    /// A file that was read.
    enum File {
        /// Its contents, which have this hash, are known.
        case unchanged(Int)
        /// The parsed contents, which may have to be waited for, and their hash.
        case document(() -> Result<Document, ConfigError>, Int)
    }

    /// Calls `take` with each file, in their order.
    func each(
        of files: [ConfigFiles.Other],
        read: (ConfigFiles.Other) throws(ConfigError) -> File,
        take: (ConfigFiles.Other, Result<File, ConfigError>) -> Void
    ) {
        var next = files.first.map { file in Result { () throws(ConfigError) in try read(file) } }
        for (index, file) in files.enumerated() {
            guard let this = next else { return }
            let isLast = index + 1 == files.count
            next = isLast ? nil : Result { () throws(ConfigError) in try read(files[index + 1]) }
            take(file, this)
        }
    }

    /// The parsed contents of a file, which may have to be waited for.
    func document(of bytes: [UInt8], in file: String) -> () -> Result<Document, ConfigError> {
        let parse = { @Sendable in
            Result { () throws(ConfigError) in try Document(bytes: bytes, file: file) }
        }
        guard isAhead, bytes.count >= Self.bytesMin else { return parse }
        let computation = Computation("timerd.parser", parse)
        return { computation.value() }
    }
}

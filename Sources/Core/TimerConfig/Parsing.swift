// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostThreads

/// How the files of `jobs.d` are parsed: each when its jobs are decoded, or, of large files, the
/// next one on a thread of its own meanwhile. The jobs of one file are decoded in about the time in
/// which the next one is parsed.
struct Parsing {
    /// Whether the next file is parsed on another thread meanwhile.
    var isAhead: Bool

    /// Smaller files are parsed faster than a thread is started.
    private static let bytesMin = 64 << 10

    /// A file that was read, parsed or not.
    enum File {
        /// Its contents, which have this hash, are known.
        case unchanged(Int)
        /// Its contents, parsed or to be parsed, and their hash.
        case contents(Contents, Int)
    }

    /// The contents of a file that is read.
    enum Contents {
        case bytes([UInt8], file: String)
        case computation(Computation<Result<Document, ConfigError>>)

        /// The parsed contents, which may have to be waited for.
        func document() throws(ConfigError) -> Document {
            switch self {
            case .bytes(let bytes, let file): try Document(bytes: bytes, file: file)
            case .computation(let computation): try computation.value().get()
            }
        }
    }

    /// Calls `take` with each file, in their order, and with how many follow it.
    func each(
        of files: [ConfigFiles.Other],
        read: (ConfigFiles.Other) throws(ConfigError) -> File,
        take: (ConfigFiles.Other, Result<File, ConfigError>, _ following: Int) -> Void
    ) {
        var next = files.first.map { file in Result { () throws(ConfigError) in try read(file) } }
        for (index, file) in files.enumerated() {
            guard let this = next else { return }
            let following = files.count - index - 1
            next =
                following == 0
                ? nil : Result { () throws(ConfigError) in try read(files[index + 1]) }
            take(file, this, following)
        }
    }

    /// The contents of a file, which are being parsed if it is large.
    func contents(_ bytes: [UInt8], of file: String) -> Contents {
        guard isAhead, bytes.count >= Self.bytesMin else { return .bytes(bytes, file: file) }
        return .computation(
            Computation("timerd.parser") {
                Result { () throws(ConfigError) in try Document(bytes: bytes, file: file) }
            })
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// A command resolved to the files to try and the arguments.
struct Program {
    /// The program as the command names it, for errors.
    var name: String
    var candidates: [String]
    var arguments: [String]

    /// A name without a slash is searched in `path`, which is the PATH of the job itself. An empty
    /// directory there is the job's working directory (POSIX, 8.3).
    init(_ command: Job.Command, path: String) {
        switch command {
        case .shell(let line): arguments = ["/bin/sh", "-c", line]
        case .arguments(let given): arguments = given
        }
        name = arguments.first ?? ""
        candidates =
            name.isEmpty || name.utf8.contains(UInt8(ascii: "/"))
            ? [name]
            : path.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map {
                [name] in $0.isEmpty ? "./\(name)" : "\(Substring($0))/\(name)"
            }
    }
}

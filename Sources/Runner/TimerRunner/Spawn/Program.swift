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
    ///
    /// - Parameter added: what is appended for this run. A shell does not parse it: it is `$1` and so
    ///   on in its line, whose `$0` stays what it is without.
    init(_ command: Job.Command, appending added: RunArguments = RunArguments(), path: String) {
        switch command {
        case .shell(let line):
            let shell = "/bin/sh"
            arguments = [shell, "-c", line] + (added.isEmpty ? [] : [shell] + added.words)
        case .arguments(let given): arguments = given + added.words
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

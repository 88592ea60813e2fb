// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerControl

/// Errors as JSON, one line on standard error. Standard output has only results, as with kubectl,
/// gh and docker.
enum ErrorOutput {
    /// Whether the command line asks for JSON. This is computed before the command line is parsed,
    /// so that errors in it have the same form.
    static let isJSON = asksForJSON(CommandLine.arguments.dropFirst())

    static func asksForJSON(_ arguments: ArraySlice<String>) -> Bool {
        let options = arguments.prefix { $0 != "--" }
        let formats = ["json", "jsonl"]
        return options.contains("--json")
            || zip(options, options.dropFirst()).contains { name, value in
                ["-o", "--output"].contains(name) && formats.contains(value)
            }
            || options.contains { option in
                formats.contains { option == "-o\($0)" || option == "--output=\($0)" }
            }
    }

    static func write(_ error: ErrorReply) {
        // An error of plain strings cannot fail to encode.
        let line = (try? ControlJSON.encode(error)) ?? []
        Terminal.write(
            Array((Printable.json(String(decoding: line, as: UTF8.self)) + "\n").utf8),
            to: STDERR_FILENO)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Usage {
    /// Reads this program's command line, does what it says, and ends the program: with 0, with the status of
    /// an `ExitStatus`, or with 64 and a word about what may be given.
    public func main(_ body: (Given) throws -> Void) -> Never {
        var command: Usage?
        do {
            switch try read(Array(CommandLine.arguments.dropFirst())) {
            case .say(let text): print(text)
            case .run(let given):
                command = commands.first { $0.name == given.command }
                try body(given)
            }
        } catch let status as ExitStatus {
            exit(status.code)
        } catch {
            let word = CommandLine.arguments.dropFirst().first
            command = command ?? commands.first { $0.name == word }
            let program = command == nil ? nil : name
            let path = [program, command?.name ?? name].compactMap { $0 }.joined(separator: " ")
            complain("\(name): \(error)")
            complain("Usage: \((command ?? self).synopsis(within: program))")
            complain("  `\(path) --help` says more.")
            exit(ExitStatus.usage.code)
        }
        exit(0)
    }

    private func complain(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}

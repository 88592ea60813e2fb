// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What is wrong with one source. The others are switched nevertheless.
struct SwitchFault: Error {
    /// What is wrong and what to do next, without the name of the source.
    var message: String

    init(_ message: String) { self.message = message }
}

/// The programs that a switch asks and commands.
enum Tool {
    /// The same for each user, so that only the machine decides what is executed.
    private static let environment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"]

    /// Runs a program until it ends.
    ///
    /// - Throws: if it cannot be started.
    static func run(_ arguments: [String], input: [UInt8] = []) throws(SwitchFault) -> Program {
        do throws(Program.Failure) {
            return try Program.run(arguments, input: input, in: environment)
        } catch { throw SwitchFault(error.message) }
    }

    /// The same for a program that must succeed.
    @discardableResult
    static func done(_ arguments: [String], input: [UInt8] = []) throws(SwitchFault) -> [UInt8] {
        let tool = try run(arguments, input: input)
        guard tool.code == 0 else {
            throw SwitchFault(
                "`\(arguments.joined(separator: " "))` failed with \(tool.code): \(tool.complaint)")
        }
        return tool.output
    }
}

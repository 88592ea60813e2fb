// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Synchronization
import TimerControl
import TimerCore

enum Terminal {
    /// The wall clock, with microseconds.
    static var now: WallInstant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallInstant(
            microsecondsSinceEpoch: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }

    /// The environment variables that say where a user's own daemon listens.
    static var environment: [String: String] {
        let name = "XDG_RUNTIME_DIR"
        return getenv(name).map { [name: String(cString: $0)] } ?? [:]
    }

    /// Writes to standard output or error, at once. If the reader is gone, this program ends, as
    /// with other writes.
    static func put(_ text: String, toError: Bool = false) {
        write(Array(text.utf8), to: toError ? STDERR_FILENO : STDOUT_FILENO)
    }

    /// Whether times are exact and nothing is left out of tables (--full).
    static let isFull = CommandLine.arguments.dropFirst().prefix { $0 != "--" }.contains("--full")

    /// The errno of the first write to standard output that failed; 0: none did.
    private static let outputFault = Atomic<Int32>(0)

    /// Whether standard output cannot be written, so that there is no point in going on with it.
    static var isOutputLost: Bool { outputFault.load(ordering: .relaxed) != 0 }

    /// Writes all of the bytes, or as many as possible.
    static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else {
                if descriptor == STDOUT_FILENO { noteOutputFault(errno) }
                return
            }
            rest = rest.dropFirst(max(0, count))
        }
    }

    private static func noteOutputFault(_ code: Int32) {
        _ = outputFault.compareExchange(expected: 0, desired: code, ordering: .relaxed)
    }

    /// Opens what is closed of the standard descriptors, so that no file and no socket gets its
    /// number and with it what is meant for a terminal. Using such a descriptor is still an error.
    static func completeDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest number that is free is this one.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Called when everything is printed.
    ///
    /// - Throws: if not all of it could be written, which is then said on standard error.
    static func finish() throws {
        let fault = clinux_output_fault()
        if fault != 0 { noteOutputFault(fault) }
        let code = outputFault.load(ordering: .relaxed)
        guard code != 0 else { return }
        throw Connection.fail(
            1, "standard output cannot be written: \(String(cString: strerror(code)))")
    }

    /// The value of TIMERD_SOCKET; nil if it is not set or empty.
    static var socket: String? {
        getenv("TIMERD_SOCKET").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether a question can be asked: standard input and standard error are a terminal.
    static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// Asks a question, and returns if the answer is yes; otherwise says so and throws the exit status 1.
    ///
    /// - Parameters:
    ///   - question: such as `End it?`.
    ///   - text: what the user must know for the answer.
    static func confirm(_ question: String, about text: String) throws {
        write(Array("\(text)\n\(question) (y/N) ".utf8), to: STDERR_FILENO)
        guard ["y", "yes"].contains(readLine()?.lowercased() ?? "") else {
            throw Connection.fail(1, "nothing was changed")
        }
    }

    /// The output of a job. On a terminal it contains no control sequences; into a file or a pipe
    /// it is unchanged.
    static func shown(_ text: String, toError: Bool = false) -> String {
        isatty(toError ? STDERR_FILENO : STDOUT_FILENO) == 1 ? Printable.text(text) : text
    }

    /// Prints a message on standard error, without characters that could control the terminal.
    static func complain(_ message: String) {
        write(Array((Printable.lines(message) + "\n").utf8), to: STDERR_FILENO)
    }
}

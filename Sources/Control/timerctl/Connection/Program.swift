// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import HostFiles

/// A program that has ended, with what it wrote.
struct Program {
    /// Why a program cannot be started, as a sentence.
    struct Failure: Error { var message: String }

    /// Its exit code; 128 and more if a signal ended it.
    var code: Int32
    var output: [UInt8]
    /// The first line of its standard error, or of its output if that is empty.
    var complaint: String

    /// The most bytes of its output that are read.
    private static let bytesMax = 16 << 20
    /// The most bytes of an output that is used as a text.
    private static let textMax = 65_536

    /// The standard output of the program; nil if it cannot be started, fails, or writes more than
    /// 64 KiB. It is searched in PATH, and has the environment of this process.
    static func output(of arguments: [String]) -> String? {
        do throws(Failure) {
            let program = try run(arguments, in: nil)
            guard program.code == 0, program.output.count <= textMax else { return nil }
            return String(decoding: program.output, as: UTF8.self)
        } catch {
            return nil
        }
    }

    /// Runs a program until it ends. Its input and its output are files in memory: if this process is killed, the
    /// program has all of its input nevertheless.
    ///
    /// - Parameter environment: its variables; nil: those of this process.
    /// - Throws: if it cannot be started.
    static func run(
        _ arguments: [String], input: [UInt8] = [], in environment: [String]?
    ) throws(Failure) -> Program {
        let files = (0..<3).map { _ in clinux_memory_file("timerctl") }
        defer { for file in files where file >= 0 { close(file) } }
        guard files.allSatisfy({ $0 >= 0 }), write(input, to: files[0]) else {
            throw Failure(message: "no memory for a file: \(systemError())")
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (index, file) in files.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, file, Int32(index))
        }
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] =
            (environment ?? []).map { strdup($0) } + [nil]
        defer { for word in words + variables { free(word) } }
        var child = pid_t()
        let code =
            environment == nil
            ? posix_spawnp(&child, arguments[0], &actions, nil, &words, environ)
            : posix_spawnp(&child, arguments[0], &actions, nil, &words, &variables)
        guard code == 0 else {
            throw Failure(message: "\(arguments[0]) cannot be started: \(systemError(code))")
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        let output = read(files[1])
        let errors = read(files[2])
        return Program(
            code: status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f, output: output,
            complaint: firstLine(errors.isEmpty ? output : errors))
    }

    private static func write(_ bytes: [UInt8], to file: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { return false }
            rest = rest.dropFirst(max(0, count))
        }
        return lseek(file, 0, SEEK_SET) == 0
    }

    private static func read(_ file: Int32) -> [UInt8] {
        lseek(file, 0, SEEK_SET)
        return Descriptor.read(file, upTo: bytesMax) ?? []
    }

    private static func firstLine(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.prefix { $0 != 10 }.prefix(500), as: UTF8.self)
    }
}

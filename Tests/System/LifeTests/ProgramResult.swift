// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// What a program wrote, and the status with which it ended.
struct ProgramResult {
    var status: Int32
    /// Its standard output.
    var output: String
    /// Its standard error.
    var errors: String

    /// Runs one of the built programs, such as `timerctl`, until it ends.
    ///
    /// - Parameters:
    ///   - environment: all of its variables; nil: those of the tests.
    ///   - input: its standard input.
    init(
        of program: String, _ arguments: [String], environment: [String: String]? = nil,
        input: String = ""
    ) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "\(LiveDaemon.programs)/\(program)")
        process.arguments = arguments
        if let environment { process.environment = environment }
        let (stdin, stdout) = (Pipe(), Pipe())
        // A file, because a program that fills one pipe would wait while the other one is read.
        let errorFile = try Self.temporaryFile()
        process.standardInput = stdin
        process.standardOutput = stdout
        process.standardError = errorFile
        try process.run()
        try stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try stdin.fileHandleForWriting.close()
        let output = stdout.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try errorFile.seek(toOffset: 0)
        status = process.terminationStatus
        self.output = String(decoding: output, as: UTF8.self)
        errors = String(decoding: errorFile.readDataToEndOfFile(), as: UTF8.self)
    }

    /// An empty file without a name. It is removed when it is closed.
    private static func temporaryFile() throws -> FileHandle {
        var path = Array("/tmp/timerd-test-XXXXXX".utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(&path)
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}

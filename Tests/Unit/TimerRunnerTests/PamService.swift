// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Dispatch
import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// A PAM service for one test, and a folder for the files that its modules write. libpam only reads
/// the services of the system, so the service has a unique name and is removed afterwards.
final class PamService: Sendable {
    let name = "timerd-test-\(UUID().uuidString.lowercased())"
    let folder: String
    private let path: String

    /// Whether it can be created: this needs root, PAM's own modules and the program that this
    /// package builds.
    static var isPossible: Bool {
        let modules = ["/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64"]
        return geteuid() == 0 && access("/etc/pam.d", W_OK) == 0
            && modules.contains { access("\($0)/security/pam_exec.so", R_OK) == 0 }
            && Spawner.helpers.contains { access($0, X_OK) == 0 }
    }

    /// - Parameter rules: the lines for accounts and sessions; LOG is a module that records for
    ///   what it was called, and FOLDER the folder. Everything else is allowed.
    init(_ rules: String) throws {
        folder = "/tmp/\(name)"
        path = "/etc/pam.d/\(name)"
        mkdir(folder, 0o755)
        let logger = """
            #!/bin/sh
            echo "$PAM_TYPE $PAM_USER $PAM_TTY" >>\(folder)/log
            tr '\\0' '\\n' </proc/$PPID/environ >>\(folder)/environ
            tr '\\0' '\\n' </proc/$PPID/cmdline >>\(folder)/environ
            """
        try write(logger, to: "logger")
        chmod("\(folder)/logger", 0o755)
        let text = """
            auth required pam_permit.so
            account required pam_permit.so
            session required pam_permit.so

            """
        let lines = rules.replacing("LOG", with: "pam_exec.so \(folder)/logger")
            .replacing("FOLDER", with: folder)
        try (text + lines + "\n").write(toFile: path, atomically: true, encoding: .utf8)
    }

    deinit {
        unlink(path)
        try? FileManager.default.removeItem(atPath: folder)
    }

    func write(_ text: String, to file: String) throws {
        try "\(text)\n".write(toFile: "\(folder)/\(file)", atomically: true, encoding: .utf8)
    }

    func lines(of file: String) -> [String] {
        let text = try? String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
        return (text ?? "").split(separator: "\n").map(String.init)
    }

    /// The calls of its modules.
    var log: [String] { lines(of: "log") }
}

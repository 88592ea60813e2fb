// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import timerctl

/// What `timerctl metrics --output` does with files.
@Suite struct FileReplacementTests {
    private let folder = "/tmp/timerd-replace-\(UUID().uuidString)"

    init() { mkdir(folder, 0o700) }

    private func clean() { try? FileManager.default.removeItem(atPath: folder) }

    private func write(_ text: String, to name: String) throws(FileReplacement.Failure) {
        try FileReplacement.write(Array(text.utf8), to: "\(folder)/\(name)")
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
    }

    @Test func theFileHasTheContentAndMode0644_andNothingElseIsLeft() throws {
        defer { clean() }
        try write("one\n", to: "x.prom")
        try write("two\n", to: "x.prom")
        var status = stat()
        #expect(stat("\(folder)/x.prom", &status) == 0)
        #expect(status.st_mode & 0o7777 == 0o644)
        #expect(try String(contentsOfFile: "\(folder)/x.prom", encoding: .utf8) == "two\n")
        #expect(try names == ["x.prom"])
    }

    /// The directory may belong to a user who is not to be trusted.
    @Test func aLinkIsReplacedAndNotFollowed() throws {
        defer { clean() }
        try "secret".write(toFile: "\(folder)/target", atomically: false, encoding: .utf8)
        #expect(symlink("target", "\(folder)/x.prom") == 0)
        #expect(symlink("target", "\(folder)/.x.prom.\(getpid())") == 0)
        try write("new", to: "x.prom")
        #expect(try String(contentsOfFile: "\(folder)/target", encoding: .utf8) == "secret")
        #expect(try String(contentsOfFile: "\(folder)/x.prom", encoding: .utf8) == "new")
        #expect(try names == ["target", "x.prom"])
    }

    @Test(arguments: ["", "missing/x.prom", "folder", ".", ".."])
    func whatCannotBeReplacedIsSaid_andNothingIsLeft(name: String) throws {
        defer { clean() }
        #expect(mkdir("\(folder)/folder", 0o700) == 0)
        #expect(throws: FileReplacement.Failure.self) { try write("new", to: name) }
        #expect(try names == ["folder"])
    }
}

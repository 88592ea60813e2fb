// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// `timerctl edit`, with editors that are scripts.
@Suite struct EditTests {
    private let jobs = "[job.a]\nevery = \"1h\"\nshell = \"true\"\n"

    /// A daemon with a job in each of two files.
    private func make() throws -> LiveDaemon {
        let daemon = try LiveDaemon(jobs)
        mkdir("\(daemon.folder)/jobs.d", 0o755)
        try write(jobs.replacing("job.a", with: "job.b"), to: other(daemon), 0o640)
        return daemon
    }

    private func other(_ daemon: LiveDaemon) -> String { "\(daemon.folder)/jobs.d/b.toml" }

    private func write(_ text: String, to path: String, _ mode: mode_t) throws {
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        chmod(path, mode)
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: path, encoding: .utf8)
    }

    /// Runs `timerctl edit`.
    ///
    /// - Parameters:
    ///   - editor: the lines of a script; the file is the last argument, `$file`.
    ///   - answers: what a person says at a terminal; nil: there is no terminal.
    private func edit(
        _ daemon: LiveDaemon, _ arguments: [String] = [], editor: String, answers: String? = nil
    ) throws -> (status: Int32, text: String) {
        let script = "\(daemon.folder)/vi"
        try write("#!/bin/sh\nfor file; do :; done\n\(editor)\n", to: script, 0o755)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "\(LiveDaemon.programs)/timerctl")
        process.arguments = ["edit"] + arguments + ["--socket", daemon.socket]
        process.environment = ["PATH": "/usr/bin:/bin", "EDITOR": script, "TMPDIR": daemon.folder]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        process.standardInput = FileHandle.nullDevice
        let terminal = answers.map { _ in open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC) }
        defer { if let terminal { close(terminal) } }
        if let terminal, let answers {
            // TIOCSPTLCK and TIOCGPTN of ioctl_tty(2).
            var (isLocked, number): (Int32, Int32) = (0, 0)
            #expect(ioctl(terminal, 0x4004_5431, &isLocked) == 0)
            #expect(ioctl(terminal, 0x8004_5430, &number) == 0)
            let other = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
            process.standardInput = FileHandle(fileDescriptor: other, closeOnDealloc: true)
            #expect(Glibc.write(terminal, answers, answers.utf8.count) == answers.utf8.count)
        }
        try process.run()
        let text = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }

    @Test func aGoodEditIsShown_replacesTheFileWithItsOwnerAndMode_andIsReloaded() throws {
        let daemon = try make()
        try daemon.start()
        let found = try edit(
            daemon, ["b"],
            editor: "echo \"$1\" > \(daemon.folder)/line; sed -i s/1h/2h/ \"$file\"")
        #expect(found.status == 0, "\(found.text)")
        #expect(found.text == "changed: b\nchanged: b\nunchanged: 1\n")
        #expect(try text(other(daemon)).contains("every = \"2h\""))
        #expect(try text("\(daemon.folder)/line") == "+1\n")
        var status = stat()
        #expect(stat(other(daemon), &status) == 0 && status.st_mode & 0o7777 == 0o640)
        #expect(try daemon.show("b").everyUsec == 7_200_000_000)
        // The main file, and a link, which stays one.
        rename(daemon.config, "\(daemon.folder)/real.toml")
        #expect(symlink("real.toml", daemon.config) == 0)
        let main = try edit(daemon, editor: "sed -i s/job.a/job.new/ \"$file\"")
        #expect(main.text.hasPrefix("added: new\nremoved: a\n"), "\(main.text)")
        #expect(try daemon.show("new").state == "armed")
        #expect(lstat(daemon.config, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        // Without a change nothing is reloaded.
        let none = try edit(daemon, ["new"], editor: ":")
        #expect(none.status == 0 && none.text == "\(daemon.config): not changed\n")
        let left = try FileManager.default.contentsOfDirectory(atPath: daemon.folder)
        #expect(!left.contains { $0.contains("edit") }, "\(left)")
        #expect(daemon.stop() == 0)
    }

    @Test func anErrorChangesNothing_andIsEditedAgainAtATerminal() throws {
        let daemon = try make()
        try daemon.start()
        let before = try text(other(daemon))
        let found = try edit(daemon, ["b"], editor: "sed -i s/every/evry/ \"$file\"")
        #expect(found.status == 1)
        #expect(found.text.contains("jobs.d/b.toml:2:1: job \"b\": unknown key \"evry\""))
        #expect(found.text.contains("b.toml was not changed; your text is in \(daemon.folder)/"))
        #expect(try text(other(daemon)) == before)
        // The second time it is right.
        let again = try edit(
            daemon, ["b"],
            editor:
                "if grep -q evry \"$file\"; then sed -i 's/evry = .1h/every = \"3h/' \"$file\"; "
                + "else sed -i s/every/evry/ \"$file\"; fi", answers: "y\n")
        #expect(again.status == 0, "\(again.text)")
        #expect(again.text.contains("Edit it again? [Y/n]"))
        #expect(try daemon.show("b").everyUsec == 10_800_000_000)
        let no = try edit(daemon, ["b"], editor: "echo x > \"$file\"", answers: "n\n")
        #expect(no.status == 1 && no.text.contains("your text is in"))
        #expect(daemon.stop() == 0)
    }

    @Test func aFileThatAnotherProgramChangedMeanwhileIsNotReplaced() throws {
        let daemon = try make()
        try daemon.start()
        let found = try edit(
            daemon, ["b"],
            editor: "sed -i s/1h/2h/ \"$file\"; sed -i s/1h/5h/ \(other(daemon))")
        #expect(found.status == 1)
        #expect(found.text.contains("was changed by another program meanwhile"), "\(found.text)")
        #expect(try text(other(daemon)).contains("5h"))
        let failed = try edit(daemon, editor: "exit 3")
        #expect(failed.status == 1 && failed.text.contains("ended with the status 3"))
        #expect(daemon.stop() == 0)
    }

    /// The file of a job cannot be found if it cannot be read: it is named.
    @Test func aBrokenFileIsNamed_andOthersCanBeEditedMeanwhile() throws {
        let daemon = try make()
        try daemon.start()
        try write("[!", to: other(daemon), 0o640)
        let unknown = try edit(daemon, ["b"], editor: ":")
        #expect(unknown.status == 1 && unknown.text.contains("--file"), "\(unknown.text)")
        let found = try edit(daemon, ["a"], editor: "sed -i s/1h/2h/ \"$file\"")
        #expect(found.text.hasPrefix("changed: a\n"), "\(found.text)")
        #expect(found.status == 1 && found.text.contains("was refused; its jobs stay as they are"))
        #expect(try daemon.show("a").everyUsec == 7_200_000_000)
        let mended = try edit(
            daemon, ["--file", other(daemon)],
            editor: "printf '[job.b]\\nevery = \"4h\"\\nshell = \"true\"\\n' > \"$file\"")
        #expect(mended.status == 0, "\(mended.text)")
        #expect(try daemon.show("b").everyUsec == 14_400_000_000)
        #expect(daemon.stop() == 0)
    }

    @Test(.enabled(if: geteuid() != 0, "root may write everywhere"))
    func withoutTheRightToWriteNoEditorIsOpened() throws {
        let daemon = try make()
        try daemon.start()
        chmod("\(daemon.folder)/jobs.d", 0o555)
        let found = try edit(daemon, ["b"], editor: "echo opened")
        #expect(found.status == 1 && found.text.contains("cannot be replaced: Permission denied"))
        #expect(!found.text.contains("opened"))
        chmod("\(daemon.folder)/jobs.d", 0o755)
        #expect(daemon.stop() == 0)
    }
}

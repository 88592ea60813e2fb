// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// `timerctl edit`, with editors that are scripts.
@Suite(.ownThreads) struct EditTests {
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
    ///   - answers: what a user types at a terminal; nil if there is no terminal.
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
        // The main file, and a link, which is kept as a link.
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
        // The second edit is valid.
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
        #expect(!failed.text.contains("your text is in"), "there is none")
        let changed = try edit(daemon, editor: "echo >> \"$file\"; exit 3")
        #expect(changed.status == 1 && changed.text.contains("your text is in"))
        #expect(daemon.stop() == 0)
    }

    @Test func anEditorThatIsMissing_orRemovesTheCopy_leavesNothing() throws {
        let daemon = try make()
        try daemon.start()
        let before = try text(daemon.config)
        let removed = try edit(daemon, editor: "rm \"$file\"")
        #expect(removed.status == 1 && removed.text.contains("the editor removed"))
        let missing = try edit(daemon, editor: "exit 127")
        #expect(missing.status == 1 && missing.text.contains("set EDITOR to one"))
        #expect(try text(daemon.config) == before)
        let left = try FileManager.default.contentsOfDirectory(atPath: daemon.folder)
        #expect(!left.contains { $0.contains("edit") }, "\(left)")
        #expect(daemon.stop() == 0)
    }

    /// What counts is what is in the file in the end: one that was told that it is done must be in it.
    @Test func ofSeveralWhoEditOneFileAtOnceNoneLosesWhatWasAccepted() throws {
        let daemon = try make()
        try daemon.start()
        let script = "\(daemon.folder)/add"
        try write(
            """
            #!/bin/sh
            for file; do :; done
            touch "$READY"
            while [ ! -e "$GO" ]; do sleep 0.01; done
            printf '[job.%s]\\nevery = "1h"\\nshell = "true"\\n' "$NAME" >> "$file"

            """, to: script, 0o755)
        let processes = try (0..<4).map { number in
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "\(LiveDaemon.programs)/timerctl")
            process.arguments = ["edit", "--socket", daemon.socket]
            process.environment = [
                "PATH": "/usr/bin:/bin", "EDITOR": script, "TMPDIR": daemon.folder,
                "NAME": "e\(number)", "READY": "\(daemon.folder)/ready\(number)",
                "GO": "\(daemon.folder)/go",
            ]
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
            return process
        }
        let areReady = daemon.wait {
            (0..<4).allSatisfy { access("\(daemon.folder)/ready\($0)", F_OK) == 0 }
        }
        #expect(areReady)
        try write("", to: "\(daemon.folder)/go", 0o600)
        for process in processes { process.waitUntilExit() }
        let found = try text(daemon.config)
        var accepted = 0
        for (number, process) in processes.enumerated() {
            let isDone = process.terminationStatus == 0
            accepted += isDone ? 1 : 0
            #expect(found.contains("[job.e\(number)]") == isDone, "\(number)")
        }
        #expect(accepted == 1, "each has edited the same text")
        #expect(daemon.stop() == 0)
    }

    @Test func asJSONNothingElseIsOnStandardOutput() throws {
        let daemon = try make()
        try daemon.start()
        func json(_ editor: String) throws -> (status: Int32, text: String) {
            let script = "\(daemon.folder)/vi"
            try write("#!/bin/sh\nfor file; do :; done\n\(editor)\n", to: script, 0o755)
            let result = try ProgramResult(
                of: "timerctl", ["edit", "b", "--json", "--socket", daemon.socket],
                environment: [
                    "PATH": "/usr/bin:/bin", "EDITOR": script, "TMPDIR": daemon.folder,
                ])
            return (result.status, result.output)
        }
        func reply(_ text: String) throws -> ReloadReply {
            try ControlJSON.decode(ReloadReply.self, from: Array(text.utf8))
        }
        let changed = try json("echo talks; sed -i s/1h/2h/ \"$file\"")
        #expect(changed.status == 0)
        #expect(try reply(changed.text).redefined.map(\.job) == ["b"], "\(changed.text)")
        let same = try json("echo talks")
        #expect(same.status == 0)
        #expect(try reply(same.text) == ReloadReply(added: [], redefined: [], removed: [], kept: 2))
        let wrong = try json("echo talks; echo x >> \"$file\"")
        #expect(wrong.status == 1 && wrong.text.isEmpty, "\(wrong.text)")
        #expect(daemon.stop() == 0)
    }

    /// The path that the daemon was given may be relative to a directory in which timerctl is not.
    @Test func theConfigurationOfADaemonThatWasStartedInAnotherDirectoryIsFound() throws {
        let daemon = try make()
        daemon.configArgument = "timerd.toml"
        try daemon.start()
        #expect(try daemon.timerctl("list", "--json").text.contains("\"\(daemon.config)\""))
        let found = try edit(daemon, ["a"], editor: "sed -i s/1h/2h/ \"$file\"")
        #expect(found.status == 0, "\(found.text)")
        #expect(try daemon.show("a").everyUsec == 7_200_000_000)
        #expect(daemon.stop() == 0)
    }

    /// The file of a job cannot be found if it cannot be read; the error names it.
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

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerImport

@Suite struct UnitFileTests {
    private func contents(_ text: String) -> [UnitFile.Content] {
        UnitFile(path: "a.timer", bytes: Array(text.utf8)).lines.map(\.content)
    }

    private func values(_ text: String) -> [String] {
        contents("[S]\n" + text).compactMap {
            if case .assignment(_, let key, let value) = $0 { "\(key)=\(value)" } else { nil }
        }
    }

    /// The example of systemd.syntax(7).
    @Test func readsTheExampleOfTheManual() {
        let lines = contents(
            """
            [Section A]
            KeyOne=value 1
            KeyTwo=value 2

            # a comment

            [Section B]
            Setting="something" "some thing" "..."
            KeyTwo=value 2 \\
                   value 2 continued

            [Section C]
            KeyThree=value 3\\
            # this line is ignored
            ; this line is ignored too
                   value 3 continued
            """)
        let assignments = lines.compactMap { line -> String? in
            guard case .assignment(let section, let key, let value) = line else { return nil }
            return "\(section).\(key)=\(value)"
        }
        #expect(
            assignments == [
                "Section A.KeyOne=value 1", "Section A.KeyTwo=value 2",
                "Section B.Setting=\"something\" \"some thing\" \"...\"",
                "Section B.KeyTwo=value 2         value 2 continued",
                "Section C.KeyThree=value 3        value 3 continued",
            ])
    }

    @Test(arguments: [
        ("A = b ", ["A=b"]), (" A=b=c", ["A=b=c"]), ("A=", ["A="]), ("A=b # c", ["A=b # c"]),
        ("A=b\\\\", ["A=b\\\\"]), ("A=b\\\nB=c", ["A=b B=c"]), ("A=b\\", ["A=b"]),
        ("A=b\\\n\nB=c", ["A=b", "B=c"]), ("A=b\r\nB=c\r\n", ["A=b", "B=c"]),
        ("A\0B=c", ["B=c"]), (" # A=b", []), (";A=b", []),
    ])
    func readsAssignments(text: String, expected: [String]) {
        #expect(values(text) == expected)
    }

    @Test func eachLineIsInOneOfTheParts() {
        let file = UnitFile(
            path: "f", bytes: Array("\u{feff}x=1\n[A]\nB=1\\\n# c\n2\nC\n=D\n\n[E".utf8))
        #expect(file.lines.map(\.place.line) == [1, 2, 4, 3, 6, 7, 8, 9])
        #expect(
            file.lines.map(\.content) == [
                .ignored("it is before the first section"), .section("A"), .comment,
                .assignment(section: "A", key: "B", value: "1 2"), .ignored("it has no ="),
                .ignored("there is no key before ="), .comment,
                .fatal("the section has no ] at its end"),
            ])
        #expect(file.lines[3].text == "B=1\\\n2")
    }

    @Test func bytesThatAreNoTextAreIgnored() {
        let file = UnitFile(
            path: "f", bytes: Array("[A]\nB=".utf8) + [0xff, 10] + Array("C=1".utf8))
        #expect(
            file.lines.map(\.content) == [
                .section("A"), .ignored("it is not UTF-8"),
                .assignment(section: "A", key: "C", value: "1"),
            ])
    }

    @Test func aLineHasAtMostOneMebibyte() {
        let text = "[A]\nB=" + String(repeating: "x", count: 1 << 20)
        #expect(contents(text).last == .fatal("the line is longer than 1 MiB"))
    }
}

@Suite struct UnitWordsTests {
    @Test(arguments: [
        ("a b", ["a", "b"]), ("  a\tb ", ["a", "b"]), ("", []), ("\"\"", [""]),
        (#""a b" 'c d'"#, ["a b", "c d"]), (#"a"b c"d"#, ["ab cd"]), (#"'a\x20b'"#, ["a b"]),
        (#"\x41\102\u00e9\U0001F600"#, ["ABé😀"]), (#"\xc3\xa9"#, ["é"]), (#"a\sb\tc"#, ["a b\tc"]),
        (#"\\ \" \'"#, ["\\", "\"", "'"]), (#"\q"#, ["\\q"]), (#"\x00"#, ["\\x00"]),
        (#"\x4"#, ["\\x4"]), (#""a'b" 'c"d'"#, ["a'b", "c\"d"]), (#"\8"#, ["\\8"]),
        (#"a b\"#, ["a", "b\\"]),
    ])
    func splitsLikeSystemd(text: String, words: [String]) throws {
        #expect(try UnitWords.all(text) == words)
    }

    @Test(arguments: ["\"a", "'", "\"a\\"])
    func refusesWhatIsNotClosed(text: String) {
        #expect(throws: UnitWords.Failure.self) { try UnitWords.all(text) }
    }
}

@Suite struct UnitNameTests {
    @Test func partsOfAName() throws {
        let name = try #require(UnitName("foo-bar@a\\x2db.service"))
        #expect(name.prefix == "foo-bar")
        #expect(name.instance == "a\\x2db")
        #expect(name.stem == "foo-bar@a\\x2db")
        #expect(name.template?.description == "foo-bar@.service")
        #expect(
            name.dropInDirectories == [
                "foo-bar@a\\x2db.service.d", "foo-bar@.service.d", "foo-.service.d", "service.d",
            ])
        #expect(name.shellWord == "'foo-bar@a\\x2db.service'")
        #expect(UnitName("a@b.timer")?.shellWord == "a@b.timer")
        #expect(try #require(UnitName("a@.timer")).isTemplate)
        #expect(UnitName("a@.timer")?.instantiated("x")?.description == "a@x.timer")
        #expect(UnitName.unescaped("var-lib-a\\x2db") == "var/lib/a-b")
    }

    @Test(arguments: [
        "", "a", ".timer", "a.timers", "@x.timer", "a b.timer", "a/b.timer", "é.timer",
    ])
    func refusesWhatIsNoName(text: String) { #expect(UnitName(text) == nil) }

    @Test(arguments: [
        ("%n %N %p %i %I", "foo-bar@a\\x2db-c.service foo-bar@a\\x2db-c foo-bar a\\x2db-c a-b/c"),
        ("%j %J %P %f", "bar bar foo/bar /a-b/c"), ("%y %Y", "/etc/foo.service /etc"),
        (
            "%h %u %U %t %S %C %L %E %T %V",
            "/root root 0 /run /var/lib /var/cache /var/log /etc /tmp /var/tmp"
        ),
        ("%%i 100%", "%i 100%"), ("%Q", "%Q"), ("%H", "host"), ("%d", "%d"),
    ])
    func expandsSpecifiers(text: String, expected: String) throws {
        let specifiers = UnitSpecifiers(
            machine: UnitSpecifiers.systemManager.merging(["H": "host"]) { $1 },
            name: try #require(UnitName("foo-bar@a\\x2db-c.service")), path: "/etc/foo.service")
        #expect(specifiers.expand(text).text == expected)
    }
}

@Suite struct UnitCommandTests {
    private let specifiers = UnitSpecifiers(
        machine: UnitSpecifiers.systemManager, name: UnitName("a@b.service")!, path: "/a")

    private func commands(_ line: String) throws -> [UnitCommand] {
        var reader = UnitCommandReader(specifiers: specifiers)
        let commands = reader.commands(line)
        if let failure = reader.failure { throw failure }
        return commands
    }

    /// The examples of systemd.service(5), "Command Lines", and the corners of its rules.
    @Test(arguments: [
        (#"echo one ; echo "two two""#, [["echo", "one"], ["echo", "two two"]]),
        (#"echo / >/dev/null & \; ls"#, [["echo", "/", ">/dev/null", "&", ";", "ls"]]),
        ("sh -c 'dmesg | tac'", [["sh", "-c", "dmesg | tac"]]),
        (#"/bin//echo "a;b" ";" "#, [["/bin/echo", "a;b", ";"]]),
        ("; ;", []), ("/bin/x $$HOME a$$b $1 ${1} x$Y", [["/bin/x", "$HOME", "a$b", "", "x$Y"]]),
        ("/bin/x %i %% %h", [["/bin/x", "b", "%", "/root"]]),
        (":/bin/x $HOME ${A} $$", [["/bin/x", "$HOME", "${A}", "$$"]]),
        ("@/bin/sh -sh -c x", [["/bin/sh", "-c", "x"]]),
    ])
    func readsCommands(line: String, expected: [[String]]) throws {
        #expect(try commands(line).map(\.plain) == expected)
    }

    @Test(arguments: [
        ("echo $ONE ${TWO}", "echo $ONE \"${TWO}\""),
        ("/bin/x a${B}c\"d e\"", "/bin/x \"a${B}cd e\""),
        (#"/bin/x ${A} '$$ \\ " `'"#, #"/bin/x "${A}" '$ \ " `'"#),
        (#"/bin/x '${A}\\"`$$'"#, #"/bin/x "${A}\\\"\`\$""#),
        ("/bin/x it\\'s $A if", #"/bin/x 'it'\''s' $A 'if'"#),
        ("/bin/x %d/token", "/bin/x \"${CREDENTIALS_DIRECTORY}/token\""),
    ])
    func writesCommandsForTheShell(line: String, expected: String) throws {
        #expect(try commands(line).map(\.shell) == [expected])
    }

    @Test(arguments: ["", "-", "bin/x", "/bin/", "@/bin/x", "/bin/x \"a", "\"/bin/\\n\" x"])
    func refusesWhatSystemdRefuses(line: String) {
        if line.isEmpty {
            #expect(throws: Never.self) { try commands(line) }
        } else {
            #expect(throws: UnitWords.Failure.self) { try commands(line) }
        }
    }

    @Test func prefixesCanBeInAnyOrder() throws {
        let prefixes = try #require(try commands("-@:!!/bin/x name").first).prefixes
        #expect(prefixes.ignoresFailure && prefixes.hasOwnName && prefixes.isLiteral)
        #expect(prefixes.privileges == "!!")
    }
}

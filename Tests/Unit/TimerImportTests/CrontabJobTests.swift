// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerConfig
import TimerCore

@testable import TimerImport

@Suite struct CrontabJobTests {
    @Test func itBehavesLikeCron_orLikeTimerd() throws {
        let cron = try Imported("0 1 * * * a\n")
        #expect(cron["on-missed"] == "\"skip\"" && cron["concurrency"] == "\"allow\"")
        #expect(cron["kill-leftovers"] == "false")
        let modern = try Imported("0 1 * * * a\n") { $0.isModern = true }
        #expect(modern["on-missed"] == nil && modern["concurrency"] == nil)
        #expect(modern["kill-leftovers"] == nil)
    }

    @Test(arguments: [
        ("/usr/bin/backup.sh --all", "backup.sh"), ("A=1 logrotate x", "logrotate"),
        ("cd / && x", "tab-1"),
        ("[ -x /bin/y ] && y", "tab-1"), ("(sleep 1)", "tab-1"), ("'/opt/my app' x", "my"),
    ])
    func aJobIsNamedAfterItsProgram(command: String, name: String) throws {
        #expect(try Imported("0 1 * * * \(command)\n").result.jobs[0].name.description == name)
    }

    @Test(arguments: [
        ("0 1 * * * root a b\n", true), ("0 1 * * * /bin/a b\n", false), ("0 1 * * * a b\n", false),
        ("0 1 * * * root\n", false), ("0 1 * * * mail -s x\n0 2 * * * /bin/b\n", false),
        ("0 1 * * * root x\n0 2 * * * mail y\n", true),
    ])
    func theUserFieldIsFound(text: String, hasUser: Bool) throws {
        let imported = try Imported(text, hasUser: nil)
        #expect((imported["user"] != nil) == hasUser)
    }

    @Test(arguments: ["0 1 * * * root x\n0 2 * * * nobodys y\n", "0 1 * * * mail -s x\n"])
    func anAmbiguousFileIsAnError(text: String) {
        #expect(throws: ImportFault.self) { try Imported(text, hasUser: nil) }
    }

    /// A word that this machine does not know may be a user or a program, and the PATH of the
    /// crontab counts.
    @Test(arguments: [
        (
            "*/5 * * * * asterisk [ -e /x ] && /usr/sbin/y\n",
            "\"asterisk\" is neither a user nor a program"
        ),
        ("PATH=/opt/bin\n0 1 * * * backup now\n", "\"backup\"; use --system"),
    ])
    func aWordThatProvesNothingIsAnError(text: String, message: String) {
        let fault = #expect(throws: ImportFault.self) { try Imported(text, hasUser: nil) }
        #expect(fault?.description.contains(message) == true, "\(fault?.description ?? "")")
    }

    @Test func aShellKeywordIsNoUser() throws {
        let imported = try Imported("0 1 * * * cd /x && y\n", hasUser: nil)
        #expect(imported["shell"] == "\"cd /x && y\"" && imported["user"] == nil)
    }

    @Test func linesOfTheSystemNameUsers() throws {
        let imported = try Imported("0 1 * * * www-data a b\n0 2 * * * ghost c\n", hasUser: true)
        #expect(imported["user"] == "\"www-data\"" && imported["shell"] == "\"a b\"")
        #expect(imported.result.jobs[1].notes == ["there is no user ghost on this machine"])
        #expect(try Imported("0 1 * * * /bin/a b\n", hasUser: true).refusal() != nil)
        #expect(try Imported("0 1 * * * root\n", hasUser: true).refusal() != nil)
    }

    @Test func aSilentLineLogsFailuresOnly() throws {
        #expect(try Imported("-*/5 * * * * a\n", .cronie)["log"] == "\"failures\"")
    }

    @Test func scriptsOfADirectoryBecomeJobs() throws {
        let line =
            "25 6 * * * root test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.daily )\n"
        let kept = try Imported(line, hasUser: true)
        #expect(kept.result.jobs.count == 1 && kept.result.jobs[0].notes.count == 1)
        let scripts = ["apt-compat", "dpkg", "man-db"]
        let expanded = try Imported(line, hasUser: true) {
            $0.expandsRunParts = true
            $0.scripts = { $0 == "/etc/cron.daily" ? scripts : nil }
        }
        #expect(expanded.result.jobs.map(\.name.description) == scripts)
        #expect(expanded["shell"] == "\"/etc/cron.daily/apt-compat\"")
        #expect(expanded.result.jobs.allSatisfy { $0.notes.count >= 2 })
    }

    @Test func aCommentAboveALineStaysWithIt() throws {
        let imported = try Imported("# far\n\n# near\n0 1 * * * a\n0 2 * * * b\n")
        #expect(imported.result.jobs[0].source == ["# near", "0 1 * * * a"])
        #expect(imported.result.jobs[1].source == ["0 2 * * * b"])
    }
}

@Suite struct CronCommandTests {
    @Test(
        arguments: [
            ("a", "a", nil), ("a%b", "a", "b\n"), ("a%b%%c%", "a", "b\n\nc\n"),
            ("a\\%b", "a%b", nil),
            ("a%", "a", nil), ("a\\\\b", "a\\b", nil), ("a\\n", "a\\n", nil),
            ("a%b\\%c", "a", "b%c\n"),
            ("a%b\\n", "a", "b\\n\n"), ("a%b\\", "a", "b\\\n"), ("%b", "", "b\n"),
            ("a\\\\%b", "a\\", "b\n"), ("a%\\\\%", "a", "\\%\n"), ("a%\\", "a", "\\"),
            ("a%%", "a", "\n"), ("a b\\", "a b\\", nil),
        ] as [(String, String, String?)])
    func percentSignsAreThoseOfDebiansCron(text: String, line: String, input: String?) {
        let command = CronCommand(text, .debian)
        #expect(command.line == line)
        #expect(command.input == input)
    }

    @Test func cronieKeepsTwoBackslashes() {
        #expect(CronCommand("a\\\\b", .cronie).line == "a\\\\b")
    }

    @Test(arguments: [
        ("sleep $(( RANDOM % 600 )); x", true), ("date +%F", false), ("echo \"50% of\"", true),
        ("echo 'a%b'", true), ("echo `date +%F`", true), ("mail -s \"It's\" joe%text", false),
        ("test $(date +\\%u) -eq 6%x", false),
    ])
    func aCutWithinQuotesIsNoted(text: String, isCut: Bool) {
        #expect(CronCommand(text, .debian).isCutInside == isCut)
    }
}

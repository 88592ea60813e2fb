// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerImport

/// The files of /etc/cron.d that cron does not read.
@Suite struct CronFolderTests {
    @Test(
        arguments: [
            ("backup", .read, .read, .read), ("e2scrub_all", .read, .read, .read),
            ("0-hourly", .read, .read, .read), (".placeholder", .copy, .copy, .copy),
            ("backup~", .copy, .copy, .copy), ("#backup#", .copy, .copy, .read),
            ("php.dpkg-old", .copy, .read, .copy), ("php.dpkg-dist", .copy, .read, .copy),
            ("php.ucf-dist", .copy, .read, .read), ("x.rpmsave", .copy, .copy, .read),
            ("x.rpmnew", .copy, .copy, .read), ("x.bak", .copy, .read, .read),
            ("x.disabled", .copy, .read, .read), ("backup.sh", .ignored, .read, .read),
            ("a b", .ignored, .read, .read), ("größe", .ignored, .read, .read),
            ("", .ignored, .read, .read),
        ] as [(String, CronFileName, CronFileName, CronFileName)])
    func aNameDecidesWhetherCronReadsAFile(
        name: String, debian: CronFileName, cronie: CronFileName, systemd: CronFileName
    ) {
        #expect(CronFileName(name, .debian) == debian)
        #expect(CronFileName(name, .cronie) == cronie)
        #expect(CronFileName(name, .systemdCron) == systemd)
    }

    private func result(
        _ name: CronFileName, _ text: String?
    ) throws -> ImportResult {
        var importer = try Imported("0 1 * * * root a\n", hasUser: true) {
            $0.isStrictPath = true
        }.importer
        importer.leaveOut("/etc/cron.d/x", name, text.map { Array($0.utf8) })
        return importer.result
    }

    /// A placeholder is in the report, and the jobs still do the same as cron.
    @Test(
        arguments: [
            (.copy, "0 1 * * * root b\n"), (.copy, nil), (.ignored, nil), (.ignored, ""),
            (.ignored, "# just a comment\nA=b\n"), (.ignored, "some text\n"),
        ] as [(CronFileName, String?)])
    func aFileWithoutJobsIsLeftOut(name: CronFileName, text: String?) throws {
        let result = try result(name, text)
        #expect(result.exactness == .exact)
        let message = "/etc/cron.d/x: left out: Debian's cron does not read a file of this name"
        #expect(result.report.entries.last?.message == message)
        #expect(result.toml(title: "x").contains("# \(message)\n"))
    }

    /// Its lines do not run, which is probably a mistake.
    @Test func aCrontabWithAWrongNameIsNoted() throws {
        let result = try result(.ignored, "A=b\n# x\n0 1 * * * root b\n")
        #expect(result.exactness == .withNotes && result.jobs.count == 1)
        #expect(result.report.noted.last?.message?.contains("rename it") == true)
    }
}

/// Tables that would take too much memory or time.
@Suite struct CrontabSizeTests {
    /// Each job has all variables, so that a small table could make a configuration of gigabytes.
    @Test func manyVariablesInManyJobsDoNotFillTheMemory() throws {
        let settings = (0..<3000).map { "A\($0)=1234567890\n" }.joined()
        let jobs = String(repeating: "* * * * * x\n", count: 3000)
        let imported = try Imported(settings + jobs)
        let count = imported.result.jobs.count
        #expect((100..<1000).contains(count), "\(count)")
        #expect(imported.refusal(6000)?.contains("8 MiB") == true)
        #expect(imported.result.report.entries.count { $0.place.line != nil } == 6000)
        let anacron = AnacrontabImporter(
            CrontabSource(
                file: "tab",
                bytes: Array((settings + String(repeating: "1 1 x y\n", count: 3000)).utf8),
                stem: "tab", hasUserField: false, owner: "root", namesOwner: true),
            CrontabOptions(), today: CivilDate(year: 2026, month: 11, day: 22))
        #expect((100..<1000).contains(anacron.result.jobs.count))
    }

    /// More jobs than a configuration has room for are refused, not made, and not each of them is shown.
    @Test func moreJobsThanAConfigurationCanHaveAreRefused() throws {
        let line = "* * * * * \(String(repeating: "x", count: 500))\n"
        let result = try Imported(String(repeating: line, count: 24_000)).result
        #expect(result.jobs.count < 13_500)
        #expect(result.jobs.count + result.report.refused.count == 24_000)
        #expect(result.report.shown.entries.count == 10_000)
        let count = result.report.refused.count + result.report.noted.count
        #expect(result.report.shown.more == count - 10_000)
        #expect(result.toml(title: "x").contains("# and \(result.report.shown.more) more lines\n"))
    }

    /// A line that is not imported is shown, but not megabytes of it.
    @Test func aVeryLongLineIsShownInPart() throws {
        let long = String(repeating: "\0é", count: 100_000)
        let result = try Imported("0 1 * * * a\n0 2 * * * \(long)\n").result
        #expect(result.report.refused.count == 1)
        #expect((2000..<20_000).contains(result.toml(title: "x").utf8.count))
    }

    /// Each line has another recipient. This would take minutes if each of them were looked up in a list.
    @Test func manyRecipientsAreManyNotifiers() throws {
        let text = (0..<20_000).map { "MAILTO=a\($0)\n* * * * * x\n" }.joined()
        let imported = try Imported(text)
        #expect(imported.result.notifiers.count == 20_000)
        #expect(imported.result.notifiers.last?.name == "tab-mail-20000")
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import Testing
import TimerConfig
import TimerCore

@testable import TimerImport

/// Tables as they are, and damaged at random: nothing crashes, each line is in the report once, the result is
/// the same each time, and timerd accepts it.
@Suite struct ImportFuzzTests {
    private enum Table: CaseIterable {
        case debian, cronie, systemdCron, debianSystem, anacron, fcron
    }

    private func run(_ bytes: [UInt8], as table: Table) throws -> ImportResult {
        var options = CrontabOptions()
        options.isZone = { ["Asia/Tokyo", "Europe/Berlin"].contains($0) }
        options.isAccount = { $0 == "root" }
        let flavour: CronFlavour =
            table == .cronie ? .cronie : table == .systemdCron ? .systemdCron : .debian
        options.flavour = flavour
        let source = CrontabSource(
            file: "tab", bytes: bytes, stem: "tab", hasUserField: table != .debian, owner: "root",
            namesOwner: true)
        switch table {
        case .anacron:
            return AnacrontabImporter(
                source, options, today: CivilDate(year: 2026, month: 11, day: 22),
                lastRun: { $0 == "cron.daily" ? CivilDate(year: 2026, month: 11, day: 20) : nil }
            ).result
        case .fcron: return FcrontabImporter(source, options).result
        default:
            var importer = CrontabImporter(options)
            try importer.add(source)
            for found in importer.times
            where importer.result.jobs.contains(where: { $0.name == found.job }) {
                #expect(found.times.isReboot || !found.times.minutes.isEmpty)
            }
            return importer.result
        }
    }

    /// What must be true of the import of any bytes.
    private func check(_ bytes: [UInt8], as table: Table) throws {
        let result = try run(bytes, as: table)
        let text = result.toml(title: "Imported from tab")
        #expect(try run(bytes, as: table).toml(title: "Imported from tab") == text)
        let parts = bytes.split(separator: 10, omittingEmptySubsequences: false)
        let lines = parts.last?.isEmpty == true ? parts.count - 1 : parts.count
        #expect(
            result.report.entries.compactMap(\.place.line).sorted() == Array(1..<(lines + 1)),
            "\(table): \(Self.shown(bytes))")
        let reading = try ConfigReader.read(Array(text.utf8), file: "tab.toml")
        #expect(
            reading.errors.isEmpty, "\(table): \(reading.errors.prefix(2)): \(Self.shown(bytes))")
        #expect(reading.jobSet.jobs.map(\.name) == result.jobs.map(\.name))
        for entry in result.report.entries {
            if case .mapped(let names) = entry.outcome {
                #expect(!names.isEmpty && names.allSatisfy { reading.jobSet.names.contains($0) })
            }
        }
    }

    private static func shown(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func eachTableOfTheCorpusIsAccountedFor() throws {
        for bytes in try Fuzzing("crontab").corpus {
            for table in Table.allCases { try check(bytes, as: table) }
        }
    }

    @Test func damagedTablesAreAccountedFor() throws {
        var fuzzing = try Fuzzing("crontab")
        _ = try fuzzing.run { bytes, random in
            try check(bytes, as: Table.allCases[random.int(below: Table.allCases.count)])
            return true
        }
    }

    /// The largest tables take no more than linear time: this would not end otherwise.
    @Test func aVeryLargeTableIsImported() throws {
        let line = "* * * * * backup --all %x\n"
        let bytes = Array(String(repeating: line, count: 4000).utf8)
        let result = try run(bytes, as: .debian)
        #expect(result.jobs.count == 4000)
        #expect(result.jobs.last?.name.description == "backup-4000")
    }

    /// What a file name or a line says never becomes a table of the configuration.
    @Test func noLineEndsAComment() throws {
        let evil = "0 1 * * * a \u{85}\u{2028}[job.evil]\u{202e}\u{1b}[2J # '''\n"
        let text = try run(Array(evil.utf8), as: .debian).toml(
            title: "x\n[job.evil]\r\ncommand = [\"x\"]")
        let names = try ConfigReader.read(Array(text.utf8), file: "f").jobSet.jobs.map(
            \.name.description)
        #expect(names == ["a"])
        #expect(
            !text.unicodeScalars.contains("\u{1b}") && !text.unicodeScalars.contains("\u{202e}"))
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerConfig
import TimerCore

@testable import TimerImport

/// A crontab and what becomes of it.
struct Imported {
    let result: ImportResult
    let importer: CrontabImporter

    init(
        _ text: String, _ flavour: CronFlavour = .debian, hasUser: Bool? = false,
        _ change: (inout CrontabOptions) -> Void = { _ in }
    ) throws {
        try self.init(bytes: Array(text.utf8), flavour, hasUser: hasUser, change)
    }

    init(
        bytes: [UInt8], _ flavour: CronFlavour = .debian, hasUser: Bool? = false,
        _ change: (inout CrontabOptions) -> Void = { _ in }
    ) throws {
        var options = CrontabOptions()
        options.flavour = flavour
        options.isAccount = { ["root", "backup", "mail", "www-data"].contains($0) }
        options.isProgram = { name, path in
            ["mail", "sh", "a"].contains(name) || name == "backup" && path == "/opt/bin"
        }
        options.isZone = { ["Asia/Tokyo", "Europe/Berlin"].contains($0) }
        change(&options)
        var importer = CrontabImporter(options)
        try importer.add(
            CrontabSource(
                file: "tab", bytes: bytes, stem: "tab", hasUserField: hasUser, owner: "anna",
                namesOwner: false))
        (result, self.importer) = (importer.result, importer)
    }

    /// The value of a key of the first job, as TOML; nil if it has none.
    subscript(key: String) -> String? { result.jobs.first?.value(of: key)?.description }

    /// The reason for which a line is not imported.
    func refusal(_ line: Int = 1) -> String? {
        for entry in result.report.entries where entry.place.line == line {
            if case .refused(let why) = entry.outcome { return why }
        }
        return nil
    }

    var notes: [String] {
        result.jobs.flatMap(\.notes)
            + result.report.noted.compactMap(\.message)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension CrontabImporter {
    /// The directory whose scripts a command runs, and their names.
    func scripts(of line: String) -> (directory: String, names: [String])? {
        let words = line.split { " \t;()&|".contains($0) }.map(String.init)
        guard
            let index = words.firstIndex(where: { $0 == "run-parts" || $0.hasSuffix("/run-parts") }
            ),
            let directory = words[(index + 1)...].first(where: { !$0.hasPrefix("-") }),
            directory.hasPrefix("/"), let names = options.scripts(directory)
        else { return nil }
        return (directory, names)
    }

    mutating func expand(
        _ entry: CrontabEntry, _ line: SourceLine, _ reading: inout CrontabReading,
        _ scripts: (directory: String, names: [String])
    ) {
        guard !scripts.names.isEmpty else {
            return result.report.add(
                SourcePlace(reading.source.file, line: line.number), line.text,
                .unneeded("\(scripts.directory) has no scripts"))
        }
        do throws(CronFault) { try reading.spend(line.text, jobs: scripts.names.count) } catch {
            return refuse(line, error.message, breaks: error.breaksFile, &reading)
        }
        var names: [Job.Name] = []
        for script in scripts.names {
            let name = namer.name(from: script, else: "\(reading.source.stem)-\(line.number)")
            let command = CronCommand(Self.quoted("\(scripts.directory)/\(script)"), .systemdCron)
            var own = entry
            own.notes.append(
                "the scripts of \(scripts.directory) run at the same time, and not one after the other; a script "
                    + "that is added there later is not run")
            if entry.command.contains("anacron") {
                own.notes.append("the test for anacron is left out; switch anacron off as well")
            }
            append(own, name, command, line, &reading)
            names.append(name)
        }
        finish(names, line, &reading)
    }

    /// A path as a word of the shell.
    private static func quoted(_ path: String) -> String {
        let isPlain = path.utf8.allSatisfy { byte in
            (48...57).contains(byte) || (97...122).contains(byte | 0x20)
                || "/_.-".utf8.contains(byte)
        }
        return isPlain
            ? path
            : "'"
                + path.split(separator: "'", omittingEmptySubsequences: false).joined(
                    separator: "'\\''")
                + "'"
    }
}

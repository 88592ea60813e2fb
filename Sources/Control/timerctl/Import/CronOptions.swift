// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import HostFiles
import TimerImport
import TimerZones

/// The options of all tables of cron and its relatives.
struct CronOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Whose rules the crontab follows: debian, cronie or systemd-cron.", valueName: "name"),
        completion: .list(CronFlavour.allCases.map(\.rawValue)), transform: Self.flavour)
    var flavour = CronFlavour.debian

    @Flag(
        help:
            "Keep timerd's own policies for missed and overlapping runs instead of those that behave like cron."
    )
    var modern = false

    @Flag(help: "Write cron's PATH, /usr/bin:/bin, into jobs whose crontab sets none.")
    var strictPath = false

    @Flag(help: "Make a job of each script of a directory such as /etc/cron.daily.")
    var expandRunParts = false

    private static func flavour(_ text: String) throws -> CronFlavour {
        guard let flavour = CronFlavour(rawValue: text) else {
            let names = CronFlavour.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("--flavour: \"\(text)\" is not one of \(names)")
        }
        return flavour
    }

    /// The options for the importer, which asks this machine.
    var importOptions: CrontabOptions {
        var options = CrontabOptions()
        options.flavour = flavour
        options.isModern = modern
        options.isStrictPath = strictPath
        options.expandsRunParts = expandRunParts
        options.isAccount = { Account.exists($0) }
        options.isProgram = { name, path in
            let standard = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin"
            return (path ?? standard).split(separator: ":").contains {
                access("\($0)/\(name)", X_OK) == 0
            }
        }
        options.isZone = { (try? ZoneFiles().rules(named: $0)) != nil }
        options.scripts = { Self.scripts(in: $0) }
        return options
    }

    /// The scripts that run-parts(8) would run, sorted; nil if the directory cannot be read.
    private static func scripts(in folder: String) -> [String]? {
        guard access(folder, R_OK | X_OK) == 0 else { return nil }
        return ImportCrontabVerb.names(in: folder).filter { name in
            CronFileName.isPlain(name)
                && access("\(folder)/\(name)", X_OK) == 0 && isFile("\(folder)/\(name)")
        }
    }

    private static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}

enum Account {
    static func exists(_ name: String) -> Bool { UserDatabase.user(named: name).entry != nil }

    /// The user of this process; its number if it has no name.
    static var own: String { UserDatabase.user(geteuid()).entry?.name ?? "\(geteuid())" }
}

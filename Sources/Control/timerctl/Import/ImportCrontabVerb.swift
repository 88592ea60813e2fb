// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import HostFiles
import TimerImport

struct ImportCrontabVerb: ImportSourceVerb {
    static let configuration = CommandConfiguration(
        commandName: "crontab",
        abstract: "Make jobs of a crontab.",
        discussion: """
            FILE is a crontab, - is standard input. --user NAME alone is the crontab of that user in the spool directory, \
            and --system alone is /etc/crontab and /etc/cron.d. Together with FILE they tell whose crontab it is, or that \
            each of its lines names a user. Without them, the lines of standard input name none, as crontab -l prints \
            them, and of a file this is found out.
            """)

    @Argument(
        help: "The crontab; - is standard input.", completion: .file())
    var file: String?

    @Option(
        help: ArgumentHelp(
            "The crontab of this user.", valueName: "name"))
    var user: String?

    @Flag(help: "The crontabs of the system, whose lines name a user.")
    var system = false

    @OptionGroup var cron: CronOptions
    @OptionGroup var output: ImportOutput

    func validate() throws {
        guard file != nil || user != nil || system else {
            throw ValidationError(
                "the input is missing: a file, - for standard input, --user NAME or --system"
            )
        }
        guard user == nil || !system else {
            throw ValidationError("--user and --system exclude each other")
        }
        guard file?.isEmpty != true else { throw ValidationError("the name of the file is empty") }
        if let user {
            guard !user.isEmpty, !user.contains("/"), user != ".", user != ".." else {
                throw ValidationError("--user: \"\(user)\" is not a user")
            }
        }
    }

    func imported() throws -> (ImportResult, ImportOutput.Source) {
        var importer = CrontabImporter(cron.importOptions)
        var isPublic = true
        var headers: [String: Int] = [:]
        let files = try files(&importer)
        for file in files {
            let (bytes, isReadable): ([UInt8], Bool)
            do throws(ImportInput.Failure) {
                (bytes, isReadable) = try ImportInput.bytes(of: file)
            } catch {
                guard files.count > 1 else { throw ImportInput.fail(file, error.message) }
                // The other files of the system are imported.
                importer.refuse(file, because: error.message)
                continue
            }
            isPublic = isPublic && isReadable
            headers[file] = CrontabSwitch.headerLines(of: bytes)
            do throws(ImportFault) { try importer.add(source(file, bytes)) } catch {
                throw Connection.fail(2, error.description)
            }
        }
        let switching = CrontabSwitch(
            lines: importer.importedLines, headers: headers, user: user)
        return (
            importer.result,
            ImportOutput.Source(
                title: "Imported from \(title) by timerctl import crontab",
                disabling: switching.commands, isPublic: isPublic,
                compare: { try CronComparison.compare($0, importer.times) })
        )
    }

    private var title: String {
        switch (file, user) {
        case ("-", _): "standard input"
        case (let file?, _): file
        case (nil, let user?): "the crontab of \(user)"
        case (nil, nil): "/etc/crontab and /etc/cron.d"
        }
    }

    /// The files to import, in a fixed order; those that cron leaves out are in the report.
    private func files(_ importer: inout CrontabImporter) throws -> [String] {
        if let file { return [file] }
        if let user { return [try Self.spoolFile(of: user)] }
        var files = access(Self.systemTable, F_OK) == 0 ? [Self.systemTable] : []
        for name in Self.names(in: Self.systemFolder) {
            let path = "\(Self.systemFolder)/\(name)"
            switch CronFileName(name, cron.flavour) {
            case .read: files.append(path)
            case .copy: importer.leaveOut(path, .copy, nil)
            case .ignored: importer.leaveOut(path, .ignored, try? ImportInput.bytes(of: path).bytes)
            }
        }
        return files
    }

    static let systemTable = "/etc/crontab"
    static let systemFolder = "/etc/cron.d"
    static let spoolFolders = [
        "/var/spool/cron/crontabs", "/var/spool/cron", "/var/spool/cron/tabs",
    ]

    private static func spoolFile(of user: String) throws -> String {
        for folder in spoolFolders {
            let path = "\(folder)/\(user)"
            var status = stat()
            if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG { return path }
            if errno == EACCES {
                throw ImportInput.fail(
                    path,
                    "only root may read it; run: crontab -l | timerctl import crontab --user \(user) -"
                )
            }
        }
        throw Connection.fail(
            2, "there is no crontab of \(user) in \(spoolFolders.joined(separator: ", "))")
    }

    /// The users who have a crontab, as far as this process may see them.
    static var usersWithTable: [String] {
        spoolFolders.flatMap { folder in
            names(in: folder).filter { user in
                var status = stat()
                return !user.hasPrefix(".") && stat("\(folder)/\(user)", &status) == 0
                    && status.st_mode & S_IFMT == S_IFREG
            }
        }
    }

    /// The names in a directory, sorted by their bytes; none if it cannot be read.
    static func names(in folder: String) -> [String] {
        Descriptor.names(at: folder).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private func source(_ file: String, _ bytes: [UInt8]) -> CrontabSource {
        let parts = file.split(separator: "/").map(String.init)
        let folder = "/" + parts.dropLast().joined(separator: "/")
        let isSystem =
            system || file.hasSuffix(Self.systemTable) || folder.hasSuffix(Self.systemFolder)
        // A crontab in the spool directory is called like its user.
        let spoolOwner = Self.spoolFolders.contains(folder) ? parts.last : nil
        let owner = user ?? spoolOwner ?? Account.own
        let stem = file == "-" ? "crontab" : user != nil || spoolOwner != nil ? owner : parts.last
        let isOfUser = user != nil || spoolOwner != nil
        var source = CrontabSource(
            file: file, bytes: bytes, stem: stem ?? "crontab",
            hasUserField: isSystem ? true : isOfUser || file == "-" ? false : nil,
            owner: owner, namesOwner: isOfUser || geteuid() == 0)
        source.isFieldAssumed = !isOfUser && file == "-"
        return source
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import HostFiles
import TimerCore
import TimerImport
import TimerZones

struct ImportSystemdVerb: ImportSourceVerb {
    static let configuration = CommandConfiguration(
        commandName: "systemd",
        abstract: "Make jobs of timers of systemd and the services that they start.",
        discussion: """
            A timer is found as systemd finds it, with its drop-ins, or named by the path of its file; then its service is \
            in the same directory or where systemd looks for it.
            """)

    @Argument(
        help: ArgumentHelp(
            "The timers, such as backup.timer, or the paths of their files.", valueName: "unit"),
        completion: .file(extensions: ["timer"]))
    var units: [String] = []

    @Flag(help: "All timers, and the enabled instances of templates.")
    var all = false

    @Option(
        help: ArgumentHelp(
            "The instance of a template such as backup@.timer.", valueName: "name"))
    var instance: String?

    @Option(
        help: ArgumentHelp(
            "Look for units in this directory as if it were /.", valueName: "directory"),
        completion: .directory)
    var root: String?

    @Flag(
        help:
            "Start intervals again after each boot, as systemd does: adds jobs with on-boot.")
    var likeSystemd = false

    @OptionGroup var output: ImportOutput

    func validate() throws {
        guard all == units.isEmpty else {
            throw ValidationError(
                all
                    ? "--all and units exclude each other; keep one"
                    : "name timers, such as backup.timer, or choose them with --all")
        }
        guard let instance else { return }
        guard UnitName("x@\(instance).timer")?.instance == instance, !instance.isEmpty else {
            throw ValidationError(
                "--instance: \"\(instance)\" is not part of the name of a unit; see systemd-escape(1)"
            )
        }
    }

    func imported() throws -> (ImportResult, ImportOutput.Source) {
        var search = UnitSearch(root: root)
        let names = all ? search.timers() : try units.map { try name($0, &search) }
        guard !names.isEmpty else {
            throw Connection.fail(2, "there are no timers in \(root ?? "/")")
        }
        var options = Self.options(search)
        options.instance = instance
        options.isLikeSystemd = likeSystemd
        let imported = SystemdImport(names, options: options, load: search.load)
        return (
            imported.result,
            ImportOutput.Source(
                title: "Imported from \(names.count == 1 ? "\(names[0])" : "timers of systemd")",
                disabling: imported.timers.map { "systemctl disable --now \($0.shellWord)" },
                compare: { try CalendarComparison.compare($0, after: Terminal.now) })
        )
    }

    /// The options for the importer, which asks this machine.
    static func options(_ search: UnitSearch) -> SystemdImport.Options {
        var options = SystemdImport.Options()
        options.machine = MachineFacts.specifiers(root: search.root)
        options.mounts =
            MachineFacts.fstab(root: search.root).map { ImportedMount.list(fstab: $0) } ?? []
        options.mounts += search.mounts()
        options.hasZone = { (try? ZoneFiles().rules(named: $0)) != nil }
        return options
    }

    /// The unit that an argument names. The path of a file adds its directory to the search.
    private func name(_ argument: String, _ search: inout UnitSearch) throws -> UnitName {
        let isPath = argument.utf8.contains(UInt8(ascii: "/"))
        let parts = argument.split(separator: "/")
        let last = isPath ? String(parts.last ?? "") : argument
        guard
            let name = UnitName(last)
                ?? (isPath || last.contains(".") ? nil : UnitName("\(last).timer")),
            name.type == "timer"
        else {
            throw Connection.fail(
                2, "\"\(argument)\" is not a timer; name a unit such as backup.timer, or its file")
        }
        guard isPath else { return name }
        let directory = argument.lastIndex(of: "/").map { String(argument[..<$0]) } ?? "."
        if !search.first.contains(directory) {
            search.first.append(directory.isEmpty ? "/" : directory)
        }
        let unit = name.isTemplate ? instance.flatMap(name.instantiated) ?? name : name
        search.named[unit] = argument
        return unit
    }
}

/// What specifiers such as `%H` stand for on this machine.
enum MachineFacts {
    static func specifiers(root: String) -> [Character: String] {
        var values: [Character: String] = [:]
        var system = utsname()
        if uname(&system) == 0 {
            let host = text(system.nodename)
            values["H"] = host
            values["l"] = host.split(separator: ".").first.map(String.init) ?? host
            values["v"] = text(system.release)
            values["a"] = architectures[text(system.machine)]
        }
        values["m"] = file("\(root)/etc/machine-id").map { trimmed($0) }
        let release =
            file("\(root)/etc/os-release") ?? file("\(root)/usr/lib/os-release") ?? ""
        let fields = assignments(release)
        for (specifier, field) in [
            ("o", "ID"), ("w", "VERSION_ID"), ("B", "BUILD_ID"), ("W", "VARIANT_ID"),
            ("A", "IMAGE_VERSION"), ("M", "IMAGE_ID"),
        ] as [(Character, String)] {
            values[specifier] = fields[field] ?? ""
        }
        let info = assignments(file("\(root)/etc/machine-info") ?? "")
        values["q"] = info["PRETTY_HOSTNAME"] ?? values["l"]
        return values
    }

    /// The text of fstab(5); nil if there is none.
    static func fstab(root: String) -> String? { file("\(root)/etc/fstab") }

    private static let architectures = [
        "x86_64": "x86-64", "aarch64": "arm64", "i686": "x86", "i386": "x86", "riscv64": "riscv64",
        "ppc64le": "ppc64-le", "s390x": "s390x", "armv7l": "arm",
    ]

    /// The text of a file; nil if there is none, which is no fault.
    private static func file(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return Descriptor.read(descriptor, upTo: 65_536).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func trimmed(_ text: String) -> String {
        String(text.prefix { !$0.isNewline })
    }

    private static func assignments(_ text: String) -> [String: String] {
        var values: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            var value = parts[1]
            if let quote = value.first, quote == "\"" || quote == "'", value.count > 1,
                value.last == quote
            {
                value = value.dropFirst().dropLast()
            }
            values[String(parts[0])] = String(value)
        }
        return values
    }

    /// A text of uname(2), which is a tuple of bytes.
    private static func text<Bytes>(_ bytes: Bytes) -> String {
        withUnsafeBytes(of: bytes) { buffer in
            String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

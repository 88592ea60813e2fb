// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import Testing

/// Which target may import which modules. The test reads the `import` lines of the sources, so that
/// a forbidden dependency fails here and not in a review.
@Suite struct DependencyTests {
    private func imports(of room: String) throws -> [String: [String]] {
        try imports(in: Project.folder(of: room))
    }

    private func imports(in folder: String) throws -> [String: [String]] {
        var found: [String: [String]] = [:]
        for (file, text) in try Project.sources(in: folder) {
            for line in text.split(separator: "\n") {
                let words = line.split(separator: " ")
                guard let place = words.firstIndex(of: "import"),
                    words[..<place].allSatisfy({
                        ["public", "internal", "@testable", "@_exported"].contains($0)
                    }
                    ),
                    place + 1 < words.count
                else { continue }
                found[String(words[place + 1]), default: []].append(file.lastPathComponent)
            }
        }
        return found
    }

    /// Each target with all modules that it may import.
    @Test(
        arguments: [
            // It must be a function of its arguments: no clock, no file, no queue, and quick to compile.
            ("Instants", []),
            ("Timekeeping", ["Instants"]),
            ("TimerCore", ["Timekeeping"]),
            // The only one that writes and reads JSON, for all that do so.
            ("TimerJSON", ["Glibc"]),
            // For any program: no Foundation, and nothing of the daemon.
            (
                "PausableTimers",
                ["Instants", "Timekeeping", "Dispatch", "Glibc", "Synchronization"]
            ),
            // The four middle rooms depend on the core and each on its own library, and not on each other.
            (
                "TimerConfig",
                [
                    "TimerCore", "TimerJSON", "TimerZones", "HostFiles", "HostThreads",
                    "CTomlPlusPlus", "CLinux", "Glibc", "Synchronization",
                ]
            ),
            // The machine's zone files, for all that read schedules.
            ("TimerZones", ["TimerCore", "HostFiles", "Glibc"]),
            ("TimerStore", ["TimerCore", "CSQLite", "Glibc"]),
            (
                "TimerRunner",
                [
                    "TimerRunnerProtocol", "HostFiles", "HostThreads", "TimerCore", "CSpawn",
                    "Glibc", "Dispatch", "HeapModule", "Synchronization",
                ]
            ),
            ("TimerRunnerProtocol", ["TimerCore", "Glibc"]),
            // The scheduler's side, in a process without privileges: nothing that starts processes.
            (
                "TimerRunnerClient",
                [
                    "TimerRunnerProtocol", "HostFiles", "HostThreads", "TimerCore", "Glibc",
                    "Dispatch", "Synchronization",
                ]
            ),
            ("TimerControl", ["TimerCore", "TimerJSON", "HostFiles", "Glibc"]),
            // A message is a function of what happened: the same bytes each time it is sent.
            ("TimerNotify", ["HostFiles", "TimerCore", "TimerControl"]),
            // Like the core, a function of its arguments: a model runs thousands of fleets in it.
            ("TimerFleet", ["TimerCore", "TimerJSON"]),
            // It sends what the fleet decides; the only one that uses libcurl.
            (
                "EtcdClient",
                [
                    "CCurl", "Glibc", "HostFiles", "Synchronization", "TimerCore", "TimerFleet",
                    "TimerJSON",
                ]
            ),
            // The scheduler's side of `timerd-fleet`, in a process without a network.
            (
                "TimerFleetLink",
                [
                    "Glibc", "HostFiles", "HostThreads", "Synchronization", "TimerCore",
                    "TimerFleet", "TimerRunnerProtocol",
                ]
            ),
            // It reads what others wrote: no file, no process, only text.
            ("TimerImport", ["HostFiles", "TimerCore"]),
            // It must stay small: no store, no HTTP, no log library.
            (
                "timerd-runner",
                [
                    "TimerRunner", "TimerRunnerProtocol", "TimerConfig", "TimerCore", "TimerJSON",
                    "Systemd",
                    "HostFiles", "HostThreads", "ArgumentParser", "CLinux", "Dispatch", "Glibc",
                    "Synchronization",
                ]
            ),
            // It has the network, and must stay small: no schedules, no store, no libsystemd.
            (
                "timerd-fleet",
                [
                    "EtcdClient", "TimerFleet", "TimerFleetLink", "TimerRunnerProtocol",
                    "TimerConfig", "TimerCore", "TimerJSON", "Systemd", "HostFiles",
                    "HostThreads", "CLinux", "Glibc", "Synchronization",
                ]
            ),
            // Directories, sockets, changes of files, users and terminals as a daemon must treat them, for all programs.
            ("HostFiles", ["Glibc", "Synchronization"]),
            // Threads, and events that wake them, for both programs.
            ("HostThreads", ["CLinux", "Glibc", "Synchronization"]),
            // Of its own, because programs without Dispatch use HostThreads.
            ("HostQueues", ["HostThreads", "Dispatch", "Glibc"]),
            // It could be used by any daemon: it does not depend on jobs.
            ("Systemd", ["CLinux", "Glibc", "HostFiles", "Synchronization"]),
            // The runner must not use it: libsystemd would add six libraries to the memory that
            // each fork copies.
            ("SystemdActivation", ["CSystemd", "Systemd", "Glibc"]),
            // What is saved knows nothing of what decides it.
            (
                "TimerRecording",
                [
                    "TimerCore", "TimerStore", "HostFiles", "HostThreads", "HostQueues", "CLinux",
                    "DequeModule",
                    "Dispatch", "Glibc", "Logging", "Synchronization",
                ]
            ),
            (
                "TimerLog",
                [
                    "TimerControl", "TimerCore", "TimerJSON", "Systemd", "HostThreads",
                    "HostQueues", "DequeModule", "Dispatch", "Glibc", "Logging", "NIOCore",
                    "Synchronization",
                ]
            ),
            // It contains no HTTP; requests of clients come from TimerAPI.
            (
                "TimerDaemon",
                [
                    "TimerConfig", "TimerControl", "TimerCore", "TimerFleet", "TimerFleetLink",
                    "TimerLog", "TimerNotify", "TimerRecording", "TimerRunnerProtocol",
                    "TimerStore", "TimerZones", "PausableTimers", "Systemd", "HostFiles",
                    "HostThreads", "HostQueues", "CLinux", "DequeModule", "Dispatch", "Glibc",
                    "Logging",
                    "Synchronization",
                ]
            ),
            // It parses what strangers send: it reaches nothing that could change a job.
            (
                "TimerHTTP",
                ["TimerControl", "TimerCore", "NIOCore", "NIOHTTP1", "Synchronization"]
            ),
            (
                "TimerWeb",
                [
                    "TimerHTTP", "TimerControl", "TimerCore", "CWebPage", "Dispatch", "Glibc",
                    "NIOCore", "NIOHTTP1", "NIOPosix", "Synchronization",
                ]
            ),
            (
                "TimerTools",
                [
                    "TimerConfig", "TimerControl", "TimerCore", "TimerDaemon", "TimerRecording",
                    "TimerStore", "TimerZones", "HostFiles", "HostThreads", "HostQueues",
                    "ArgumentParser",
                    "CLinux", "Dispatch", "Glibc", "Synchronization",
                ]
            ),
            // It must start in milliseconds.
            (
                "timerctl",
                [
                    "HostFiles",
                    "TimerControl", "TimerCore", "TimerImport", "TimerZones", "ArgumentParser",
                    "CLinux", "Dispatch", "Glibc", "Synchronization",
                ]
            ),
        ] as [(String, [String])])
    func imports(room: String, only allowed: [String]) throws {
        let found = try imports(of: room)
        #expect(!found.isEmpty || allowed.isEmpty)
        for (name, files) in found where !allowed.contains(name) {
            Issue.record("\(room) imports \(name) in \(files.joined(separator: ", "))")
        }
    }

    /// Each wing with the wings that it may use, which come before it.
    @Test func arrowsBetweenWingsGoOneWay() throws {
        let allowed: [(wing: String, uses: [String])] = [
            ("Host", []),
            ("Core", ["Host"]),
            ("Library", ["Core"]),
            ("Import", ["Core", "Host"]),
            ("Control", ["Core", "Host", "Import"]),
            ("Notify", ["Control", "Core", "Host"]),
            ("Runner", ["Core", "Host"]),
            ("Fleet", ["Core", "Host", "Runner"]),
            (
                "Scheduler",
                ["Control", "Core", "Fleet", "Host", "Library", "Notify", "Runner"]
            ),
        ]
        var earlier: [String] = []
        for (wing, uses) in allowed {
            #expect(uses.allSatisfy(earlier.contains), "\(wing)")
            earlier.append(wing)
            for module in try imports(in: "Sources/\(wing)").keys {
                guard let folder = try? Project.folder(of: module) else { continue }
                let used = String(folder.split(separator: "/")[1])
                #expect(used == wing || uses.contains(used), "\(wing) imports \(module)")
            }
        }
        let wings = try FileManager.default.contentsOfDirectory(
            atPath: Project.url(of: "Sources").path)
        #expect(wings.sorted() == earlier.sorted())
    }

    /// Foundation is 50 MiB, and linked statically its time zones are missing.
    @Test func nothingThatIsInstalledImportsAllOfFoundation() throws {
        for room in [
            "Instants", "Timekeeping", "PausableTimers", "TimerCore", "TimerJSON", "TimerConfig",
            "TimerStore", "TimerRunner", "TimerRunnerClient", "TimerRunnerProtocol", "TimerControl",
            "TimerImport", "TimerFleet", "TimerFleetLink", "EtcdClient",
            "Systemd", "SystemdActivation", "HostFiles", "HostQueues", "HostThreads", "timerd",
            "timerd-runner",
            "timerctl", "timerd-fleet", "TimerAPI", "TimerDaemon", "TimerHTTP", "TimerLog",
            "TimerRecording", "TimerTools", "TimerWeb",
        ] {
            #expect(try imports(of: room)["Foundation"] == nil, "\(room)")
        }
    }

    /// A library that only one target uses can be replaced there; HTTP is all about `TimerHTTP`.
    @Test func eachLibraryIsImportedByOneRoom() throws {
        let libraries = ["CCurl", "CSQLite", "CTomlPlusPlus", "CSpawn", "CSystemd"]
        let rooms = [
            "TimerCore", "TimerConfig", "TimerStore", "TimerRunner", "TimerRunnerClient",
            "TimerRunnerProtocol", "TimerControl", "Systemd", "SystemdActivation", "HostFiles",
            "HostThreads", "EtcdClient", "timerd", "timerd-runner", "timerctl", "TimerAPI",
            "TimerDaemon", "TimerHTTP", "TimerLog", "TimerRecording", "TimerTools", "TimerWeb",
        ]
        for library in libraries {
            let users = try rooms.filter { try imports(of: $0)[library] != nil }
            #expect(users.count == 1, "\(library) is imported by \(users)")
        }
        #expect(
            Set(try rooms.filter { try imports(of: $0)["NIOHTTP1"] != nil })
                == ["TimerHTTP", "TimerAPI", "TimerWeb"])
        // Each program has a command line, and no library has one but that of the commands.
        let users = try rooms.filter { try imports(of: $0)["ArgumentParser"] != nil }
        #expect(users == ["timerd", "timerd-runner", "timerctl", "TimerTools"])
    }

    /// Once the thread pool of tasks and global queues exists, Dispatch checks it each second for
    /// ever (`_dispatch_workq_monitor_pools` in libdispatch), and an idle daemon would never sleep.
    @Test func theDaemonUsesQueuesOfItsOwn_andNoPool() throws {
        for (file, text) in try Project.sources(in: "Sources/Scheduler") {
            for word in [" Task {", " Task.detached", " Task(", ".global("] {
                #expect(!text.contains(word), "\(file.lastPathComponent): \(word)")
            }
        }
    }

    /// Two definitions of one rule would become different.
    @Test(arguments: [
        "Ledger", "Grid", "Credit", "DueQueue", "AlarmQueue", "Now", "BootID", "TimeBasis",
        "AwakeInstant", "BootInstant", "WallInstant", "CountedInstant",
    ])
    func timeIsDefinedOnce(type: String) throws {
        var found: [String] = []
        for (file, text) in try Project.sources(in: "Sources") {
            for line in text.split(separator: "\n") {
                let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                guard
                    let place = words.firstIndex(where: {
                        ["struct", "class", "enum"].contains($0)
                    }),
                    words.dropFirst(place + 1).first == Substring(type),
                    !line.drop(while: { $0 == " " }).hasPrefix("//")
                else { continue }
                found.append(file.path)
            }
        }
        let rooms = ["/Sources/Core/Instants/", "/Sources/Core/Timekeeping/"]
        #expect(found.count == 1 && rooms.contains { found[0].contains($0) }, "\(found)")
    }

    @Test func theUnitStartsWhatIsInstalled() throws {
        let unit = try Project.text(of: "systemd/timerd.service")
        let lines = unit.split(separator: "\n")
        for line in [
            "Type=notify", "ExecReload=/usr/bin/timerctl reload", "StateDirectory=timerd",
            "RuntimeDirectory=timerd/daemon", "User=timerd", "NoNewPrivileges=yes",
        ] {
            #expect(lines.contains(Substring(line)), "\(line)")
        }
        #expect(unit.contains("ExecStart=/usr/bin/timerd run --config /etc/timerd/timerd.toml"))
    }

    @Test func everySourceHasItsLicence() throws {
        for folder in ["Sources", "Tests"] {
            let kinds: Set = ["swift", "c", "cpp", "h", "sh"]
            for (file, text) in try Project.sources(in: folder, ending: kinds) {
                #expect(text.prefix(200).contains("SPDX-License-Identifier: Apache-2.0"), "\(file)")
            }
        }
    }
}

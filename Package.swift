// swift-tools-version: 6.2
// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// CI sets this (`.ci/run`). Elsewhere a new warning of a newer compiler must not break the build.
let isStrict = Context.environment["TIMERD_WARNINGS_ARE_ERRORS"] != nil

/// What every C target is compiled with.
let cSettings: [CSetting] = isStrict ? [.treatAllWarnings(as: .error)] : []
let cxxSettings: [CXXSetting] = isStrict ? [.treatAllWarnings(as: .error)] : []

/// What every Swift target is compiled with.
let settings: [SwiftSetting] =
    (isStrict ? [.treatAllWarnings(as: .error)] : []) + [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ]

/// What goes through millions of cases in the tests is optimised in every build.
let optimised = settings + [.unsafeFlags(["-O"], .when(configuration: .debug))]

/// A library of another package, which only the daemon and its tools are made of. A program that takes this
/// package for `PausableTimers` alone says `traits: []` and fetches nothing else.
func daemons(_ name: String, of package: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: ["Daemon"]))
}

/// A small program in Sources/Examples.
func example(_ name: String) -> Target {
    .executableTarget(
        name: name, dependencies: ["PausableTimers"], path: "Sources/Examples/\(name)",
        swiftSettings: settings)
}

/// The tests of a target.
func tests(of target: String, _ more: Target.Dependency..., resources: [Resource]? = nil) -> Target
{
    .testTarget(
        name: "\(target)Tests", dependencies: [.byName(name: target)] + more, resources: resources,
        swiftSettings: settings)
}

let package = Package(
    name: "timerd",
    products: [
        .executable(name: "timerd", targets: ["timerd"]),
        .executable(name: "timerd-runner", targets: ["timerd-runner"]),
        .executable(name: "timerd-session", targets: ["timerd-session"]),
        .executable(name: "timerctl", targets: ["timerctl"]),
        .executable(name: "timerd-fleet", targets: ["timerd-fleet"]),
        // Timers inside a program, for any program, and the clocks and accounts of time below them.
        .library(name: "PausableTimers", targets: ["PausableTimers"]),
        .library(name: "Timekeeping", targets: ["Timekeeping"]),
        // For Benchmarks/, which measures the core without a daemon.
        .library(name: "TimerCore", targets: ["TimerCore"]),
        .library(name: "TimerZones", targets: ["TimerZones"]),
        .library(name: "TimerRunnerProtocol", targets: ["TimerRunnerProtocol"]),
    ],
    traits: [
        .trait(name: "Daemon", description: "The daemon, its runner and timerctl."),
        .default(enabledTraits: ["Daemon"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    ],
    targets: [
        // The machine's libraries.
        .systemLibrary(
            name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CPam", pkgConfig: "pam", providers: [.apt(["libpam0g-dev"])]),
        // What Swift cannot import, in C.
        .target(name: "CTomlPlusPlus", cxxSettings: cxxSettings),
        .target(name: "CSpawn", dependencies: ["CLinux"], cSettings: cSettings),
        .target(name: "CLinux", cSettings: cSettings),
        .target(name: "COpenAPI", exclude: ["openapi.json"], cSettings: cSettings),
        .target(
            name: "CWebPage", exclude: ["index.html", "app.css", "app.js", "icon.svg"],
            cSettings: cSettings),
        // No dependencies among Config, Store, Runner and Control, and none of Systemd on any Timer*.
        .target(name: "Systemd", dependencies: ["CLinux", "HostFiles"], swiftSettings: settings),
        .target(
            name: "SystemdActivation", dependencies: ["CSystemd", "Systemd"],
            swiftSettings: settings),
        .target(name: "HostFiles", swiftSettings: settings),
        .target(name: "HostThreads", dependencies: ["CLinux"], swiftSettings: settings),
        .target(name: "Timekeeping", swiftSettings: settings),
        .target(name: "PausableTimers", dependencies: ["Timekeeping"], swiftSettings: settings),
        .target(name: "TimerCore", dependencies: ["Timekeeping"], swiftSettings: optimised),
        .target(
            name: "TimerZones", dependencies: ["HostFiles", "TimerCore"], swiftSettings: settings),
        .target(
            name: "TimerConfig",
            dependencies: [
                "HostFiles", "HostThreads", "TimerCore", "TimerZones", "CTomlPlusPlus", "CLinux",
            ],
            swiftSettings: settings),
        .target(
            name: "TimerStore", dependencies: ["TimerCore", "CSQLite"], swiftSettings: settings),
        // The runner in four parts, so that the scheduler, which has no privileges, contains nothing that starts
        // processes: what both ends say, the scheduler's end, the runner's end, and threads for all.
        .target(
            name: "TimerRunnerProtocol", dependencies: ["TimerCore"], swiftSettings: settings),
        .target(
            name: "TimerRunnerClient",
            dependencies: ["HostFiles", "HostThreads", "TimerCore", "TimerRunnerProtocol"],
            swiftSettings: settings),
        .target(
            name: "TimerRunner",
            dependencies: [
                "CSpawn", "HostFiles", "HostThreads", "TimerCore", "TimerRunnerProtocol",
                daemons("HeapModule", of: "swift-collections"),
            ],
            swiftSettings: settings),
        .target(
            name: "TimerControl", dependencies: ["HostFiles", "TimerCore"], swiftSettings: settings),
        // Notifications about jobs as mails and requests: notifications in, bytes out.
        .target(
            name: "TimerNotify", dependencies: ["HostFiles", "TimerControl", "TimerCore"],
            swiftSettings: settings),
        // What machines that share jobs tell each other, and what each of them decides; no I/O.
        .target(
            name: "TimerFleet", dependencies: ["TimerCore"],
            swiftSettings: optimised),
        // The connection of a fleet to etcd.
        .target(
            name: "EtcdClient", dependencies: ["CCurl", "HostFiles", "TimerCore", "TimerFleet"],
            swiftSettings: settings),
        // What the scheduler and `timerd-fleet` say to each other, and the scheduler's end.
        .target(
            name: "TimerFleetLink",
            dependencies: [
                "HostFiles", "HostThreads", "TimerCore", "TimerFleet", "TimerRunnerProtocol",
            ],
            swiftSettings: settings),
        // What `timerctl import` makes of crontabs and units: text in, jobs out.
        .target(
            name: "TimerImport", dependencies: ["HostFiles", "TimerCore"], swiftSettings: settings),
        // The programs.
        .executableTarget(
            name: "timerd",
            dependencies: [
                "Systemd", "SystemdActivation", "TimerCore", "TimerZones", "TimerConfig",
                "TimerStore", "TimerRunnerClient", "TimerRunnerProtocol", "TimerControl",
                "TimerFleet", "TimerFleetLink", "TimerNotify", "CLinux",
                "COpenAPI", "CWebPage", "HostFiles", "HostThreads", "PausableTimers",
                daemons("ArgumentParser", of: "swift-argument-parser"),
                daemons("DequeModule", of: "swift-collections"),
                daemons("Logging", of: "swift-log"),
                daemons("NIOCore", of: "swift-nio"),
                daemons("NIOHTTP1", of: "swift-nio"),
                daemons("NIOPosix", of: "swift-nio"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "timerd-runner",
            dependencies: [
                "CLinux", "HostFiles", "HostThreads", "Systemd", "TimerConfig", "TimerCore",
                "TimerRunner", "TimerRunnerProtocol",
                daemons("ArgumentParser", of: "swift-argument-parser"),
            ],
            swiftSettings: settings),
        // The only one with a network, and with libcurl.
        .executableTarget(
            name: "timerd-fleet",
            dependencies: [
                "CLinux", "EtcdClient", "HostFiles", "HostThreads", "Systemd", "TimerConfig",
                "TimerCore", "TimerFleet", "TimerFleetLink", "TimerRunnerProtocol",
            ],
            swiftSettings: settings),
        // In C, and small: it starts once for each run in a PAM session, and forks.
        .executableTarget(
            name: "timerd-session", dependencies: ["CSpawn", "CPam"], cSettings: cSettings,
            // Without the libraries of Swift and C++, which every program is linked with.
            linkerSettings: [.unsafeFlags(["-Xlinker", "--as-needed"]), .linkedLibrary("pam")]),
        .executableTarget(
            name: "timerctl",
            dependencies: [
                "CLinux", "HostFiles", "TimerControl", "TimerCore", "TimerImport", "TimerZones",
                daemons("ArgumentParser", of: "swift-argument-parser"),
            ],
            swiftSettings: settings),
        // What a person may run to see the library work: `swift run fps`.
        example("fps"), example("pomodoro"), example("poller"),
        // The tests.
        tests(of: "Systemd", "SystemdActivation", "SystemdReceiver"),
        .target(name: "SeededRandom", path: "Tests/SeededRandom", swiftSettings: optimised),
        .target(name: "ConfigFolder", path: "Tests/ConfigFolder", swiftSettings: settings),
        .target(name: "SystemdReceiver", path: "Tests/SystemdReceiver", swiftSettings: settings),
        .target(name: "WebReceiver", path: "Tests/WebReceiver", swiftSettings: settings),
        tests(of: "Timekeeping", "SeededRandom"),
        tests(of: "PausableTimers", "SeededRandom"),
        tests(of: "TimerCore", "SeededRandom", resources: [.copy("Data")]),
        .testTarget(
            name: "LawTests", dependencies: ["SeededRandom", "TimerCore", "TimerZones"],
            swiftSettings: optimised),
        .testTarget(name: "ModelTests", dependencies: ["TimerCore"], swiftSettings: optimised),
        .target(
            name: "StoreModel", dependencies: ["TimerFleet"], path: "Tests/StoreModel",
            swiftSettings: optimised),
        .testTarget(
            name: "FleetModelTests", dependencies: ["StoreModel", "TimerCore", "TimerFleet"],
            swiftSettings: optimised),
        tests(
            of: "TimerConfig", "ConfigFolder", "SeededRandom", "TimerCore", "TimerZones",
            resources: [.copy("Corpus")]),
        tests(of: "TimerStore", "TimerCore"),
        tests(
            of: "TimerRunner", "SeededRandom", "TimerCore", "CSpawn", "HostThreads",
            "TimerRunnerClient", "TimerRunnerProtocol", "WebReceiver"),
        tests(of: "TimerZones", "SeededRandom", "TimerCore"),
        tests(
            of: "TimerImport", "HostFiles", "SeededRandom", "TimerCore", "TimerConfig",
            "TimerZones"),
        tests(of: "TimerControl", "SeededRandom", "TimerCore"),
        tests(of: "TimerNotify", "SeededRandom", "TimerCore"),
        tests(of: "TimerFleet", "SeededRandom", "TimerCore"),
        tests(
            of: "TimerFleetLink", "HostThreads", "SeededRandom", "TimerCore", "TimerFleet",
            "TimerRunnerProtocol"),
        tests(of: "EtcdClient", "SeededRandom", "TimerCore", "TimerFleet", "WebReceiver"),
        .testTarget(
            name: "RealEtcdTests",
            dependencies: [
                "EtcdClient", "HostFiles", "SeededRandom", "StoreModel", "TimerCore", "TimerFleet",
                "TimerFleetLink", "TimerRunnerProtocol", "timerd-fleet",
            ],
            path: "Tests/Etcd", exclude: ["run", "server"], swiftSettings: settings),
        tests(
            of: "timerd", "timerctl", "timerd-runner", "CLinux", "ConfigFolder", "HostFiles",
            "Systemd", "SystemdReceiver", "SeededRandom", "StoreModel", "TimerConfig",
            "TimerControl", "TimerFleet", "TimerFleetLink", "WebReceiver", "TimerCore",
            "TimerRunner", "TimerStore", "TimerZones",
            daemons("ArgumentParser", of: "swift-argument-parser"),
            daemons("Logging", of: "swift-log"),
            daemons("NIOCore", of: "swift-nio"),
            daemons("NIOEmbedded", of: "swift-nio"),
            daemons("NIOHTTP1", of: "swift-nio")),
        .testTarget(name: "HouseTests", swiftSettings: settings),
        .testTarget(
            name: "LifeTests",
            dependencies: [
                "timerd", "timerd-runner", "timerctl", "TimerControl", "TimerCore", "CSQLite",
                "SeededRandom", "SystemdReceiver", "WebReceiver",
            ],
            swiftSettings: settings),
    ],
    cLanguageStandard: .gnu17,
    cxxLanguageStandard: .cxx17
)

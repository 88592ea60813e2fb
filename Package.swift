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

/// The library, and what it is made of: the linker drops each function that a program does not use, also a public one.
/// Since Swift 6.2 a package with such flags can be a dependency.
let lean =
    settings + [
        .unsafeFlags(
            ["-Xfrontend", "-function-sections", "-Xfrontend", "-internalize-at-link"],
            .when(configuration: .release))
    ]

/// What goes through millions of cases in the tests is optimised in every build.
let optimised = settings + [.unsafeFlags(["-O"], .when(configuration: .debug))]

/// A library of another package, which only the daemon and its tools are made of. A program that takes this
/// package for `PausableTimers` alone says `traits: []` and fetches nothing else.
func daemons(_ name: String, of package: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: ["Daemon"]))
}

let arguments = daemons("ArgumentParser", of: "swift-argument-parser")
let log = daemons("Logging", of: "swift-log")
let deques = daemons("DequeModule", of: "swift-collections")
let nio = daemons("NIOCore", of: "swift-nio")
let nioHTTP = daemons("NIOHTTP1", of: "swift-nio")
let nioPosix = daemons("NIOPosix", of: "swift-nio")

/// A Swift target of a wing, a folder in Sources/.
func swift(
    _ name: String, in wing: String, _ dependencies: [Target.Dependency] = [],
    settings: [SwiftSetting] = settings
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Sources/\(wing)/\(name)",
        swiftSettings: settings)
}

/// A program in Swift.
func program(_ name: String, in wing: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "Sources/\(wing)/\(name)",
        swiftSettings: settings)
}

/// A library of the machine.
func system(_ name: String, in wing: String, pkgConfig: String, package: String) -> Target {
    .systemLibrary(
        name: name, path: "Sources/\(wing)/\(name)", pkgConfig: pkgConfig,
        providers: [.apt([package])])
}

/// What Swift cannot import, in C or C++.
func c(
    _ name: String, in wing: String, _ dependencies: [Target.Dependency] = [],
    exclude: [String] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Sources/\(wing)/\(name)", exclude: exclude,
        cSettings: cSettings, cxxSettings: cxxSettings)
}

/// The tests of a target.
func tests(of target: String, _ more: Target.Dependency..., resources: [Resource]? = nil) -> Target
{
    .testTarget(
        name: "\(target)Tests", dependencies: [.byName(name: target)] + more,
        path: "Tests/Unit/\(target)Tests", resources: resources, swiftSettings: settings)
}

/// What several tests use.
func support(
    _ name: String, _ dependencies: [Target.Dependency] = [], in folder: String = "Support",
    settings: [SwiftSetting] = settings
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Tests/\(folder)/\(name)",
        swiftSettings: settings)
}

/// Tests that draw millions of cases and compare them with a model or a law.
func model(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/Model/\(name)",
        swiftSettings: optimised)
}

// The wings. Each has a README.md, and `DependencyTests` checks what it may import.

let host: [Target] = [
    system("CSystemd", in: "Host", pkgConfig: "libsystemd", package: "libsystemd-dev"),
    c("CLinux", in: "Host"),
    swift("HostFiles", in: "Host"),
    swift("HostThreads", in: "Host", ["CLinux"]),
    // Not in HostThreads: Dispatch and actors would be in programs that have neither.
    swift("HostQueues", in: "Host", ["HostThreads"]),
    swift("Systemd", in: "Host", ["CLinux", "HostFiles"]),
    swift("SystemdActivation", in: "Host", ["CSystemd", "Systemd"]),
]

let library: [Target] =
    [swift("PausableTimers", in: "Library", ["Instants", "Timekeeping"], settings: lean)]
    // What a person may run to see the library work: `swift run fps`.
    + ["fps", "pomodoro", "poller"].map { program($0, in: "Library/Examples", ["PausableTimers"]) }

let core: [Target] = [
    swift("Instants", in: "Core", settings: lean),
    swift("Timekeeping", in: "Core", ["Instants"], settings: lean),
    swift("TimerCore", in: "Core", ["Timekeeping"], settings: optimised),
    swift("TimerZones", in: "Core", ["HostFiles", "TimerCore"]),
    swift("TimerJSON", in: "Core", settings: optimised),
    c("CTomlPlusPlus", in: "Core"),
    swift(
        "TimerConfig", in: "Core",
        [
            "HostFiles", "HostThreads", "TimerCore", "TimerJSON", "TimerZones", "CTomlPlusPlus",
            "CLinux",
        ]),
]

// What both ends say, the scheduler's end and the runner's end are targets of their own, so that the scheduler, which
// has no privileges, contains nothing that starts processes.
let runner: [Target] = [
    swift("TimerRunnerProtocol", in: "Runner", ["TimerCore"]),
    swift(
        "TimerRunnerClient", in: "Runner",
        ["HostFiles", "HostThreads", "TimerCore", "TimerRunnerProtocol"]),
    c("CSpawn", in: "Runner", ["CLinux"]),
    swift(
        "TimerRunner", in: "Runner",
        [
            "CSpawn", "HostFiles", "HostThreads", "TimerCore", "TimerRunnerProtocol",
            daemons("HeapModule", of: "swift-collections"),
        ]),
    program(
        "timerd-runner", in: "Runner",
        [
            "CLinux", "HostFiles", "HostThreads", "Systemd", "TimerConfig", "TimerCore",
            "TimerJSON", "TimerRunner", "TimerRunnerProtocol", arguments,
        ]),
    system("CPam", in: "Runner", pkgConfig: "pam", package: "libpam0g-dev"),
    // In C, and small: it starts once for each run in a PAM session, and forks.
    .executableTarget(
        name: "timerd-session", dependencies: ["CSpawn", "CPam"],
        path: "Sources/Runner/timerd-session", cSettings: cSettings,
        // Without the libraries of Swift and C++, which every program is linked with.
        linkerSettings: [.unsafeFlags(["-Xlinker", "--as-needed"]), .linkedLibrary("pam")]),
]

let control: [Target] = [
    swift("TimerControl", in: "Control", ["HostFiles", "TimerCore", "TimerJSON"]),
    c("COpenAPI", in: "Control", exclude: ["openapi.json", "schemas.json"]),
    c("CWebPage", in: "Control", exclude: ["index.html", "app.css", "icon.svg", "script"]),
    // A connection over which requests come and answers go: of the control socket, or of a browser.
    swift("TimerHTTP", in: "Control", ["TimerControl", "TimerCore", nio, nioHTTP]),
    // The web server, another process.
    swift(
        "TimerWeb", in: "Control",
        ["CWebPage", "TimerControl", "TimerCore", "TimerHTTP", nio, nioHTTP, nioPosix]),
    program(
        "timerctl", in: "Control",
        [
            "CLinux", "HostFiles", "TimerControl", "TimerCore", "TimerImport", "TimerZones",
            arguments,
        ]),
]

let others: [Target] = [
    // Notifications about jobs as mails and requests: notifications in, bytes out.
    swift("TimerNotify", in: "Notify", ["HostFiles", "TimerControl", "TimerCore"]),
    // What `timerctl import` makes of crontabs and units: text in, jobs out.
    swift("TimerImport", in: "Import", ["HostFiles", "TimerCore"]),
]

let fleet: [Target] = [
    // What machines that share jobs tell each other, and what each of them decides; no I/O.
    swift("TimerFleet", in: "Fleet", ["TimerCore", "TimerJSON"], settings: optimised),
    // What the scheduler and `timerd-fleet` say to each other, and the scheduler's end.
    swift(
        "TimerFleetLink", in: "Fleet",
        ["HostFiles", "HostThreads", "TimerCore", "TimerFleet", "TimerRunnerProtocol"]),
    system("CCurl", in: "Fleet", pkgConfig: "libcurl", package: "libcurl4-openssl-dev"),
    swift(
        "EtcdClient", in: "Fleet", ["CCurl", "HostFiles", "TimerCore", "TimerFleet", "TimerJSON"]),
    // The only one with a network, and with libcurl.
    program(
        "timerd-fleet", in: "Fleet",
        [
            "CLinux", "EtcdClient", "HostFiles", "HostThreads", "Systemd", "TimerConfig",
            "TimerCore", "TimerFleet", "TimerFleetLink", "TimerJSON", "TimerRunnerProtocol",
        ]),
]

let scheduler: [Target] = [
    system("CSQLite", in: "Scheduler", pkgConfig: "sqlite3", package: "libsqlite3-dev"),
    swift("TimerStore", in: "Scheduler", ["TimerCore", "CSQLite"]),
    // What is saved, when: the store's queue, the heartbeat, copies.
    swift(
        "TimerRecording", in: "Scheduler",
        [
            "CLinux", "HostFiles", "HostQueues", "HostThreads", "TimerCore", "TimerStore", log,
            deques,
        ]),
    // The entries of the log, and the events for those who follow them.
    swift(
        "TimerLog", in: "Scheduler",
        [
            "HostQueues", "HostThreads", "Systemd", "TimerControl", "TimerCore", "TimerJSON", log,
            deques, nio,
        ]),
    // The loop and all that it decides about and for.
    swift(
        "TimerDaemon", in: "Scheduler",
        [
            "CLinux", "HostFiles", "HostQueues", "HostThreads", "PausableTimers", "Systemd",
            "TimerConfig",
            "TimerControl", "TimerCore", "TimerFleet", "TimerFleetLink", "TimerLog",
            "TimerNotify", "TimerRecording", "TimerRunnerProtocol", "TimerStore", "TimerZones",
            log, deques,
        ]),
    // The answers of the control API, and who may have them.
    swift(
        "TimerAPI", in: "Scheduler",
        [
            "CLinux", "COpenAPI", "HostFiles", "HostQueues", "HostThreads", "TimerConfig",
            "TimerControl",
            "TimerCore", "TimerDaemon", "TimerFleet", "TimerFleetLink", "TimerHTTP", "TimerLog",
            "TimerNotify", "TimerRecording", "TimerRunnerProtocol", "TimerStore", "TimerZones",
            log, nio, nioHTTP, nioPosix,
        ]),
    // The commands that need no daemon.
    swift(
        "TimerTools", in: "Scheduler",
        [
            "HostFiles", "HostQueues", "HostThreads", "TimerConfig", "TimerControl", "TimerCore",
            "TimerDaemon", "TimerRecording", "TimerStore", "TimerZones", arguments,
        ]),
    program(
        "timerd", in: "Scheduler",
        [
            "CLinux", "HostFiles", "HostQueues", "HostThreads", "Systemd", "SystemdActivation",
            "TimerAPI",
            "TimerConfig", "TimerControl", "TimerCore", "TimerDaemon", "TimerFleet",
            "TimerFleetLink", "TimerHTTP", "TimerLog", "TimerNotify", "TimerRecording",
            "TimerRunnerClient", "TimerRunnerProtocol", "TimerStore", "TimerTools", "TimerWeb",
            "TimerZones", arguments, log, nio, nioPosix,
        ]),
]

let unitTests: [Target] = [
    tests(of: "Systemd", "SystemdActivation", "SystemdReceiver"),
    tests(of: "Timekeeping", "SeededRandom"),
    tests(of: "PausableTimers", "SeededRandom"),
    tests(of: "TimerCore", "ProjectFiles", "SeededRandom", resources: [.copy("Data")]),
    tests(
        of: "TimerConfig", "ConfigFolder", "ProjectFiles", "SeededRandom", "TimerCore",
        "TimerJSON", "TimerZones", resources: [.copy("Corpus"), .copy("Data")]),
    tests(of: "TimerJSON", "SeededRandom"),
    tests(of: "TimerStore", "TimerCore"),
    tests(
        of: "TimerRunner", "SeededRandom", "TimerCore", "CSpawn", "HostThreads",
        "TimerRunnerClient", "TimerRunnerProtocol", "WebReceiver"),
    tests(of: "TimerZones", "SeededRandom", "TimerCore"),
    tests(
        of: "TimerImport", "HostFiles", "SeededRandom", "TimerCore", "TimerConfig", "TimerZones"),
    tests(of: "TimerControl", "SeededRandom", "TimerCore"),
    tests(of: "TimerNotify", "SeededRandom", "TimerCore"),
    tests(of: "TimerFleet", "SeededRandom", "TimerCore"),
    tests(
        of: "TimerFleetLink", "HostThreads", "SeededRandom", "TimerCore", "TimerFleet",
        "TimerRunnerProtocol"),
    tests(of: "EtcdClient", "SeededRandom", "TimerCore", "TimerFleet", "TimerJSON", "WebReceiver"),
    tests(of: "timerctl", "ManualPages", "ProjectFiles", "TimerControl", "TimerCore", arguments),
    tests(
        of: "timerd", "timerctl", "timerd-runner", "CLinux", "ConfigFolder", "HostFiles",
        "HostQueues", "HostThreads", "ManualPages", "ProjectFiles", "Systemd", "SystemdReceiver",
        "SeededRandom",
        "StoreModel",
        "TimerAPI", "TimerConfig", "TimerControl", "TimerCore", "TimerDaemon", "TimerFleet",
        "TimerFleetLink", "TimerHTTP", "TimerLog", "TimerRecording", "TimerRunner", "TimerStore",
        "TimerTools", "TimerWeb", "TimerZones", "WebReceiver", arguments, log, nio, nioHTTP,
        daemons("NIOEmbedded", of: "swift-nio")),
    // The house rules: what the sources and the pages must look like.
    .testTarget(
        name: "HouseTests", dependencies: ["ProjectFiles"], path: "Tests/Unit/HouseTests",
        swiftSettings: settings),
]

let modelTests: [Target] = [
    model("LawTests", "SeededRandom", "TimerCore", "TimerZones"),
    model("ModelTests", "TimerCore"),
    model(
        "LoopModelTests", "SeededRandom", "TimerCore", "TimerDaemon", "TimerRecording", "TimerStore"
    ),
    support("StoreModel", ["TimerFleet"], in: "Model", settings: optimised),
    model("FleetModelTests", "StoreModel", "TimerCore", "TimerFleet"),
]

let systemTests: [Target] = [
    .testTarget(
        name: "RealEtcdTests",
        dependencies: [
            "EtcdClient", "HostFiles", "SeededRandom", "StoreModel", "TimerCore", "TimerFleet",
            "TimerFleetLink", "TimerJSON", "TimerRunnerProtocol", "timerd-fleet",
        ],
        path: "Tests/System/Etcd", exclude: ["run", "server"], swiftSettings: settings),
    .testTarget(
        name: "LifeTests",
        dependencies: [
            "timerd", "timerd-runner", "timerctl", "TimerControl", "TimerCore", "CSQLite",
            "ProjectFiles", "SeededRandom", "SystemdReceiver", "WebReceiver",
        ],
        path: "Tests/System/LifeTests", swiftSettings: settings),
]

let testSupport: [Target] = [
    support("SeededRandom", settings: optimised),
    support("ConfigFolder"),
    support("ProjectFiles"),
    support("ManualPages"),
    support("SystemdReceiver"),
    support("WebReceiver"),
]

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
    targets: host + core + library + runner + control + others + fleet + scheduler
        + unitTests + modelTests + systemTests + testSupport,
    cLanguageStandard: .gnu17,
    cxxLanguageStandard: .cxx17
)

// swift-tools-version: 6.2
// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// As in the package that is measured.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

let core: [Target.Dependency] = [
    .product(name: "TimerCore", package: "timerd"),
    .product(name: "TimerZones", package: "timerd"),
]

let package = Package(
    name: "timerd-benchmarks",
    dependencies: [.package(name: "timerd", path: "..")],
    targets: [
        // What both programs below do their work on.
        .target(name: "Workload", dependencies: core, swiftSettings: settings),
        // The cases `next` and `agenda`: figures as lines of JSON.
        .executableTarget(
            name: "CoreBench", dependencies: core + ["Workload"], swiftSettings: settings),
        // What the case `cost` compares with: the timers and the processes, and nothing else.
        .executableTarget(name: "BareTimers", swiftSettings: settings),
        // The case `timers`: timers inside a program beside bare ones.
        .target(name: "CMalloc"),
        .executableTarget(
            name: "TimerBench",
            dependencies: ["CMalloc", .product(name: "PausableTimers", package: "timerd")],
            swiftSettings: settings),
        // The paths whose instructions are counted by `make bench-guard`.
        .executableTarget(
            name: "PathGuard",
            dependencies: core + [
                "Workload", .product(name: "TimerRunnerProtocol", package: "timerd"),
            ], swiftSettings: settings),
    ]
)

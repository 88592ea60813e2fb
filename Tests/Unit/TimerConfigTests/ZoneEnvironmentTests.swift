// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerZones

/// The meaning of the environment variable TZ.
@Suite struct ZoneEnvironmentTests {
    /// The offset in hours on the first of January and July of 2026.
    private func offsets(_ value: String?) throws -> [Int] {
        let zone = try ZoneFiles(local: "/nonexistent", environment: value).local()
        #expect(zone.isLocal)
        return ["2026-01-01T00:00:00Z", "2026-07-01T00:00:00Z"].map {
            zone.offset(at: WallInstant(rfc3339: $0)!) / 3600
        }
    }

    @Test(
        arguments: [
            (nil, [0, 0]), ("", [0, 0]), (":", [0, 0]), ("UTC", [0, 0]), ("Europe/Berlin", [1, 2]),
            (":Europe/Berlin", [1, 2]), (":/usr/share/zoneinfo/Asia/Tokyo", [9, 9]),
            ("/usr/share/zoneinfo/Asia/Tokyo", [9, 9]), ("EST5EDT,M3.2.0,M11.1.0", [-5, -4]),
            ("EST5EDT", [-5, -4]), ("<+03>-3", [3, 3]), ("CET-1CEST,M3.5.0,M10.5.0/3", [1, 2]),
            (":/nonexistent", [0, 0]),
        ] as [(String?, [Int])])
    func isHonoured(value: String?, offsets expected: [Int]) throws {
        let files = ZoneFiles(local: "/nonexistent", environment: value)
        #expect(files.environmentFault == nil)
        #expect(try offsets(value) == expected)
    }

    /// Then the machine's own zone file is used, with a warning.
    @Test(arguments: [
        "Nowhere/AtAll", "../etc/passwd", "Europe/../Europe/Berlin", "Mars", "EST5EDT4FOO",
        "EST5EDT4",
        "/etc/passwd", "/etc", "/nonexistent/zone", " ", "Europe", "UTC+99", "\n", "::UTC",
        String(repeating: "A", count: 10_000),
    ])
    func isPassedOver_ifItIsNoZone(value: String) throws {
        let files = ZoneFiles(
            local: "/usr/share/zoneinfo/Europe/Berlin", environment: value)
        #expect(files.environmentFault != nil, "\(value)")
        let noon = try #require(WallInstant(rfc3339: "2026-01-01T12:00:00Z"))
        #expect(try files.local().offset(at: noon) == 3600, "\(value)")
    }

    @Test func aZoneIsFoundByTheNameItsRulesHave() throws {
        for value in ["EST5EDT,M3.2.0,M11.1.0", "Europe/Berlin", "UTC"] {
            let files = ZoneFiles(local: "/nonexistent", environment: value)
            let zone = try files.local()
            #expect(
                try files.rules(under: zone.name).offset(at: .init(secondsSinceEpoch: 0))
                    == zone.offset(at: .init(secondsSinceEpoch: 0)))
        }
        #expect(throws: ZoneFiles.Failure.self) { try ZoneFiles().rules(under: "Nowhere/AtAll") }
    }

    /// Many jobs share the rules of their zone.
    @Test func theZoneOfTheMachineIsReadOnce() throws {
        let path = "/tmp/timerd-zone-\(UUID().uuidString)"
        defer { unlink(path) }
        symlink("/usr/share/zoneinfo/Europe/Berlin", path)
        let files = ZoneFiles(local: path, environment: nil)
        let zone = try files.local()
        #expect(zone.name == "Europe/Berlin")
        unlink(path)
        symlink("/usr/share/zoneinfo/Asia/Tokyo", path)
        #expect(try files.local() == zone)
        #expect(try ZoneFiles(local: path, environment: nil).local().name == "Asia/Tokyo")
    }
}

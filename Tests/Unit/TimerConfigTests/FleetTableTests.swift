// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import TimerConfig

/// What `timerd-fleet` reads of the configuration.
@Suite struct FleetTableTests {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "connection-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("jobs.d"), withIntermediateDirectories: true)
    }

    /// Writes the files and reads them.
    private func read(_ main: String, other: String? = nil) throws -> FleetSettings? {
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("timerd.toml").path
        try main.write(toFile: path, atomically: true, encoding: .utf8)
        if let other {
            try other.write(
                toFile: folder.appendingPathComponent("jobs.d/a.toml").path, atomically: true,
                encoding: .utf8)
        }
        return try ConfigReader.fleetSettings(path: path, ownerUID: geteuid())
    }

    private let whole = """
        [fleet]
        name = "prod"
        machine = "web1"
        etcd = ["https://10.0.0.1:2379", "https://10.0.0.2:2379"]
        ca = "/etc/ca.pem"
        certificate = "/etc/c.pem"
        key = "/etc/k.pem"
        user = "web1"
        password-file = "/etc/password"
        lease = "15s"
        """

    @Test func allOfItIsRead() throws {
        let found = try #require(try read(whole))
        #expect(found.name == "prod" && found.lease == .seconds(15))
        #expect(found.etcd == ["https://10.0.0.1:2379", "https://10.0.0.2:2379"])
        #expect(found.ca == "/etc/ca.pem" && found.certificate == "/etc/c.pem")
        #expect(found.key == "/etc/k.pem" && found.user == "web1")
        #expect(found.passwordFile == "/etc/password")
    }

    /// The scheduler reports mistakes that have nothing to do with the connection.
    @Test func otherTablesAndFilesDoNotMatter() throws {
        #expect(try read("[job.a]\nevery = 5\n", other: whole)?.name == "prod")
        #expect(try FleetTableTests().read(whole, other: "[[")?.name == "prod")
        #expect(try FleetTableTests().read("[job.a]\n") == nil)
    }

    @Test(arguments: [
        ("[fleet]\netcd = [\"https://a:1\"]", "the name of the fleet, is missing"),
        ("[fleet]\netcd = [\"x\"]", "is not an address"),
        ("[fleet]\nname = \"a\"", "etcd is missing"),
        ("[fleet]\nname = \"a b\"", "is not a name"), ("[fleet]\netcd = \"x\"", "must be an array"),
        ("[fleet]\netcd = []", "0 addresses"), ("[fleet]\netcd = [1]", "must be a string"),
        ("[fleet]\nca = \"ca.pem\"", "absolute path"),
        ("[fleet]\nname = \"a\"\netcd = [\"https://a:1\"]\nuser = \"b\"", "go together"),
        ("[fleet]\nlease = \"1ms\"", "from 3 s to 10 min"),
        ("[fleet]\nlease = 5", "time span"), ("fleet = 1", "must be a table"), ("[fleet", " "),
    ])
    func mistakesAreReportedWithTheirPlace(text: String, message: String) throws {
        let error = #expect(throws: ConfigError.self) { try read(text) }
        #expect(error?.message.contains(message) == true, "\(error?.description ?? "")")
        #expect(error?.mark != nil && error?.file.hasSuffix("timerd.toml") == true)
    }

    @Test func aMachineBelongsToOneFleet() throws {
        let error = #expect(throws: ConfigError.self) { try read(whole, other: whole) }
        #expect(error?.message.contains("one fleet") == true)
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ConfigFolder
import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerConfig

/// What a reload uses of a configuration some of whose files have errors.
@Suite struct ConfigPartTests {
    private let folder = ConfigFolder()

    private func job(_ name: String, _ more: String = "") -> String {
        "[job.\(name)]\nshell = \"true\"\nevery = \"1h\"\n\(more)\n"
    }

    private func load() throws -> ConfigReading {
        try ConfigReader.load(path: folder.main, ownerUID: geteuid())
    }

    /// The jobs after a reload from some files to others, each job with its interval; nil if the
    /// whole configuration is refused.
    private func reload(
        from old: [String: String], to new: [String: String]
    ) throws -> (jobSet: String, origins: ConfigOrigins, refused: String)? {
        try folder.replace(with: old)
        let before = try load()
        try folder.replace(with: new)
        guard let part = try load().part(over: ConfigOrigins(of: before)) else { return nil }
        let kept = part.kept.compactMap { kept in
            before.jobSet.jobs.first { $0.name == kept.job }
        }
        let jobSet = try part.jobSet(keeping: kept).jobs.map { job in
            job.schedule == .every(.seconds(3600)) ? "\(job.name)" : "\(job.name)*"
        }
        let refused = part.refused.map { $0.split(separator: "/").last ?? "" }
        return (jobSet.joined(separator: " "), part.origins, refused.joined(separator: " "))
    }

    @Test func theJobsOfAFileWithAnErrorStayAsTheyAre_inTheirPlaces() throws {
        let files = ["main": job("m"), "1": job("a") + job("b"), "2": job("c"), "3": job("d")]
        for bad in ["[!", "[job.a]\nevry = 1\n" + job("b").replacing("1h", with: "2h"), "[x]\n"] {
            let new = files.merging(["1": bad, "2": job("c").replacing("1h", with: "2h")]) { $1 }
            let found = try #require(try reload(from: files, to: new))
            #expect(found.jobSet == "m a b c* d" && found.refused == "1.toml", "\(bad)")
            #expect(
                found.origins.jobs(of: folder.path(of: "1")).map(\.description) == ["a", "b"])
        }
    }

    @Test func anErrorOfTheMainFileOrOfAllJobsRefusesEverything() throws {
        let files = ["main": job("m"), "1": job("a")]
        #expect(
            try reload(from: files, to: files.merging(["main": "[x]\n" + job("m")]) { $1 }) == nil)
        let many = "[daemon]\njobs-max = 2\n" + job("m")
        #expect(try reload(from: files, to: ["main": many, "1": job("a"), "2": job("b")]) == nil)
        // There are no errors, so no part is made.
        #expect(try reload(from: files, to: files) == nil)
    }

    /// The allowed users must not change because another line of the file has an error.
    @Test func aFileThatSaysSomethingOfAllJobsIsRefusedWithEverythingElse() throws {
        let settings = "[daemon]\nallowed-users = [\"root\"]\n"
        let user = "user = \"root\""
        let files = ["main": job("m", user), "1": settings + job("a", user)]
        let good = ["main": job("m"), "1": job("a")]
        #expect(try reload(from: files, to: files.merging(["1": "[!"]) { $1 }) == nil)
        #expect(try reload(from: good, to: good.merging(["1": settings + "[x]\n"]) { $1 }) == nil)
    }

    @Test func aNewFileWithAnErrorHasNoJobsToKeep() throws {
        let files = ["main": job("m")]
        let found = try #require(
            try reload(from: files, to: files.merging(["1": "[!", "2": job("b")]) { $1 }))
        #expect(found.jobSet == "m b" && found.refused == "1.toml")
    }

    @Test func aJobThatIsMovedOutOfARefusedFileIsWhereItIsNow_andOneMovedInIsNotLost() throws {
        let files = ["main": job("m"), "1": job("a") + job("b")]
        let out = try #require(
            try reload(
                from: files,
                to: ["main": job("m"), "1": "[!", "2": job("a").replacing("1h", with: "2h")]))
        #expect(out.jobSet == "m b a*")
        #expect(out.origins.jobs(of: folder.path(of: "1")).map(\.description) == ["b"])
        let into = try #require(
            try reload(
                from: files.merging(["2": job("c")]) { $1 },
                to: ["main": job("m"), "1": job("a"), "2": job("b") + "[job.c]\nx = 1\n"]))
        #expect(into.jobSet == "m a c b" && into.refused == "2.toml")
    }

    @Test func twoFilesOfOneName_andAJobThatStays_doNotGoTogetherWithANewName() throws {
        let files = ["main": job("m"), "1": job("a")]
        let twice = try #require(
            try reload(
                from: files, to: files.merging(["2": job("a").replacing("1h", with: "2h")]) { $1 }))
        #expect(twice.jobSet == "m a" && twice.refused == "2.toml")
        do {
            _ = try reload(
                from: files,
                to: ["main": job("m"), "1": "[!", "2": job("new", "renamed-from = \"a\"")])
            Issue.record("accepted")
        } catch let error as ConfigError {
            #expect(error.file == folder.path(of: "1"))
            #expect(error.message.contains("its job \"a\" stays as it is, so job \"new\""))
        }
    }

    @Test func moreJobsThanAllowedAreRefusedTogetherWithThoseThatStay() throws {
        let max = "[daemon]\njobs-max = 2\n" + job("m")
        #expect(throws: ConfigError.self) {
            _ = try reload(
                from: ["main": max, "1": job("a")], to: ["main": max, "1": "[!", "2": job("b")])
        }
    }

    // MARK: - The digest

    @Test func theDigestChangesWithContentsAndWithWhatKeepsFilesFromBeingRead() throws {
        let main = folder.main
        func digest() -> Int { ConfigReader.digest(path: main, ownerUID: geteuid()) }
        try folder.replace(with: ["main": job("m"), "1": job("a")])
        var seen = [digest()]
        #expect(digest() == seen[0])
        utimes(main, nil)
        try folder.write(job("m"), to: "main")
        #expect(
            digest() == seen[0], "touching or replacing a file with its own content is no change")
        chmod(main, 0o666)
        seen.append(digest())
        chmod(main, 0o644)
        #expect(digest() == seen[0])
        rename(folder.path(of: "1"), folder.path(of: "2"))
        seen.append(digest())
        try folder.write("x", to: "2", atomically: false)
        seen.append(digest())
        try folder.write(nil, to: "2")
        seen.append(digest())
        unlink(main)
        seen.append(digest())
        #expect(Set(seen).count == seen.count)
    }
}

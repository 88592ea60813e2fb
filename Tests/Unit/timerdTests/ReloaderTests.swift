// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ConfigFolder
import Dispatch
import Foundation
import Glibc
import HostQueues
import Logging
import SeededRandom
import Systemd
import Testing
import TimerConfig
import TimerControl
import TimerCore

@testable import TimerAPI
@testable import TimerDaemon

/// Reloads of a configuration of several files.
@Suite struct ReloaderTests {
    private let folder = ConfigFolder()
    private var main: String { folder.main }

    private func job(_ name: String, every hours: Int = 1) -> String {
        "[job.\(name)]\nshell = \"true\"\nevery = \"\(hours)h\"\n"
    }

    /// Writes a file; nil removes it.
    private func write(_ text: String?, to name: String) throws {
        let settings = name == "main" ? "[daemon]\nauto-reload = false\n" : ""
        try folder.write(text.map { settings + $0 }, to: name)
    }

    private func load() throws -> ConfigReading {
        try ConfigReader.load(path: main, ownerUID: geteuid(), seed: MachineID.seed)
    }

    /// A loop with the jobs of the files, and what reloads them.
    private func start() async throws -> (LoopFixture, Reloader) {
        let digest = ConfigReader.digest(path: main, ownerUID: geteuid())
        let reading = try load()
        let fixture = try LoopFixture(reading.jobSet.jobs)
        await fixture.waitUntilReady()
        let log = Logger(label: "reloader") { _ in SwiftLogNoOpLogHandler() }
        let reloader = Reloader(
            path: main, user: geteuid(), inUse: Reloader.InUse(reading, digest: digest),
            loop: fixture.loop, apply: { _ in },
            supervision: Supervision(
                notify: Notify(address: nil), watchdogInterval: nil, log: log),
            clocks: fixture.clocks, log: log, runsJobs: true)
        return (fixture, reloader)
    }

    private func reload(_ reloader: Reloader) async -> Result<ReloadReply, ErrorReply> {
        await withCheckedContinuation { continuation in
            reloader.reload(by: "a test") { continuation.resume(returning: $0) }
        }
    }

    /// The jobs in use, in their order.
    private func jobs(_ loop: Loop) async -> [Job] {
        await withCheckedContinuation { continuation in
            loop.later { loop in
                let jobs = loop.agenda.names.compactMap { loop.agenda.definition(of: $0) }
                continuation.resume(returning: jobs)
            }
        }
    }

    /// The result in words: which jobs were added, changed and removed, and how many stay.
    private func told(_ result: Result<ReloadReply, ErrorReply>) -> String {
        switch result {
        case .success(let reply):
            [reply.added, reply.redefined, reply.removed]
                .map { $0.map(\.job).joined(separator: " ") }.joined(separator: ", ")
                + ", \(reply.kept)"
        case .failure(let error): "\(error)"
        }
    }

    @Test func aReloadChangesWhatHasChanged_andNothingElse() async throws {
        try write(job("m"), to: "main")
        for name in ["a", "b", "c"] { try write(job(name), to: name) }
        let (fixture, reloader) = try await start()
        func result() async throws -> String {
            let told = told(await reload(reloader))
            let (inUse, inFiles) = (await jobs(fixture.loop), try load().jobSet.jobs)
            #expect(inUse == inFiles)
            return told
        }
        #expect(try await result() == ", , , 4")
        try write(job("b", every: 2), to: "b")
        #expect(try await result() == ", b, , 3")
        try write(nil, to: "a")
        try write(job("d"), to: "d")
        #expect(try await result() == "d, , a, 3")
        try write(job("b", every: 2) + "description = \"x\"\n" + job("c"), to: "b")
        try write("", to: "c")
        #expect(try await result() == ", b, , 3")
        // After an error all files are parsed.
        try write("[!", to: "b")
        _ = await reload(reloader)
        try write(job("b"), to: "b")
        #expect(try await result() == ", b, c, 2")
    }

    /// The dates of a list are read again at each reload, and a wrong file refuses it.
    @Test func aReloadReadsTheDatesAgain() async throws {
        let dates = "\(folder.path)/holidays.txt"
        func writeDates(_ text: String) throws {
            try text.write(toFile: dates, atomically: true, encoding: .utf8)
            chmod(dates, 0o644)
        }
        let use = "calendar = \"08:00\"\nexcept = [\"h\"]\n"
        try writeDates("*-12-25\n")
        try write("[dates.h]\nfile = \"holidays.txt\"\n", to: "main")
        try write("[job.a]\nshell = \"true\"\n" + use, to: "a")
        try write(job("b"), to: "b")
        let (fixture, reloader) = try await start()
        func result() async throws -> String { told(await reload(reloader)) }
        #expect(try await result() == ", , , 2")
        try writeDates("*-12-26\n")
        #expect(try await result() == ", a, , 1")
        #expect(await jobs(fixture.loop) == (try load().jobSet.jobs))
        let before = await jobs(fixture.loop)
        try writeDates("12-26\n")
        #expect(try await result().contains("the current configuration is kept"))
        #expect(await jobs(fixture.loop) == before)
        unlink(dates)
        #expect(try await result().contains("the current configuration is kept"))
        try writeDates("*-12-26\n")
        #expect(try await result() == ", , , 2")
    }

    /// A one-off job that is made while the files are read is not one of those that were removed.
    @Test func aOneOffJobThatIsMadeMeanwhileStays() async throws {
        try write("", to: "main")
        for name in ["a", "b"] { try write(many(name), to: name) }
        folder.makeOneOffs()
        let (fixture, reloader) = try await start()
        for number in 0..<20 {
            try write(many("a", every: 1 + number % 2), to: "a")
            let name = Job.Name("once-\(number)")!
            let both = DispatchGroup()
            both.enter()
            reloader.reload(by: "a test") { _ in both.leave() }
            // The files were read by then, and their jobs are not in use yet.
            reloader.queue.async { [folder] in
                let text = "[job.\(name)]\nshell = \"true\"\nat = \"2099-01-01T00:00:00Z\"\n"
                try? folder.write(text, to: "one-off.d/\(name)")
            }
            both.enter()
            reloader.loadOneOff(name, by: "a test") { _ in both.leave() }
            await withCheckedContinuation { continuation in
                both.notify(queue: .global()) { continuation.resume() }
            }
            let names = await jobs(fixture.loop).map(\.name.description)
            #expect(names.filter { $0.hasPrefix("once-") }.count == number + 1)
        }
    }

    /// More jobs than a reload changes in one step.
    private func many(_ prefix: String, every hours: Int = 1) -> String {
        (0..<100).map { job("\(prefix)\($0)", every: hours) }.joined()
    }

    /// Two reloads at once, with changes of files between them and taken back, have the result of the
    /// last one.
    @Test func theLastOfManyReloadsCounts() async throws {
        var random = SeededRandom()
        try write(job("m"), to: "main")
        for name in ["a", "b", "c"] { try write(many(name), to: name) }
        let (fixture, reloader) = try await start()
        for _ in 0..<60 {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0...random.int(below: 3) {
                    let name = ["main", "a", "b", "c"][random.int(below: 4)]
                    let text =
                        switch random.int(below: 8) {
                        case 0: "[!"
                        case 1: ""
                        case 2: job("x", every: 1 + random.int(below: 2))
                        default: many(name, every: 1 + random.int(below: 2))
                        }
                    try? write(text, to: name)
                    group.addTask { [self] in _ = await reload(reloader) }
                    // Some changes come while a reload runs.
                    if random.int(below: 2) == 0 { await Task.yield() }
                }
            }
            let reading = try? load()
            guard let reading, reading.errors.isEmpty else { continue }
            // A reload began after the last change.
            let inUse = await jobs(fixture.loop)
            #expect(inUse == reading.jobSet.jobs)
        }
    }
}

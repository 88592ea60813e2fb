// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import ProjectFiles
import SeededRandom
import Testing
import TimerCore

@testable import TimerConfig

/// Configurations that were damaged at random, made from the shipped ones and those in `Corpus`:
/// each is read or refused, and each error has a place in the text.
///
/// `TIMERD_FUZZ_SECONDS` sets the duration, which is 10 s by default. If a text ends the process,
/// it is in the file that is printed at the start; copy it to `Corpus`.
@Suite struct ConfigFuzzTests {

    private static func corpus() throws -> [[UInt8]] {
        let folder = try #require(Bundle.module.url(forResource: "Corpus", withExtension: nil))
        let kept = try FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: nil
        ).sorted { $0.path < $1.path }
        let shipped = ["timerd.toml", "system.toml"].map {
            Project.url(of: "config/\($0)")
        }
        return try (kept + shipped).map { Array(try Data(contentsOf: $0)) }
    }

    @Test func damagedCorpusTextsAreReadOrRefused_withAPlace() throws {
        for text in try Self.corpus() { check(text) }
    }

    @Test func damagedTextsAreReadOrRefused_withAPlace() throws {
        let seconds = ProcessInfo.processInfo.environment["TIMERD_FUZZ_SECONDS"].flatMap(
            Double.init)
        let end = ContinuousClock.now + .seconds(seconds ?? 10)
        let corpus = try Self.corpus()
        var random = SeededRandom()
        let path = "\(FileManager.default.temporaryDirectory.path)/timerd-fuzz-\(getpid()).toml"
        let file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        try #require(file >= 0)
        print("the text that is being read: \(path)")
        defer { close(file) }
        var count = 0
        var refused = 0
        while ContinuousClock.now < end {
            var text = corpus[random.int(below: corpus.count)]
            for _ in 0...random.int(below: 4) { Self.damage(&text, corpus, &random) }
            text = Array(text.prefix(60_000))
            _ = ftruncate(file, 0)
            _ = pwrite(file, text, text.count, 0)
            if !check(text) { refused += 1 }
            count += 1
        }
        unlink(path)
        print("damaged configurations: \(count), not TOML \(refused)")
        #expect(count > 100)
    }

    /// - Returns: whether it is TOML.
    @discardableResult
    private func check(_ text: [UInt8]) -> Bool {
        let plain = text.starts(with: [0xef, 0xbb, 0xbf]) ? text.dropFirst(3) : text[...]
        let lines = plain.split(separator: 10, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self).unicodeScalars.count
        }
        func expectPlace(_ mark: SourceMark?, _ said: String) {
            guard let mark else {
                if !said.contains(" more error") { Issue.record("without a place: \(said)") }
                return
            }
            let isInside =
                mark.line >= 1 && mark.line <= lines.count && mark.column >= 1
                && mark.column <= lines[mark.line - 1] + 1
            if !isInside { Issue.record("outside of the text: \(said)") }
        }
        let checks = ConfigChecks(at: WallInstant(secondsSinceEpoch: 1_800_000_000))
        do throws(ConfigError) {
            let reading = try ConfigReader.read(text, file: "f", seed: 1, checks: checks)
            for error in reading.errors { expectPlace(error.mark, error.description) }
            for warning in reading.warnings { expectPlace(warning.mark, warning.description) }
            if reading.errors.isEmpty != (reading.errorCount == 0) { Issue.record("miscounted") }
            if reading.rejected.isEmpty == false, reading.errors.isEmpty {
                Issue.record("a job is left out without a word")
            }
            return true
        } catch {
            expectPlace(error.mark, error.description)
            return false
        }
    }

    // MARK: - Damage

    /// Parts of configurations, and similar texts.
    private static let pieces =
        [
            "[", "]", "[[", "=", "\"", "'''", "\"\"\"", "{", "}", ",", ".", "#", "\n", "\r\n", "\t",
            "\\",
            "\u{0}", "\u{feff}", "é", "\u{202e}", "[job.a]\n", "[defaults]\n", "[daemon]\n",
            "[control]\n", "[web]\n", "[metrics]\n", "[fleet]\n",
            "infinity",
            "100y", "101y", "1us", "-1", "++5", "0x", "9223372036854775807", "1e999", "nan", "true",
            "1979-05-27T07:32:00Z", "* * * * *", "H/5", "~", "Fri-Mon", "@daily", "*-*~31/7", "..",
            "/0",
            "02:30 Europe/Berlin", "UTC", "\\u0000", "\\U0010FFFF", "renamed-from = \"a\"\n",
        ]
        + (ConfigReader.knownKeys.job + ConfigReader.knownKeys.daemon
        + ConfigReader.settingsTables.flatMap(\.keys)).map { "\($0) = " }

    private static func damage(
        _ text: inout [UInt8], _ corpus: [[UInt8]], _ random: inout SeededRandom
    ) {
        let place = random.int(below: text.count + 1)
        let length = min(text.count - place, random.int(below: 40))
        switch random.int(below: 16) {
        case 0 where place < text.count: text[place] = UInt8(random.int(below: 256))
        case 1: text.removeSubrange(place..<(place + length))
        case 2: text.insert(contentsOf: text[place..<(place + length)], at: place)
        case 3, 4: text.insert(contentsOf: pieces[random.int(below: pieces.count)].utf8, at: place)
        case 5:
            let piece = pieces[random.int(below: pieces.count)]
            text.replaceSubrange(place..<(place + length), with: piece.utf8)
        case 6:
            let other = corpus[random.int(below: corpus.count)]
            let from = random.int(below: other.count + 1)
            text.insert(contentsOf: other[from...].prefix(random.int(below: 400)), at: place)
        case 7: text.removeSubrange(place...)
        default: replaceString(in: &text, from: place, &random)
        }
    }

    /// Replaces the text between the next two quotes.
    private static func replaceString(
        in text: inout [UInt8], from place: Int, _ random: inout SeededRandom
    ) {
        let quote = UInt8(ascii: "\"")
        guard let first = text[place...].firstIndex(of: quote),
            let last = text[(first + 1)...].firstIndex(of: quote)
        else { return }
        let piece = (0...random.int(below: 3)).map { _ in pieces[random.int(below: pieces.count)] }
        text.replaceSubrange((first + 1)..<last, with: piece.joined().utf8)
    }
}

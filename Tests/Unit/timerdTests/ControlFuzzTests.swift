// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import NIOCore
import NIOHTTP1
import ProjectFiles
import SeededRandom
import Testing
import TimerControl
import TimerHTTP

/// Requests from the corpus, mutated and cut into pieces, with answers, half-closed connections and
/// pauses in between. For every input, each answer is valid, each request has at most one, and the
/// connection ends. TIMERD_FUZZ_SECONDS sets the duration. Inputs that found a defect are in
/// Tests/Support/Corpus/control.
@Suite struct ControlFuzzTests {
    private static var seconds: Double {
        ProcessInfo.processInfo.environment["TIMERD_FUZZ_SECONDS"].flatMap { Double($0) } ?? 20
    }

    private static let corpus: [[UInt8]] = {
        let folder = Project.url(of: "Tests/Support/Corpus/control")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.sorted().compactMap {
            (try? Data(contentsOf: folder.appendingPathComponent($0))).map { Array($0) }
        }
    }()

    /// Bytes that have a meaning somewhere in a request.
    private static let words: [[UInt8]] =
        [
            "\r\n", "\r\n\r\n", "\n", "\r", "\0", " ", ":", "%", "%00", "%2f", "%zz", "?", "&", "=",
            "{", "}", "[",
            "]", "\"", "\\u0000", "\\ud800", ",", "0\r\n\r\n", "-1", "99999999999999999999", "1e9",
            "Host: a\r\n", "Content-Length: 5\r\n", "Content-Length: 0\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Expect: 100-continue\r\n", "Connection: close\r\n", "Connection: keep-alive\r\n",
            "Upgrade: h2c\r\nConnection: upgrade\r\n", "GET ", "HEAD ", "POST ", "OPTIONS ",
            "CONNECT ", " HTTP/1.1",
            " HTTP/1.0", " HTTP/2.0", " HTTP/9.9", "/v1/jobs", "/v1/jobs/a/pause",
            "/v1/runs?failed=1", "\u{e9}",
        ].map { Array($0.utf8) } + [
            [0xff, 0xfe], [0xc0, 0x80], Array(repeating: 0x78, count: 20_000),
        ]

    private func mutated(_ random: inout SeededRandom) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0...random.int(below: 3) {
            bytes += Self.corpus[random.int(below: Self.corpus.count)]
        }
        for _ in 0..<random.int(below: 6) {
            let at = random.int(below: bytes.count + 1)
            switch random.int(below: 6) {
            case 0 where at < bytes.count: bytes[at] ^= UInt8(1 << random.int(below: 8))
            case 1 where at < bytes.count: bytes[at] = UInt8(random.int(below: 256))
            case 2:
                let end = min(bytes.count, at + random.int(below: 20))
                bytes.removeSubrange(at..<end)
            case 3:
                let end = min(bytes.count, at + random.int(below: 200))
                bytes.insert(contentsOf: Array(bytes[at..<end]), at: at)
            case 4: bytes.removeSubrange(at...)
            default:
                bytes.insert(contentsOf: Self.words[random.int(below: Self.words.count)], at: at)
            }
        }
        return bytes
    }

    /// - Returns: the error; nil if there is none.
    private func talk(_ bytes: [UInt8], _ random: inout SeededRandom) throws -> String? {
        let service = StubService(isHolding: random.int(below: 2) == 0)
        let uid: UInt32 = random.int(below: 3) == 0 ? 4_000_000_000 : geteuid()
        let connection = try ControlConnection(service, uid: uid)
        var rest = bytes[...]
        while !rest.isEmpty, connection.isOpen {
            let count =
                random.int(below: 4) == 0 ? 1 + random.int(below: 8) : 1 + random.int(below: 4000)
            try connection.send(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
            if random.int(below: 20) == 0 {
                connection.pass(.seconds(Int64(random.int(below: 12))))
            }
            if random.int(below: 3) == 0 { answer(service, connection, &random) }
        }
        if random.int(below: 2) == 0 { connection.endInput() }
        // A connection whose requests were all answered sends nothing more.
        var turns = 0
        while !service.takeCallsAndAnswer(connection).isEmpty, turns < 10_000 { turns += 1 }
        connection.pass(.seconds(60))
        connection.pass(.seconds(60))
        guard !connection.isOpen else { return "the connection stays open" }
        guard let answers = connection.responses() else { return "an answer cannot be read" }
        let last = answers.filter { $0.status != 100 }
        let requests = 1 + bytes.indices.count { bytes[$0] == UInt8(ascii: "/") }
        guard last.count <= requests + bytes.count / 4 else { return "more answers than requests" }
        guard last.count(where: { $0.status == 200 }) <= service.count else {
            return "answered twice"
        }
        for answer in answers
        where answer.status >= 400 && !answer.body.isEmpty && answer.error == nil {
            return "an error without a sentence: \(answer)"
        }
        return nil
    }

    private func answer(
        _ service: StubService, _ connection: ControlConnection, _ random: inout SeededRandom
    ) {
        for call in service.takeCalls() {
            call.reply(StubService.answer(to: call.request))
            if random.int(below: 4) == 0 { call.reply(.error(.internalServerError, "twice")) }
        }
        connection.work()
    }

    @Test func everyAnswerCanBeRead_whateverComes() throws {
        #expect(!Self.corpus.isEmpty)
        var random = SeededRandom()
        for bytes in Self.corpus {
            let fault = try talk(bytes, &random)
            #expect(fault == nil, "\(fault ?? "") for \(String(decoding: bytes, as: UTF8.self))")
        }
        let end = Date(timeIntervalSinceNow: Self.seconds)
        var count = 0
        while Date() < end {
            let bytes = mutated(&random)
            count += 1
            guard let fault = try talk(bytes, &random) else { continue }
            Issue.record("\(fault), for \(Data(bytes).base64EncodedString()) (base64)")
            return
        }
        print("\(count) conversations")
    }
}

extension StubService {
    /// Answers the requests that have come, and returns them.
    func takeCallsAndAnswer(_ connection: ControlConnection) -> [Call] {
        let calls = takeCalls()
        for call in calls { call.reply(Self.answer(to: call.request)) }
        connection.work()
        return calls
    }
}

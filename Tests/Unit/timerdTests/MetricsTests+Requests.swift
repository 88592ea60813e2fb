// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import HostQueues
import NIOHTTP1
import Testing
import TimerControl
import TimerCore

@testable import TimerDaemon
@testable import TimerHTTP

/// How metrics are requested, and gathered on the deciding queue.
extension MetricsTests {
    @Test(
        arguments: [
            ([], .text), (["*/*"], .text), (["text/plain"], .text),
            (["application/openmetrics-text"], .openMetrics),
            (["application/openmetrics-text; version=1.0.0"], .openMetrics),
            (["application/openmetrics-text;version=2.0.0"], .text),
            (["application/openmetrics-text;q=0"], .text),
            (["application/openmetrics-text;q=nonsense"], .text),
            (
                [
                    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
                        + "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
                ], .openMetrics
            ),
            (["application/openmetrics-text;q=0.3, text/plain;q=0.9"], .text),
            (["text/html", "application/openmetrics-text;q=0.3"], .openMetrics),
            ([",,;;q=,"], .text),
        ] as [([String], MetricsFormat)])
    func theFormatIsTheOneThatIsAcceptedBest(accepted: [String], format: MetricsFormat) {
        #expect(MetricsFormat(accepted: accepted) == format)
    }

    @Test func theRequestHasAPathOfItsOwn() throws {
        let accepted = ["application/openmetrics-text"]
        #expect(
            try ControlRequest(
                method: "GET", path: "/metrics", body: [],
                headers: RequestHeaders(accepted: accepted))
                == .metrics(.openMetrics))
        #expect(try ControlRequest(method: "HEAD", path: "/metrics", body: []) == .metrics())
        #expect(throws: ControlRequest.Fault.self) {
            try ControlRequest(method: "GET", path: "/metrics?name=a", body: [])
        }
        #expect(throws: ControlRequest.Fault.self) {
            try ControlRequest(method: "POST", path: "/metrics", body: [])
        }
        #expect(!ControlRequest.metrics().isChange)
    }

    @Test func theAnswerSaysItsFormat() {
        let answer = ControlAnswer(.ok, [65, 10], type: MetricsFormat.text.type)
        let head = answer.head(keepAlive: true)
        #expect(head.headers["Content-Type"] == ["text/plain; version=0.0.4; charset=utf-8"])
        #expect(head.headers["Content-Length"] == ["2"])
    }

    /// The web server passes them on for a program with a token, in the format that it accepts, and for no other client.
    @Test func theWebServerPassesThemOn() throws {
        let web = StubWeb { _ in
            .success(ControlClient.Reply(status: 200, body: Array("# EOF\n".utf8)))
        }
        let host = "Host: 127.0.0.1:8321\r\n"
        let token = "Authorization: Bearer \(StubWeb.token)\r\n"
        let stranger = try #require(try web.answer("GET /metrics HTTP/1.1\r\n\(host)\r\n"))
        #expect(stranger.status == 401)
        #expect(web.takeAsked().isEmpty)
        let answer = try #require(
            try web.answer(
                "GET /metrics HTTP/1.1\r\n\(host)\(token)"
                    + "Accept: application/openmetrics-text\r\n\r\n"))
        #expect(answer.status == 200)
        #expect(answer.headers["content-type"] == MetricsFormat.openMetrics.contentType)
        #expect(web.takeAsked().map(\.0) == [.metrics(.openMetrics)])
    }

    func measures(_ fixture: LoopFixture, jobsMax: Int) async -> Loop.Measures {
        await withCheckedContinuation { continuation in
            fixture.loop.later { loop in
                loop.measure(jobsMax: jobsMax) { continuation.resume(returning: $0) }
            }
        }
    }

    @Test(arguments: [0, 1, 128, 129, 10_000])
    func allJobsAreCounted_andSoManyMeasured(jobsMax: Int) async throws {
        let fixture = try LoopFixture((0..<1000).map { job("j\($0)") })
        await fixture.waitUntilReady()
        let measures = await measures(fixture, jobsMax: jobsMax)
        #expect(measures.jobs.count == min(jobsMax, 1000))
        #expect(measures.omitted == max(0, 1000 - jobsMax))
        #expect(measures.states.armed == 1000)
    }

    /// While a reload is in progress, nothing is measured of the old configuration beside the new one.
    @Test func aReloadIsMeasuredAsAWhole() async throws {
        let fixture = try LoopFixture((0..<1000).map { job("j\($0)") })
        await fixture.waitUntilReady()
        async let before = measures(fixture, jobsMax: 10_000)
        async let reloaded = fixture.reload((500..<1500).map { job("j\($0)") })
        async let after = measures(fixture, jobsMax: 10_000)
        _ = await reloaded
        for measures in await [before, after] {
            let names = measures.jobs.map { $0.job.name.description }
            #expect(names.count == 1000)
            #expect(
                Set(names) == Set((0..<1000).map { "j\($0)" })
                    || Set(names) == Set((500..<1500).map { "j\($0)" }))
        }
    }
}

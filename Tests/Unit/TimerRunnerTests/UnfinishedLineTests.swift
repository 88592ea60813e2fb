// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// Lines that a run does not end: prompts and progress bars.
@Suite struct UnfinishedLineTests {
    private static func unfinished(_ fixture: RunnerFixture, _ stream: RunStream = .stdout)
        -> [String]
    {
        fixture.events.compactMap { event in
            guard case .unfinished(_, stream, let line) = event else { return nil }
            return String(decoding: line, as: UTF8.self)
        }
    }

    @Test(arguments: [RunStream.stdout, .stderr])
    func aPromptIsReportedAfterAMoment(stream: RunStream) throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let redirection = stream == .stderr ? ">&2" : ""
        let request = fixture.request(
            .shell("echo first; printf 'Password: ' \(redirection); exec sleep 300"))
        let clock = ContinuousClock()
        let took = clock.measure {
            fixture.runner.start([request])
            fixture.wait { _ in !Self.unfinished(fixture, stream).isEmpty }
        }
        #expect(took >= .milliseconds(200))
        #expect(Self.unfinished(fixture, stream) == ["Password: "])
        // The line before it was reported first.
        #expect(fixture.lines(of: request) == ["first"])
        fixture.runner.end(request.id, grace: .seconds(60))
        // It is output when the run ends, and is not reported again.
        #expect(fixture.end(of: request).outcome == .stopped)
        #expect(fixture.lines(of: request, stream).last == "Password: ")
        #expect(Self.unfinished(fixture, stream).count == 1)
    }

    /// rsync(1) and curl(1) write it again after a carriage return.
    @Test func aProgressBarIsReportedAsATerminalShowsIt() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let end = fixture.shell(
            #"for i in 10 20 30; do printf " $i%%\r"; sleep 0.5; done; printf 'done'; sleep 0.5; echo"#
        )
        #expect(Self.unfinished(fixture) == [" 10%", " 20%", " 30%", "done"])
        #expect(end.lines == [" 10%\r 20%\r 30%\rdone"])
    }

    @Test func aLineThatIsEndedAtOnceIsNotReportedBefore() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        // Each read ends in the middle of a line.
        let end = fixture.shell(
            "i=0; while [ $i -lt 400 ]; do printf 'a'; printf 'b\\na'; echo b; i=$((i+1)); sleep 0.001; done"
        )
        #expect(end.lines.count == 800 && Set(end.lines) == ["ab"])
        #expect(Self.unfinished(fixture).isEmpty)
    }

    /// The lines of a job that writes more than it may are dropped, and so are their beginnings.
    @Test func whatIsDroppedIsNotReported() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = fixture.request(
            .shell("echo 1; echo 2; echo 3; printf 'secret'; exec sleep 300")
        ) {
            $0.logRateLimitBurst = 2
            $0.logRateLimitInterval = .seconds(600)
        }
        fixture.runner.start([request])
        fixture.wait(forLine: "2")
        usleep(500_000)
        fixture.runner.end(request.id, grace: .seconds(60))
        _ = fixture.end(of: request)
        #expect(Self.unfinished(fixture).isEmpty)
    }

    @Test func theCutterKnowsWhatIsReported() {
        var cutter = LineCutter()
        func take(_ text: String) -> [String] {
            var lines: [String] = []
            Array(text.utf8).withUnsafeBytes { bytes in
                cutter.take(bytes) { line, _ in lines.append(String(decoding: line, as: UTF8.self))
                }
            }
            return lines
        }
        #expect(!cutter.hasUnreported && cutter.ended == 0)
        #expect(take("ab").isEmpty && cutter.hasUnreported)
        #expect(cutter.report() == Array("ab".utf8) && !cutter.hasUnreported)
        #expect(take("c").isEmpty && cutter.hasUnreported)
        #expect(cutter.report() == Array("abc".utf8))
        #expect(take("\nx") == ["abc"] && cutter.hasUnreported && cutter.ended == 1)
        #expect(take("y\r") == [] && cutter.report() == Array("xy".utf8))
        #expect(take("\r") == [] && cutter.report() == Array("xy".utf8))
        #expect(take("zz\n") == ["xy\r\rzz"] && !cutter.hasUnreported && cutter.ended == 2)
        #expect(take("\r\r") == [] && cutter.report() == [])
        _ = Array("more".utf8).withUnsafeBytes { cutter.discard($0) }
        #expect(!cutter.hasUnreported && cutter.ended == 3)
    }

    /// While no scheduler reads, a progress bar does not fill the queue.
    @Test func aLaterPartReplacesAnEarlierOneInTheQueue() throws {
        let outbound = OutboundQueue()
        let scheduled = WallInstant(microsecondsSinceEpoch: 1_795_000_000_000_000)
        let run = Run.ID(firing: Firing.ID(job: Job.Name("probe")!, scheduled: scheduled))
        #expect(outbound.isNew(run))
        _ = outbound.enqueue(.began(run, pid: 1, at: scheduled))
        _ = outbound.enqueue(.output(run, .stdout, line: Array("first".utf8), isCut: false))
        for number in 1...50_000 {
            _ = outbound.enqueue(.unfinished(run, .stdout, line: Array("\(number)".utf8)))
        }
        _ = outbound.enqueue(.output(run, .stdout, line: Array("last".utf8), isCut: false))
        _ = outbound.connect()
        var lines: [String] = []
        while case let batch = outbound.nextBatch(), !batch.replies.isEmpty {
            for case .event(_, let event) in batch.replies {
                switch event {
                case .output(_, _, let line, _), .unfinished(_, _, let line):
                    lines.append(String(decoding: line, as: UTF8.self))
                case .dropped: Issue.record("a line was dropped")
                default: break
                }
            }
        }
        #expect(lines == ["first", "50000", "last"])
    }
}

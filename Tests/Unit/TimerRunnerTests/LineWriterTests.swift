// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization
import Testing

@testable import HostThreads

/// The log on standard error, whose reader may be slow, stopped or gone.
@Suite(.serialized) struct LineWriterTests {
    /// A channel whose reader is this test.
    private final class Channel {
        private(set) var reader: Int32
        let writer: Int32

        init(_ pair: (Int32, Int32)) { (reader, writer) = pair }

        deinit {
            endReading()
            close(writer)
        }

        func endReading() {
            if reader >= 0 { close(reader) }
            reader = -1
        }

        static func pipe() -> Channel {
            var ends: [Int32] = [0, 0]
            #expect(Glibc.pipe(&ends) == 0)
            return Channel((ends[0], ends[1]))
        }

        static func packets() -> Channel {
            // O_DIRECT, which Glibc does not declare.
            #if arch(arm64)
                let packets: Int32 = 0o200000
            #else
                let packets: Int32 = 0o40000
            #endif
            let channel = pipe()
            #expect(fcntl(channel.writer, F_SETFL, packets) == 0)
            return channel
        }

        static func socket() -> Channel {
            var ends: [Int32] = [0, 0]
            #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            return Channel((ends[0], ends[1]))
        }

        static func terminal() -> Channel {
            var (master, slave): (Int32, Int32) = (-1, -1)
            #expect(openpty(&master, &slave, nil, nil, nil) == 0)
            return Channel((master, slave))
        }

        var hasSomething: Bool {
            var wanted = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
            return poll(&wanted, 1, 0) > 0
        }

        /// Reads until this many lines were read, and returns them.
        func lines(_ count: Int) -> [String] {
            var bytes: [UInt8] = []
            var missing = count
            var buffer = [UInt8](repeating: 0, count: 4096)
            while missing > 0 {
                let read = Glibc.read(reader, &buffer, buffer.count)
                guard read > 0 else { break }
                bytes += buffer.prefix(read)
                missing -= buffer.prefix(read).count { $0 == UInt8(ascii: "\n") }
            }
            return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
                .map(String.init)
        }
    }

    private static func writer(
        _ channel: Channel, bytesMax: Int = LineWriter.bytesMax, reopens: Bool = true
    ) -> LineWriter {
        LineWriter(Output(channel.writer, reopens: reopens), bytesMax: bytesMax) { "lost \($1)\n" }
    }

    enum Kind: CaseIterable { case pipe, polledPipe, socket, terminal, polledTerminal }

    private static func channel(_ kind: Kind) -> Channel {
        switch kind {
        case .pipe, .polledPipe: .pipe()
        case .socket: .socket()
        case .terminal, .polledTerminal: .terminal()
        }
    }

    /// Far more than a pipe, a socket or a terminal holds is written before anything is read.
    @Test(arguments: Kind.allCases) func nobodyWaitsForAReader_andItReadsEverythingLater(
        _ kind: Kind
    ) {
        let channel = Self.channel(kind)
        let writer = Self.writer(
            channel, reopens: kind != .polledPipe && kind != .polledTerminal)
        let written = (0..<8000).map { "line \($0) \(String(repeating: "x", count: 90))" }
        for line in written { writer.write(line + "\n") }
        #expect(channel.lines(written.count) == written)
        #expect(writer.lostTotal == 0)
        #expect(writer.flush(timeout: .seconds(10)))
    }

    /// A line that is longer than the pipe, between others.
    @Test func longLinesDoNotMixWithOthers() {
        let channel = Channel.pipe()
        let writer = Self.writer(channel)
        let written = ["a", String(repeating: "b", count: 300_000), "c"]
        for line in written { writer.write(line + "\n") }
        #expect(channel.lines(3) == written)
    }

    /// Two programs write to one pipe, as the scheduler and its runner do, and its reader is slow.
    @Test func linesOfTwoWritersDoNotMix() {
        let channel = Channel.pipe()
        let writers = [Self.writer(channel), Self.writer(channel)]
        let lines = ["a", "b"].map { String(repeating: $0, count: 301) }
        for _ in 0..<1000 {
            for (writer, line) in zip(writers, lines) { writer.write(line + "\n") }
        }
        let read = channel.lines(2000)
        #expect(read.allSatisfy(lines.contains))
        #expect(lines.allSatisfy { line in read.count { $0 == line } == 1000 })
    }

    @Test func linesThatAreWrittenTogetherAreOnePiece() {
        let channel = Channel.pipe()
        let writer = Self.writer(channel)
        writer.together {
            writer.write("one\n")
            writer.together { writer.write("two\n") }
            writer.write("three\n")
            #expect(!channel.hasSomething)
        }
        #expect(channel.lines(3) == ["one", "two", "three"])
        writer.write("four\n")
        #expect(channel.lines(1) == ["four"])
    }

    /// A pipe of packets (pipe(2), O_DIRECT) shows what was one write.
    @Test func linesThatAreWrittenTogetherFillEachPiece() {
        let channel = Channel.packets()
        let writer = Self.writer(channel, reopens: false)
        let line = String(repeating: "z", count: 999) + "\n"
        writer.together { for _ in 0..<10 { writer.write(line) } }
        let packets = (0..<3).map { _ in channel.lines(1).count }
        #expect(packets == [4, 4, 2] && !channel.hasSomething)
    }

    /// More lines than fit into one piece, one that is longer than it, and those of another thread.
    @Test func manyLinesThatAreWrittenTogetherKeepTheirOrder() {
        let channel = Channel.pipe()
        let writer = Self.writer(channel)
        let written = (0..<500).map { number in
            number == 250
                ? String(repeating: "y", count: 5000)
                : "\(number) \(String(repeating: "x", count: number % 97))"
        }
        DispatchQueue.concurrentPerform(iterations: 2) { thread in
            if thread == 0 {
                writer.together { for line in written { writer.write(line + "\n") } }
            } else {
                for number in 0..<500 { writer.write("other \(number)\n") }
            }
        }
        let read = channel.lines(1000)
        #expect(read.filter { !$0.hasPrefix("other") } == written)
        #expect(read.filter { $0.hasPrefix("other") } == (0..<500).map { "other \($0)" })
    }

    /// Lines that do not fit are lost and counted, as without `together`, and no caller waits.
    @Test func whatIsWrittenTogetherAndDoesNotFitIsLost() {
        let channel = Channel.pipe()
        let writer = Self.writer(channel, bytesMax: 1000)
        var count = 0
        writer.together {
            while writer.lostTotal < 3 {
                writer.write("\(count) \(String(repeating: "y", count: 90))\n")
                count += 1
            }
        }
        let read = channel.lines(count - 3 + 1)
        #expect(read.last == "lost 3" && read.first?.hasPrefix("0 ") == true)
    }

    /// As with Ctrl-S and Ctrl-Q.
    @Test func aStoppedTerminalKeepsNobodyWaiting() {
        let channel = Channel.terminal()
        let writer = Self.writer(channel)
        #expect(tcflow(channel.writer, TCOOFF) == 0)
        writer.write("one\n")
        writer.write("two\n", timeout: .seconds(60))
        #expect(!writer.flush(timeout: .milliseconds(1)))
        #expect(tcflow(channel.writer, TCOON) == 0)
        #expect(channel.lines(2) == ["one", "two"])
    }

    @Test func whatDoesNotFitIsLost_andALineSaysSo() {
        let channel = Channel.pipe()
        let writer = Self.writer(channel, bytesMax: 1000)
        var written: [String] = []
        while writer.lostTotal < 7 {
            written.append("\(written.count) \(String(repeating: "y", count: 90))")
            writer.write(written.last! + "\n")
        }
        let kept = written.dropLast(7)
        #expect(channel.lines(kept.count + 1) == kept + ["lost 7"])
        writer.write("after\n")
        #expect(channel.lines(1) == ["after"])
        #expect(writer.lostTotal == 7)
    }

    /// Those who can wait lose nothing to a reader that is only slow.
    @Test func aSlowReaderGetsEverythingFromThoseWhoWait() {
        let channel = Channel.pipe()
        let writer = Self.writer(channel, bytesMax: 1000)
        let isDone = Atomic(false)
        let started = WorkerThread.start("test.writer") {
            for number in 0..<5000 { writer.write("\(number)\n", timeout: .seconds(60)) }
            isDone.store(true, ordering: .releasing)
        }
        #expect(started == 0)
        #expect(channel.lines(5000) == (0..<5000).map(String.init))
        while !isDone.load(ordering: .acquiring) { sched_yield() }
        #expect(writer.lostTotal == 0)
    }

    /// Otherwise a thousand lines would wait a thousand times as long.
    @Test func aReaderThatHangsIsWaitedForOnce() {
        let channel = Channel.pipe()
        let writer = Self.writer(channel, bytesMax: 100)
        let line = String(repeating: "z", count: 99) + "\n"
        while writer.lostTotal == 0 { writer.write(line, timeout: .milliseconds(20)) }
        // At 60 s each these would not end.
        for _ in 0..<1000 { writer.write(line, timeout: .seconds(60)) }
        #expect(writer.lostTotal == 1001)
    }

    @Test func aReaderThatIsGoneIsNotWaitedFor() {
        signal(SIGPIPE, SIG_IGN)
        let channel = Channel.pipe()
        let writer = Self.writer(channel)
        channel.endReading()
        for _ in 0..<10 { writer.write("nobody reads this\n") }
        #expect(writer.flush(timeout: .seconds(10)))
    }
}

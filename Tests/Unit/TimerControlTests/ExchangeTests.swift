// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing

@testable import TimerControl

/// How `timerctl api` reads answers, which may be streams, from a server that is played here.
@Suite struct ExchangeTests {
    /// Serves one connection on a thread of its own, then closes it.
    private final class Server: Sendable {
        let path: String
        private let socket: Int32
        private let done = DispatchSemaphore(value: 0)

        init(_ serve: @escaping @Sendable (_ connection: Int32) -> Void) throws {
            path = "/tmp/timerd-exchange-\(UUID().uuidString)"
            let socket = Glibc.socket(
                AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            self.socket = socket
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(bound == 0 && listen(socket, 1) == 0)
            let done = done
            Thread.detachNewThread {
                let connection = accept(socket, nil, nil)
                // Until the end of the request.
                var text = ""
                var buffer = [UInt8](repeating: 0, count: 4096)
                while !text.hasSuffix("\r\n\r\n") {
                    let count = recv(connection, &buffer, buffer.count, 0)
                    guard count > 0 else { break }
                    text += String(decoding: buffer.prefix(count), as: UTF8.self)
                }
                serve(connection)
                close(connection)
                done.signal()
            }
        }

        deinit {
            close(socket)
            unlink(path)
        }

        func wait() { done.wait() }
    }

    private static func send(_ text: String, _ connection: Int32) {
        let bytes = Array(text.utf8)
        #expect(Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
    }

    private struct Answer: Sendable {
        var status = 0
        var body = ""
        /// Why it is none; nil if it is one.
        var fault: String?
    }

    private static func ask(_ server: Server, _ part: (String) -> Void = { _ in }) -> Answer {
        var answer = Answer()
        do throws(ControlClient.Failure) {
            answer.status = try ControlClient(path: server.path).exchange("GET", "/x", body: []) {
                _ in
            } part: { bytes in
                let text = String(decoding: bytes, as: UTF8.self)
                answer.body += text
                part(text)
            }
        } catch {
            answer.fault = "\(error)"
        }
        return answer
    }

    private static let ok = "HTTP/1.1 200 OK\r\n"
    private static let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"

    /// The server sends the next line only once the one before it was passed on.
    @Test func eachPartOfAStreamIsPassedOnWhenItComes() throws {
        let seen = DispatchSemaphore(value: 0)
        let server = try Server { connection in
            Self.send(Self.chunked, connection)
            for number in 0..<20 {
                let line = "line \(number)\n"
                Self.send(
                    "\(String(line.utf8.count, radix: 16))\r\n\(line)\r\n", connection)
                seen.wait()
            }
            Self.send("0\r\n\r\n", connection)
        }
        let found = Self.ask(server) { _ in seen.signal() }
        #expect(found.status == 200)
        #expect(found.body == (0..<20).map { "line \($0)\n" }.joined())
        server.wait()
    }

    /// Bytes may come one by one, whatever they belong to.
    @Test(arguments: [
        ("5\r\nhello\r\n1;name=value\r\n \r\n5 \r\nworld\r\n0\r\nTrailer: x\r\n\r\n", chunked),
        ("hello world", ok + "Content-Length: 11\r\n\r\n"),
        (
            "hello world",
            ok + "Content-Length: 11\r\nX: \(String(repeating: "y", count: 9000))\r\n\r\n"
        ),
        ("hello world", ok + "\r\n"),
        ("hello world and more", ok + "content-length:11\r\n\r\n"),
    ])
    func anAnswerMayComeByteByByte(body: String, head: String) throws {
        let server = try Server { connection in
            for byte in (head + body).utf8 {
                var byte = byte
                // The client does not read more than the answer.
                _ = Glibc.send(connection, &byte, 1, Int32(MSG_NOSIGNAL))
            }
        }
        let found = Self.ask(server)
        #expect(found.status == 200 && found.body == "hello world", "\(found)")
        server.wait()
    }

    @Test(arguments: [
        "", "HTTP/1.1 200", ok, ok + "Content-Length: 5\r\n\r\n",
        ok + "Content-Length: 5\r\n\r\nhell",
        chunked, chunked + "5", chunked + "5\r\nhello", chunked + "5\r\nhello\r\n",
        chunked + "5\r\nhello\r\n0\r\n",
    ])
    func anAnswerThatIsCutOffIsAnError(answer: String) throws {
        let server = try Server { Self.send(answer, $0) }
        let found = Self.ask(server)
        #expect(found.fault?.contains("the answer is cut off") == true, "\(found)")
        // What came is passed on all the same.
        #expect("hello".hasPrefix(found.body))
        server.wait()
    }

    @Test(arguments: [
        "no answer\r\n\r\n", "HTTP/1.1 two\r\n\r\n", ok + "Content-Length: -1\r\n\r\n",
        ok + "Content-Length: x\r\n\r\n", chunked + "x\r\n", chunked + "-1\r\n",
        chunked + "ffffffffffffffffffff\r\n", String(repeating: "x", count: 70_000),
        chunked + String(repeating: "1", count: 70_000),
    ])
    func whatIsNoAnswerIsAnError(answer: String) throws {
        let server = try Server { connection in
            // The client may have seen enough before all of it is sent.
            _ = Glibc.send(connection, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
        }
        let found = Self.ask(server)
        #expect(found.fault != nil, "\(found)")
        server.wait()
    }
}

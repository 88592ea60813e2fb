// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import HostFiles
import TimerControl

struct APIVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "api", abstract: "Send one HTTP request to the daemon and print the answer.",
        discussion: """
            For scripts on machines without curl; timerd-api(7) lists the paths. The body of the answer is printed \
            as it comes, also that of an error. Exit status: 0 for a status of 2xx, 4 for 404, 1 for any other, 3 if \
            no daemon answers.
            """)
    static let reading = Reading.part("for requests that change nothing")

    /// The most bytes of a body: the limit of the daemon.
    private static let bodyBytesMax = ControlRequest.commandBytesMax

    @OptionGroup var connection: Connection

    @Argument(help: "GET, POST or another method.", transform: Self.method)
    var method: String

    @Argument(help: "The path with its query, such as /v1/jobs.", transform: Self.path)
    var path: String

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The body to send: JSON, @FILE for what is in a file, or - for standard input.",
            valueName: "body"))
    var data: String?

    @Flag(name: .shortAndLong, help: "Print the status and the headers before the body.")
    var include = false

    private static func method(_ text: String) throws -> String {
        let method = text.uppercased()
        guard !method.isEmpty, method.utf8.allSatisfy({ (65...90).contains($0) }) else {
            throw ValidationError("\"\(text)\" is not a method of HTTP such as GET")
        }
        return method
    }

    private static func path(_ text: String) throws -> String {
        guard text.hasPrefix("/"), text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw ValidationError(
                "\"\(text)\" is not a path such as /v1/jobs; write other characters "
                    + "percent-encoded")
        }
        return text
    }

    func run() throws {
        let sent = try data.map { try body($0) } ?? []
        var output = RawOutput()
        let status: Int
        let client = connection.client
        if ["GET", "HEAD", "OPTIONS"].contains(method) {
            do throws(Connection.Failure) { try connection.expectRunning(client) } catch {
                throw error.exit
            }
        }
        do throws(ControlClient.Failure) {
            status = try client.exchange(method, path, body: sent) { head in
                if include { output.write(head) }
            } part: { bytes in
                output.write(bytes)
            }
        } catch {
            output.finish()
            throw Connection.Failure(error).exit
        }
        output.finish()
        let code = Connection.exitStatus(of: status)
        if code != 0 { throw ExitCode(code) }
    }

    private func body(_ text: String) throws -> [UInt8] {
        if text == "-" || text == "@-" { return try read(STDIN_FILENO, "standard input") }
        guard text.hasPrefix("@") else { return Array(text.utf8) }
        let file = String(text.dropFirst())
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.unreadable(file) }
        defer { close(descriptor) }
        return try read(descriptor, file)
    }

    private func read(_ descriptor: Int32, _ name: String) throws -> [UInt8] {
        guard let bytes = Descriptor.read(descriptor, upTo: Self.bodyBytesMax) else {
            throw Self.unreadable(name)
        }
        guard bytes.count <= Self.bodyBytesMax else {
            throw Connection.fail(1, "\(name): more than \(Self.bodyBytesMax) bytes")
        }
        return bytes
    }

    private static func unreadable(_ name: String) -> any Error {
        Connection.fail(1, "cannot read \(name): \(String(cString: strerror(errno)))")
    }
}

/// Writes bytes to standard output: unchanged into a file or a pipe, and without control sequences
/// to a terminal.
struct RawOutput {
    private let isTerminal = isatty(STDOUT_FILENO) == 1
    /// On a terminal, the start of a line whose end has not arrived.
    private var rest: [UInt8] = []

    mutating func write(_ bytes: ArraySlice<UInt8>) {
        guard isTerminal else { return Terminal.write(Array(bytes), to: STDOUT_FILENO) }
        rest += bytes
        guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { return }
        put(rest[...end])
        rest.removeSubrange(...end)
    }

    mutating func finish() {
        put(rest[...])
        rest = []
    }

    private func put(_ bytes: ArraySlice<UInt8>) {
        // Lines of HTTP end with CR and LF.
        let text = String(decoding: bytes, as: UTF8.self).split(
            separator: "\r\n" as Character, omittingEmptySubsequences: false
        ).joined(separator: "\n")
        Terminal.put(Printable.lines(text))
    }
}

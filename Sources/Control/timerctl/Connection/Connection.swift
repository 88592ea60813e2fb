// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl
import TimerCore

/// The options for the connection to the daemon, which all commands have.
struct Connection: ParsableArguments {
    @Option(
        help:
            "The daemon's control socket (default: $TIMERD_SOCKET, else the system daemon's for root and your user daemon's for others).",
        completion: .file())
    var socket: String?

    @Flag(help: "Ask your user daemon (systemctl --user).")
    var user = false

    @Flag(help: "Ask the system daemon.")
    var system = false

    @Flag(help: "Print JSON, one line.")
    var json = false

    @Flag(help: "Print exact times, and shorten and leave out nothing that is too wide.")
    var full = false

    @Option(help: ArgumentHelp("When to use colors.", valueName: "when"))
    var color = Screen.ColorChoice.auto

    @Flag(help: "Do not show what is longer than the screen with $PAGER, or less.")
    var noPager = false

    /// What standard output can show.
    var screen: Screen { .standardOutput(color: color) }

    func validate() throws {
        guard [socket != nil, user, system].count(where: { $0 }) <= 1 else {
            throw ValidationError("--socket, --user and --system exclude each other")
        }
        guard socket?.isEmpty != true else { throw ValidationError("--socket is empty") }
    }

    /// Whether this is the path of a socket that systemd may hold.
    private func isStandard(_ path: String) -> Bool {
        [ControlPath.Owner.system, .user].contains { owner in
            ControlPath.standard(of: owner, uid: geteuid(), environment: Terminal.environment)
                == path
        }
    }

    /// The client for the daemon that the options select, or else the environment.
    var client: ControlClient {
        let environment = Terminal.environment
        func standard(_ owner: ControlPath.Owner?) -> String {
            ControlPath.standard(of: owner, uid: geteuid(), environment: environment)
        }
        // The command line has priority over the environment.
        let named = socket ?? (user || system ? nil : Terminal.socket)
        let path =
            named ?? (user || system ? nil : Self.systemIfAlone(environment))
            ?? standard(user ? .user : system ? .system : nil)
        var client = ControlClient(path: path)
        if path == standard(.user) {
            client.manager = "systemctl --user"
        }
        return client
    }

    /// The socket of the system's daemon, if a user who may connect to it has no daemon of their own.
    private static func systemIfAlone(_ environment: [String: String]) -> String? {
        let system = ControlPath.standard(of: .system, uid: geteuid(), environment: environment)
        let own = ControlPath.standard(of: .user, uid: geteuid(), environment: environment)
        return geteuid() != 0 && access(own, F_OK) != 0 && access(system, W_OK) == 0 ? system : nil
    }

    /// Sends a request and decodes the answer. An error is printed on standard error and becomes
    /// the exit status.
    ///
    /// - Parameter isForChange: whether a change follows, so that a stopped daemon is to be started.
    func ask<Value: Decodable>(
        _ request: ControlRequest, for _: Value.Type, forChange isForChange: Bool = false
    ) throws -> Value {
        try decode(Value.self, from: body(request, forChange: isForChange))
    }

    /// Decodes an answer of the daemon. One of another form ends the program with an error.
    func decode<Value: Decodable>(_: Value.Type, from body: [UInt8]) throws -> Value {
        do {
            return try ControlJSON.decode(Value.self, from: body)
        } catch {
            throw Self.unexpected.exit
        }
    }

    /// Sends a request and returns the answer: one line of JSON, without its line end.
    func line(_ request: ControlRequest) throws -> String {
        let body = try body(request)
        return Printable.json(
            String(
                decoding: body.last == UInt8(ascii: "\n") ? body.dropLast() : body[...],
                as: UTF8.self))
    }

    /// Why a request failed, before anything is printed.
    struct Failure: Error, Hashable {
        /// The exit status with which this program should end.
        var status: Int32
        var reply: ErrorReply
        /// Whether the daemon answered and refused the request, so that asking again changes
        /// nothing.
        var isRefusal = false

        /// The details, one per line, and then what is wrong.
        var message: String {
            (reply.details ?? []).map { $0 + "\n" }.joined() + reply.error
        }
        /// Whether no daemon answers.
        var isAway: Bool { status == 3 }
        /// Whether the daemon does not know the requested job or run.
        var isUnknown: Bool { status == 4 }
        /// Prints the error on standard error, and returns what a command throws to end.
        var exit: any Error { Connection.fail(status, message, as: reply) }

        init(_ status: Int32, _ reply: ErrorReply) {
            self.status = status
            self.reply = reply
        }

        /// The daemon answered something else than what was asked for.
        init(refusal reply: ControlClient.Reply) {
            let error = try? ControlJSON.decode(ErrorReply.self, from: reply.body)
            self.init(
                Connection.exitStatus(of: reply.status),
                error ?? ErrorReply("the daemon answered \(reply.status)"))
            isRefusal = true
        }

        init(_ failure: ControlClient.Failure) {
            switch failure {
            case .noDaemon(let why): self.init(3, ErrorReply(why, code: .noDaemon))
            case .broken(let why): self.init(1, ErrorReply(why, code: .connectionFailed))
            }
        }
    }

    /// Sends a request and returns the body of the answer. Prints an error.
    func body(_ request: ControlRequest, forChange isForChange: Bool = false) throws -> [UInt8] {
        do throws(Failure) {
            return try response(to: request, forChange: isForChange)
        } catch { throw error.exit }
    }

    /// All jobs, as a table shows them. Prints no error.
    func table() throws(Failure) -> JobTable { try value(JobTable.self, of: .list) }

    /// Sends a request and decodes the answer. Prints no error.
    func value<Value: Decodable>(
        _: Value.Type, of request: ControlRequest
    ) throws(Failure) -> Value {
        let body = try response(to: request)
        do { return try ControlJSON.decode(Value.self, from: body) } catch {
            throw Self.unexpected
        }
    }

    /// The answer does not have the form that this version expects.
    static let unexpected = Failure(
        1,
        ErrorReply(
            "unexpected response: do timerd and timerctl have the same version?",
            code: .unexpectedResponse))

    /// Throws if the daemon is stopped: a client that only reads must not start it.
    func expectRunning(_ client: ControlClient) throws(Failure) {
        guard isStandard(client.path),
            let fault = StoppedDaemon(path: client.path, manager: client.manager).fault()
        else { return }
        throw Failure(3, ErrorReply(fault, code: .noDaemon))
    }

    /// Sends a request. Throws the error if the daemon refuses it, and prints nothing.
    func response(
        to request: ControlRequest, forChange isForChange: Bool = false
    ) throws(Failure) -> [UInt8] {
        let client = client
        if !request.isChange, !isForChange { try expectRunning(client) }
        let reply: ControlClient.Reply
        do throws(ControlClient.Failure) {
            reply = try client.send(request)
        } catch {
            throw Failure(error)
        }
        guard reply.status == 200 else { throw Failure(refusal: reply) }
        return reply.body
    }

    /// Prints the value as JSON if the options ask for it, and otherwise as `text`.
    func show(_ value: some Encodable, _ text: () -> String) throws {
        guard json else { return Pager.print(text(), isAllowed: !noPager) }
        print(Printable.json(String(decoding: try ControlJSON.encode(value), as: UTF8.self)))
    }

    /// The exit status of this program for a status of HTTP.
    static func exitStatus(of status: Int) -> Int32 {
        switch status {
        case 200..<300: 0
        case 404: 4
        default: 1
        }
    }

    /// Prints an error on standard error: as JSON if the output is JSON.
    ///
    /// - Parameter reply: the error for programs; nil if there is only the message.
    static func fail(
        _ status: Int32, _ message: String, as reply: ErrorReply? = nil
    ) -> any Error {
        guard ErrorOutput.isJSON else {
            Terminal.complain("timerctl: \(message)")
            return ExitCode(status)
        }
        ErrorOutput.write(
            reply ?? ErrorReply(message, code: status == 2 ? .usage : .failed))
        return ExitCode(status)
    }
}

extension CompletionKind {
    /// Completes the names of jobs in the shell.
    static var jobNames: CompletionKind { .shellCommand("timerctl list --names 2>/dev/null") }
    /// The same for the latest runs, the latest first, and for the names of jobs.
    static var runsAndJobs: CompletionKind {
        .shellCommand("timerctl list --names 2>/dev/null; timerctl history --names 2>/dev/null")
    }
    static var runs: CompletionKind { .shellCommand("timerctl history --names 2>/dev/null") }
}

/// The name of a job as an argument.
struct JobArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The job's name.", valueName: "job"), completion: .jobNames, transform: Self.name)
    var job: Job.Name

    static func name(_ text: String) throws -> Job.Name {
        guard let name = Job.Name(text) else {
            throw ValidationError("\"\(text)\": \(Job.Name.fault(in: text) ?? "not a job name")")
        }
        return name
    }
}

/// An argument that names a job or a run. The identity of a run contains colons, which the name of
/// a job cannot have.
struct RunTarget: Hashable, Sendable {
    var job: Job.Name
    /// Nil if the argument names a job.
    var run: Run.ID?

    static func read(_ text: String) throws -> RunTarget {
        if let run = Run.ID(text) { return RunTarget(job: run.firing.job, run: run) }
        guard !text.contains(":") else { throw ValidationError(fault(in: text)) }
        return RunTarget(job: try JobArgument.name(text), run: nil)
    }

    static func run(_ text: String) throws -> Run.ID {
        guard let run = Run.ID(text) else { throw ValidationError(fault(in: text)) }
        return run
    }

    private static func fault(in text: String) -> String {
        "\"\(text)\" is not a run such as backup:20261121T055945.910612Z:1; `timerctl history` lists runs"
    }
}

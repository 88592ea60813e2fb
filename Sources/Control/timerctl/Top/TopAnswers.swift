// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization
import TimerControl
import TimerCore

/// A request of `timerctl top` to the daemon.
enum TopRequest: Sendable {
    case list
    case log(Job.Name, after: UInt64?)
    /// What is shown beside the table, or on a page.
    case detail(Job.Name)
    case command(TopCommand)
}

/// The answer to a `TopRequest`.
enum TopAnswer: Sendable {
    case list(Result<JobTable, Connection.Failure>)
    /// The request for a log, and its result.
    case log(Job.Name, after: UInt64?, Result<LogReply, Connection.Failure>)
    case detail(Result<TopDetail, Connection.Failure>)
    /// The result of a command, in a sentence.
    case command(Result<String, Connection.Failure>)
}

extension Connection {
    /// Sends a request and waits for the answer.
    func answer(_ request: TopRequest) -> TopAnswer {
        switch request {
        case .list: .list(result { () throws(Failure) in try table() })
        case .log(let job, let after):
            .log(
                job, after: after,
                result { () throws(Failure) in
                    try value(LogReply.self, of: .log(job, LogQuery(after: after)))
                })
        case .detail(let job):
            .detail(result { () throws(Failure) in try detail(of: job) })
        case .command(let command): .command(result { () throws(Failure) in try carryOut(command) })
        }
    }

    private func result<Value>(
        _ body: () throws(Failure) -> Value
    ) -> Result<Value, Failure> {
        do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
    }

    private func carryOut(_ command: TopCommand) throws(Failure) -> String {
        func send(
            _ verb: JobCommand.Verb, done: String, _ body: CommandBody = CommandBody()
        ) throws(Failure) -> String {
            let reply = try value(CommandReply.self, of: .command(verb, command.job, body))
            return Text.command(reply, done: done)
        }
        switch command.verb {
        case .pause(let note):
            var body = CommandBody()
            body.note = note
            return try send(.pause, done: "paused", body)
        case .resume: return try send(.resume, done: "resumed")
        case .run: return try send(.run, done: "run requested")
        case .retry: return try send(.retry, done: "run requested")
        case .skip(let count):
            return try send(
                .skipNext, done: SkipNextVerb.done(count), CommandBody(count: count))
        case .kill:
            let reply = try value(
                KillReply.self, of: .kill(command.job, KillQuery(), KillBody()))
            return Text.kill(reply, command.job.description, signal: nil)
        }
    }
}

/// Sends requests on a thread of its own, one after the other, so that the keys work while the
/// daemon is slow.
final class TopWorker: Sendable {
    /// Becomes readable when there is an answer.
    let descriptor: Int32
    private let writing: Int32
    private let connection: Connection
    private let queue = DispatchQueue(label: "timerctl.top")
    private let answers = Mutex<[TopAnswer]>([])

    /// Nil if the process has no free descriptor.
    init?(_ connection: Connection) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (descriptor, writing) = (ends[0], ends[1])
        self.connection = connection
    }

    deinit {
        close(descriptor)
        close(writing)
    }

    func ask(_ request: TopRequest) {
        queue.async { [self] in
            let answer = connection.answer(request)
            answers.withLock { $0.append(answer) }
            var byte: UInt8 = 0
            // If the pipe is full, it is readable already.
            _ = write(writing, &byte, 1)
        }
    }

    /// The answers since the last call. Makes the descriptor unreadable.
    func drain() -> [TopAnswer] {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(descriptor, &bytes, bytes.count) > 0 {}
        return answers.withLock { answers in
            defer { answers = [] }
            return answers
        }
    }
}

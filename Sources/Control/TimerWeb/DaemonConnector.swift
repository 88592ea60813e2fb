// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NIOPosix
import Synchronization
package import TimerControl
package import TimerHTTP

/// Sends the requests of the web server to the daemon, on separate threads: a slow daemon delays no file of the page.
package final class DaemonConnector: Sendable {
    /// How many requests are asked at the same time; further ones wait.
    private static let threads = 8
    /// The most bytes of an answer that is passed on.
    private static let replyBytesMax = 256 << 20
    /// How long an answer about the configuration is used, in nanoseconds.
    private static let freshTime: UInt64 = 5_000_000_000

    private struct Hosts {
        var names: [String] = []
        var readAt: UInt64?
        var isBeingRead = false
    }

    private let path: String
    private let pool = NIOThreadPool(numberOfThreads: DaemonConnector.threads)
    private let state = Mutex(Hosts())

    /// - Parameter path: the daemon's socket for web servers.
    package init(path: String) {
        self.path = path
        pool.start()
    }

    /// Sends a request with the key of a session or the token of a program; `done` is called once, on another thread.
    package func ask(
        _ request: ControlRequest, _ credentials: Credentials,
        _ done: @escaping @Sendable (Result<ControlClient.Reply, ControlClient.Failure>) -> Void
    ) {
        var asking = client(credentials)
        if let type = request.contentType { asking.headers.append(("Accept", type)) }
        let asked = asking
        pool.submit { state in
            guard case .active = state else {
                return done(.failure(.broken("the web server is stopping")))
            }
            do throws(ControlClient.Failure) {
                done(.success(try asked.sendOnce(request)))
            } catch {
                done(.failure(error))
            }
        }
    }

    private func client(_ credentials: Credentials) -> ControlClient {
        var client = ControlClient(path: path)
        client.replyBytesMax = Self.replyBytesMax
        switch credentials {
        case .none: break
        case .session(let key): client.headers = [(Credentials.sessionHeader, key)]
        case .token(let token): client.headers = [("Authorization", "Bearer \(token)")]
        }
        return client
    }

    /// The hosts under which a reverse proxy serves the page, from the last answer; the next answer is requested in the
    /// background.
    package func hosts() -> [String] {
        let now = DispatchTime.now().uptimeNanoseconds
        let (names, isStale) = state.withLock { state in
            let isStale =
                !state.isBeingRead && state.readAt.map { now - $0 > Self.freshTime } ?? true
            if isStale { state.isBeingRead = true }
            return (state.names, isStale)
        }
        if isStale { ask(.web, .none) { self.handle($0) } }
        return names
    }

    /// Asks for the hosts, and waits for that.
    package func learnHosts() {
        let done = DispatchSemaphore(value: 0)
        ask(.web, .none) { result in
            self.handle(result)
            done.signal()
        }
        _ = done.wait(timeout: .now() + .seconds(2))
    }

    private func handle(_ result: Result<ControlClient.Reply, ControlClient.Failure>) {
        let reply: WebReply? =
            if case .success(let answer) = result, answer.status == 200 {
                try? ControlJSON.decode(WebReply.self, from: answer.body)
            } else { nil }
        state.withLock { state in
            state.isBeingRead = false
            state.readAt = DispatchTime.now().uptimeNanoseconds
            // If the daemon is down, the last answer is still used.
            if let reply { state.names = reply.hosts }
        }
    }
}

extension DaemonConnector: EventHub.Source {
    package func stream(
        _ query: EventQuery, _ credentials: Credentials, each: (ServerSentEvent) -> Bool
    ) -> Result<ControlClient.StreamEnd, ControlClient.Failure> {
        do throws(ControlClient.Failure) {
            return .success(try client(credentials).stream(.events(query), each: each))
        } catch {
            return .failure(error)
        }
    }

    package func isKnown(_ credentials: Credentials) -> Bool? {
        guard let reply = try? client(credentials).sendOnce(.session) else { return nil }
        return reply.status == 200 ? true : reply.status == 401 ? false : nil
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import NIOHTTP1
package import TimerControl
package import TimerHTTP

/// Answers browsers: the files of the page by itself, and everything else with answers of the daemon. A request that
/// was read completely and that browsers may send is encoded again for the daemon; no bytes of a browser are passed on.
package struct WebResponder: RequestResponder {
    /// Sends a request to the daemon with the key of a session.
    package typealias Ask =
        @Sendable (
            _ request: ControlRequest, _ credentials: Credentials,
            _ done: @escaping @Sendable (Result<ControlClient.Reply, ControlClient.Failure>) -> Void
        ) -> Void

    let rules: WebRules
    let page: WebPage
    /// The hosts under which a reverse proxy serves the page, as far as they are known.
    let hosts: @Sendable () -> [String]
    let ask: Ask
    /// Lets a user who is logged in follow the events.
    let follow: @Sendable (EventQuery, Credentials) -> ControlAnswer

    package init(
        rules: WebRules, page: WebPage, hosts: @escaping @Sendable () -> [String],
        ask: @escaping Ask,
        follow: @escaping @Sendable (EventQuery, Credentials) -> ControlAnswer
    ) {
        self.rules = rules
        self.page = page
        self.hosts = hosts
        self.ask = ask
        self.follow = follow
    }

    package var limitsUnread: Bool { true }

    package func bodyBytesMax(of head: HTTPRequestHead) -> Int {
        head.method == .POST ? WebRules.bodyBytesMax : 0
    }

    package func refusal(of head: HTTPRequestHead) -> ControlAnswer? {
        rules.refusal(of: head, hosts: hosts())
    }

    package func finished(_ answer: ControlAnswer) -> ControlAnswer { WebRules.finished(answer) }

    package func answer(
        _ head: HTTPRequestHead, body: [UInt8], reply: @escaping ControlAnswer.Reply
    ) {
        switch WebRules.place(of: head.uri) {
        case .file:
            let path = head.uri.prefix { $0 != "?" }
            guard let file = page.file(at: path) else {
                return reply(.error(.notFound, "there is nothing here; the status page is at /"))
            }
            reply(file.answer(known: head.headers["If-None-Match"]))
        case .login: logIn(head, reply)
        case .api: pass(head, body, reply)
        }
    }

    // MARK: - Login

    private func logIn(_ head: HTTPRequestHead, _ reply: @escaping ControlAnswer.Reply) {
        let prefix = "/login?token="
        let token = head.uri.hasPrefix(prefix) ? head.uri.dropFirst(prefix.count) : ""
        guard Credentials.isKey(token) else { return reply(Self.usedLink) }
        let host = WebRules.host(of: head.headers) ?? ""
        ask(.login(LoginBody(token: String(token))), .none) { result in
            switch result {
            case .failure(let failure): reply(Self.answer(to: failure))
            case .success(let answer):
                guard answer.status == 200,
                    let login = try? ControlJSON.decode(LoginReply.self, from: answer.body),
                    Credentials.isKey(login.session)
                else { return reply(answer.status == 401 ? Self.usedLink : Self.answer(answer)) }
                var redirect = ControlAnswer(.seeOther, text: [])
                redirect.contentType = "text/html; charset=utf-8"
                redirect.headers = [("Location", "/"), rules.cookie(login.session, for: host)]
                reply(redirect)
            }
        }
    }

    private static var usedLink: ControlAnswer {
        let text = """
            <!doctype html><html lang="en"><meta charset="utf-8"><title>timerd</title>
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark"><link rel="icon" type="image/svg+xml" href="/icon.svg"><link rel="stylesheet" href="/app.css"><main>
            <h1>This link cannot be used</h1>
            <p>A link can be used once, within 60 seconds. Run <code>timerctl web</code> for another one.</p></main></html>

            """
        var answer = ControlAnswer(.unauthorized, text: Array(text.utf8))
        answer.contentType = "text/html; charset=utf-8"
        return answer
    }

    // MARK: - The control API

    private func pass(
        _ head: HTTPRequestHead, _ body: [UInt8], _ reply: @escaping ControlAnswer.Reply
    ) {
        let request: ControlRequest
        do throws(ControlRequest.Fault) {
            request = try ControlRequest(head, body: body)
        } catch {
            return reply(.fault(error))
        }
        let access = request.endpoint.access
        guard access.isForBrowsers, access != .beforeLogin else {
            return reply(ControlAnswer.elsewhere)
        }
        let credentials = rules.credentials(of: head.headers)
        guard credentials != .none else { return reply(ControlAnswer.unauthorized) }
        let host = WebRules.host(of: head.headers) ?? ""
        // All browsers share one stream of the daemon; here the daemon only checks the session.
        let followed = request.values(of: ControlRequest.events)?.query
        ask(followed == nil ? request : .session, credentials) { result in
            switch result {
            case .success(let found) where found.status == 200 && followed != nil:
                reply(followed.map { follow($0, credentials) } ?? Self.answer(found))
            case .failure(let failure): reply(Self.answer(to: failure))
            case .success(let found):
                var answer = Self.answer(found)
                if let type = request.contentType, found.status == 200 {
                    answer.contentType = type
                }
                if request == .logout, found.status == 200 {
                    answer.headers = [rules.cookie(nil, for: host)]
                }
                // The daemon knows the session or the token.
                answer.isForKnownClient = found.status != 401
                reply(answer)
            }
        }
    }

    /// An answer of the daemon. Although the daemon is trusted more than this process, the type of the content is not
    /// taken from its answer.
    private static func answer(_ reply: ControlClient.Reply) -> ControlAnswer {
        ControlAnswer(HTTPResponseStatus(statusCode: reply.status), text: reply.body)
    }

    private static func answer(to failure: ControlClient.Failure) -> ControlAnswer {
        switch failure {
        case .noDaemon:
            .error(
                .serviceUnavailable,
                "timerd does not answer; `systemctl status timerd` and its journal say why",
                code: .noDaemon)
        case .broken(let why): .error(.badGateway, why, code: .connectionFailed)
        }
    }
}

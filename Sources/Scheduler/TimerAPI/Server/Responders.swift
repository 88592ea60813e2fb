// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import TimerControl
import TimerDaemon
import TimerHTTP

/// Answers what comes over the control socket, with the rights of the process at the other end.
struct ControlResponder: RequestResponder {
    let service: any ControlService
    let peer: Peer

    var limitsUnread: Bool { !service.mayHaveRight(peer) }

    func bodyBytesMax(of head: HTTPRequestHead) -> Int {
        ControlRequest.bodyBytesMax(
            method: head.method.rawValue, path: head.uri, mayChange: service.mayHaveRight(peer))
    }

    /// The answer to a client that waits before it sends the body, if the body cannot change the answer.
    func refusal(of head: HTTPRequestHead) -> ControlAnswer? {
        guard head.headers.contains(name: "Expect") else { return nil }
        let methods: [String]
        do throws(ControlRequest.Fault) {
            methods = try ControlRequest.methods(at: head.uri)
        } catch {
            return .fault(error)
        }
        guard methods.contains(head.method.rawValue) else {
            return .fault(.methodNotAllowed(methods))
        }
        // Whether some commands need the right is known when their bodies are.
        let isForAll = EndpointTable.endpoints(spelled: head.uri).contains {
            $0.method == .post && !$0.access.isForOperators
        }
        return head.method == .POST && !isForAll && !service.mayHaveRight(peer)
            ? Self.forbidden : nil
    }

    func answer(
        _ head: HTTPRequestHead, body: [UInt8], reply: @escaping ControlAnswer.Reply
    ) {
        guard head.method != .OPTIONS else { return reply(.options(at: head.uri)) }
        let asked: ControlRequest
        do throws(ControlRequest.Fault) {
            asked = try ControlRequest(head, body: body)
        } catch {
            return service.refuse(head, because: error, from: peer, reply)
        }
        service.answerIfAllowed(asked, from: peer, reply)
    }

    static var forbidden: ControlAnswer {
        .error(
            .forbidden,
            "only root, the daemon's own user and the operators of the configuration may change anything; use sudo"
        )
    }

    /// The answer while it cannot be found out whether the client is an operator.
    static var unknownRight: ControlAnswer {
        .error(
            .serviceUnavailable,
            "the operators of the configuration cannot be looked up, because the user database does not answer; try "
                + "again later, or use sudo")
    }
}

/// Answers what comes over the socket of the web server. The process at the other end has no rights of its own: each
/// request shows for whom it is, by the key of a session or the token of a program.
struct WebGateway: RequestResponder {
    let service: any ControlService

    var limitsUnread: Bool { true }

    func bodyBytesMax(of head: HTTPRequestHead) -> Int {
        ControlRequest.bodyBytesMax(
            method: head.method.rawValue, path: head.uri, mayChange: peer(of: head) != nil)
    }

    func refusal(of head: HTTPRequestHead) -> ControlAnswer? {
        let isBeforeLogin = EndpointTable.endpoints(spelled: head.uri).contains {
            $0.access == .beforeLogin
        }
        return isBeforeLogin || peer(of: head) != nil ? nil : .unauthorized
    }

    func answer(
        _ head: HTTPRequestHead, body: [UInt8], reply: @escaping ControlAnswer.Reply
    ) {
        let asked: ControlRequest
        do throws(ControlRequest.Fault) {
            asked = try ControlRequest(head, body: body)
        } catch {
            let access = ControlRequest.access(method: head.method.rawValue, path: head.uri)
            if access?.isForBrowsers == false { return reply(.elsewhere) }
            guard access?.isForOperators == true, let known = peer(of: head) else {
                return reply(.fault(error))
            }
            return ifCurrent(known, reply) { peer in
                service.refuse(head, because: error, from: peer, reply)
            }
        }
        // The session may have ended since the header came.
        let known = peer(of: head)
        let access = asked.endpoint.access
        guard access.isForBrowsers else { return reply(.elsewhere) }
        guard access != .beforeLogin else {
            return service.answer(asked, from: Self.unknown, reply: reply)
        }
        guard let known else { return reply(.unauthorized) }
        // Logging out needs no right, so that it works also for a user who has lost all of them.
        guard access != .sessions else { return service.answer(asked, from: known, reply: reply) }
        ifCurrent(known, reply) { service.answerIfAllowed(asked, from: $0, reply) }
    }

    private func ifCurrent(
        _ known: Peer, _ reply: @escaping ControlAnswer.Reply,
        _ action: @escaping @Sendable (Peer) -> Void
    ) {
        service.checkUser(of: known) { finding in
            switch finding {
            case .current(let peer): action(peer)
            case .over(let reason):
                reply(.error(.unauthorized, "you are not logged in here any more: \(reason)"))
            case .unknown(let reason): reply(.error(.serviceUnavailable, reason))
            }
        }
    }

    /// A client of which nothing is known. It is not the user with this number, which no user has.
    private static var unknown: Peer {
        var peer = Peer(pid: 0, uid: UInt32.max)
        peer.origin = .program
        return peer
    }

    private func peer(of head: HTTPRequestHead) -> Peer? {
        service.peer(of: Credentials(head.headers))
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import TimerControl
import TimerCore
import TimerHTTP

/// What answers each endpoint of the table.
struct Handlers: Sendable {
    typealias Answer<Asked> =
        @Sendable (Control, Asked, Peer, @escaping ControlAnswer.Reply) -> Void

    struct Handler: Sendable {
        let needsName: Bool
        let answer: Answer<ControlRequest>
    }

    private var byEndpoint: [ObjectIdentifier: Handler] = [:]

    subscript(endpoint: any AnyEndpoint) -> Handler? { byEndpoint[ObjectIdentifier(endpoint)] }

    /// - Parameter needsName: whether the answer has the name of the user who asks. A command is
    ///   executed with the name in any case.
    mutating func on<Place, Query, Body>(
        _ endpoint: Endpoint<Place, Query, Body>, needsName: Bool = false,
        _ answer: @escaping Answer<EndpointCall<Place, Query, Body>>
    ) {
        byEndpoint[ObjectIdentifier(endpoint)] = Handler(needsName: needsName) {
            control, request, peer, reply in
            guard let asked = request.values(of: endpoint) else { return }
            answer(control, asked, peer, reply)
        }
    }

    /// The same for an endpoint that takes nothing.
    mutating func on(
        _ request: ControlRequest, needsName: Bool = false,
        _ answer: @escaping @Sendable (Control, Peer, @escaping ControlAnswer.Reply) -> Void
    ) {
        byEndpoint[ObjectIdentifier(request.endpoint)] = Handler(needsName: needsName) {
            control, _, peer, reply in answer(control, peer, reply)
        }
    }
}

extension Control {
    static let handlers: Handlers = {
        var all = Handlers()
        addJobs(to: &all)
        addCommands(to: &all)
        addRecords(to: &all)
        addDaemon(to: &all)
        addSessions(to: &all)
        return all
    }()

    private static func addJobs(to all: inout Handlers) {
        all.on(ControlRequest.list) { control, _, reply in control.listings.list(reply) }
        all.on(ControlRequest.show) { control, asked, _, reply in control.show(asked.place, reply) }
        all.on(ControlRequest.why) { control, asked, _, reply in control.why(asked.place, reply) }
        all.on(ControlRequest.log) { control, asked, _, reply in
            control.log(of: asked.place, run: asked.query.run, after: asked.query.after, reply)
        }
        all.on(ControlRequest.oneOffs) { control, asked, _, reply in
            control.oneOffs(asked.query.base, reply)
        }
        all.on(ControlRequest.slots) { control, _, reply in control.slots(reply) }
        all.on(ControlRequest.takeOneOff) { control, asked, peer, reply in
            control.loadOneOff(asked.place, by: peer, reply)
        }
        all.on(ControlRequest.cancelOneOff) { control, asked, peer, reply in
            control.cancelOneOff(asked.place, by: peer, reply)
        }
    }

    private static func addCommands(to all: inout Handlers) {
        for form in ControlRequest.commandForms {
            let verb = form.verb
            all.on(form.one) { control, asked, peer, reply in
                control.command(
                    JobCommand(verb, asked.place, by: .user(peer.name), asked.body), reply)
            }
            all.on(form.many) { control, asked, peer, reply in
                control.commands(verb, asked.body.jobs, asked.body.values, by: peer, reply)
            }
        }
        all.on(ControlRequest.kill) { control, asked, peer, reply in
            let signal = asked.body.signal.map { KillBody.name(of: $0) }
            let command = JobCommand(
                .kill, asked.place, by: .user(peer.name), run: asked.query.run, signal: signal)
            control.kill(command, reply)
        }
    }

    private static func addRecords(to all: inout Handlers) {
        all.on(ControlRequest.history) { control, asked, _, reply in
            control.history(asked.query, reply)
        }
        all.on(ControlRequest.run) { control, asked, _, reply in control.show(asked.place, reply) }
        all.on(ControlRequest.upcoming) { control, asked, _, reply in
            control.upcoming(asked.query, reply)
        }
        all.on(ControlRequest.events) { control, asked, peer, reply in
            control.follow(asked.query, from: peer, reply)
        }
        all.on(ControlRequest.recent) { control, asked, _, reply in
            control.recent(asked.query, reply)
        }
        all.on(ControlRequest.days) { control, asked, _, reply in
            control.days(of: asked.place, count: asked.query.count, reply)
        }
        all.on(ControlRequest.pauses) { control, asked, _, reply in
            control.pauses(asked.query, reply)
        }
    }

    private static func addDaemon(to all: inout Handlers) {
        all.on(ControlRequest.metrics) { control, asked, _, reply in
            control.metrics[asked.query]?.list(reply)
        }
        all.on(ControlRequest.document) { _, _, reply in reply(document) }
        all.on(ControlRequest.version) { control, _, reply in
            let about = control.about
            let answer = VersionReply(
                version: about.version, pid: about.pid, since: about.since.rfc3339Micros)
            control.send(.ok, answer, reply)
        }
        all.on(ControlRequest.hold) { control, asked, peer, reply in
            control.hold(asked.body, by: peer, reply)
        }
        all.on(ControlRequest.release) { control, peer, reply in control.release(by: peer, reply) }
        all.on(ControlRequest.previewReload) { control, _, reply in control.previews.list(reply) }
        all.on(ControlRequest.reload) { control, asked, peer, reply in
            control.reload(by: peer, isStrict: asked.query.isStrict, reply)
        }
        all.on(ControlRequest.messages) { control, asked, _, reply in
            control.messages(asked.query, reply)
        }
        all.on(ControlRequest.retryMessage) { control, asked, _, reply in
            control.retryMessage(asked.place, reply)
        }
        all.on(ControlRequest.notifiers) { control, _, reply in control.notifiers(reply) }
        all.on(ControlRequest.testNotifier) { control, asked, peer, reply in
            control.testNotifier(asked.place, dryRun: asked.query.isDryRun, by: peer, reply)
        }
        all.on(ControlRequest.fleet) { control, _, reply in control.showFleet(reply) }
        all.on(ControlRequest.fleetCommand) { control, asked, peer, reply in
            control.command(asked.body, by: peer, reply)
        }
    }

    private static func addSessions(to all: inout Handlers) {
        all.on(ControlRequest.loginLink, needsName: true) { control, peer, reply in
            control.makeLoginLink(for: peer, reply)
        }
        all.on(ControlRequest.login) { control, asked, _, reply in
            control.logIn(asked.body.token, reply)
        }
        all.on(ControlRequest.session, needsName: true) { control, peer, reply in
            control.session(of: peer, reply)
        }
        all.on(ControlRequest.logout) { control, peer, reply in control.logOut(peer, reply) }
        all.on(ControlRequest.revokeSessions, needsName: true) { control, asked, peer, reply in
            control.revokeSessions(of: asked.body, by: peer, reply)
        }
        all.on(ControlRequest.web) { control, _, reply in
            control.send(.ok, WebReply(hosts: control.access.webHosts), reply)
        }
    }
}

// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

/// What the server needs to check conditions.
struct Conditions {
    let mailbox: ConditionMailbox
    let threads: ConditionThreads
    var checks = ConditionChecks()
    var watch: MachineWatch

    init(_ machine: MachineState, _ mailbox: ConditionMailbox) {
        self.mailbox = mailbox
        threads = ConditionThreads(machine)
        watch = MachineWatch(proc: machine.proc)
    }

    /// When something may be late, or to be reported; nil if nothing can be.
    var next: Int64? { [checks.next, watch.next].compactMap { $0 }.min() }
}

/// Checks conditions for the scheduler, as the configuration says that the runner has read itself.
extension ServerLoop {
    /// Checks the condition of a run, once the configuration is read if its files have changed.
    mutating func check(_ request: CheckRequest) throws(Closing) {
        try check(
            conditions.checks.count + waiting.count + 1, settings.limits.runs,
            "checks that are not answered")
        guard conditions.checks.isNew(request) else { return }
        let hasChanged = settings.hasChanged()
        if hasChanged { readings.check() }
        let found = definition(
            for: StartRequest(request), check: request.number, hasChanged: hasChanged)
        if let found { begin(request, found) } else { readings.readUnlessUnderWay() }
    }

    /// Looks at the machine; the command follows.
    mutating func begin(_ request: CheckRequest, _ definition: Definition) {
        // The scheduler has an older definition, which had a condition.
        guard let condition = definition.execution.condition else { return answer(request, .yes) }
        let now = RunnerClock.awake()
        conditions.checks.begin(request, condition, definition, at: now)
        // Before the thread looks, so that every change after that is reported.
        if condition.otherwise == .wait { conditions.watch.watch(condition.watched, at: now) }
        let mailbox = conditions.mailbox
        conditions.threads.look(
            condition, of: definition.execution.user,
            until: now + Condition.timeout.wholeNanoseconds
        ) { answer in
            mailbox.post(.looked(request.run, number: request.number, answer))
        }
    }

    /// Handles what other threads have found out, and what has taken too long.
    mutating func followChecks() {
        for message in conditions.mailbox.drain() {
            switch message {
            case .looked(let run, let number, let answer):
                if let reply = conditions.checks.didLook(run, number: number, answer) {
                    self.answer(reply.0, reply.1)
                }
            case .began(let command):
                // It was started by a runner that is gone, and its answer is of no use.
                if !conditions.checks.knows(command) { runner.end(command, grace: .zero) }
            case .ended(let command, let outcome, let line):
                let reply = conditions.checks.didEnd(command, outcome, line: line)
                runner.forget(command)
                if let reply { answer(reply.0, reply.1) }
            }
        }
        let now = RunnerClock.awake()
        let changed = conditions.watch.drain(at: now)
        if !changed.isEmpty { send(.machineChanged(changed)) }
        for (request, reply) in conditions.checks.takeLate(at: now) { answer(request, reply) }
        let requests = conditions.checks.takeStarts(at: now, wall: RunnerClock.wall()).map {
            start in
            var request = RunRequest(
                id: start.run, definition: start.definition, missed: 0, active: .zero)
            request.checked = start.checked
            return request
        }
        if !requests.isEmpty { runner.start(requests) }
    }

    /// Sends an answer. Without a connection it is dropped: the scheduler asks again on the next one.
    func answer(_ request: CheckRequest, _ answer: Condition.Answer) {
        send(.checked(request.run, number: request.number, answer))
    }

    private func send(_ reply: WireReply) {
        guard isConnected else { return }
        connection?.socket.send(reply.bytes)
    }
}

extension StartRequest {
    /// What is needed to find the definition.
    init(_ request: CheckRequest) {
        self.init(run: request.run, fingerprint: request.fingerprint, missed: 0, active: .zero)
    }
}

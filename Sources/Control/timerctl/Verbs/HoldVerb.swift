// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore
import TimerZones

struct HoldVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Hold this machine: start no run of any job until it is released.",
        discussion: """
            Jobs that are loaded later are held too. As in a pause, no elapsed time counts, and active runs continue. \
            The hold survives restarts of the daemon and of the machine, and reloads of the configuration. If the \
            machine is already held, the given options change its hold, and the others stay as they are. \
            `timerctl release` ends it.
            """)
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection
    @OptionGroup var terms: PauseTerms

    func run() throws {
        let reply = try connection.ask(.hold(try terms.body()), for: HoldReply.self)
        try connection.show(reply) { Text.held(reply) }
    }
}

struct ReleaseVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "release", abstract: "Release this machine after a hold.",
        discussion: """
            Each job continues as after a pause: as its on-resume says. Jobs that a user has paused stay paused.
            """)
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection

    func run() throws {
        let reply = try connection.ask(.release, for: HoldReply.self)
        try connection.show(reply) { reply.changed ? "released" : reply.reason ?? "not held" }
    }
}

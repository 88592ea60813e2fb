// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// The users whose jobs can run.
extension ConfinementTests {
    @Test func withAllowedUsersAJobMustNameItsUser() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let name = Account.current().name
        fixture.runner.allow(AllowedUsers(users: [name], groups: []))
        #expect(
            fixture.shell("exit 3").outcome.description
                == "spawn-failed(EPERM, run as \(name): allowed-users is set, so the job must name its user)"
        )
        fixture.runner.allow(nil)
        #expect(fixture.shell("exit 3").outcome == .exited(3))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func onlyAllowedUsersRun() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        func outcome(_ user: String, group: String? = nil) -> String {
            let request = fixture.request(.shell("exit 3"), in: "/") {
                $0.user = user
                $0.group = group
            }
            return fixture.run(request).outcome.description
        }
        let refused = "spawn-failed(EPERM, run as daemon, who is not one of allowed-users)"
        fixture.runner.allow(AllowedUsers(users: ["nobody"], groups: []))
        #expect(outcome("nobody") == "exited(3)")
        #expect(outcome("daemon") == refused)
        #expect(outcome("root") == refused.replacing("daemon", with: "root"))
        fixture.runner.allow(AllowedUsers(users: [], groups: ["root", "nogroup"]))
        #expect(outcome("nobody") == "exited(3)")
        #expect(outcome("root") == "exited(3)")
        #expect(outcome("daemon") == refused)
        // A group that the job itself declares does not count.
        #expect(outcome("daemon", group: "nogroup") == refused)
        fixture.runner.allow(AllowedUsers(users: ["nobody"], groups: ["no-such-group"]))
        #expect(outcome("nobody") == "exited(3)")
        #expect(outcome("daemon") == "spawn-failed(ENOENT, look up the group \"no-such-group\")")
    }
}

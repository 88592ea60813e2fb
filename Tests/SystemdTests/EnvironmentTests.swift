// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

import Systemd
@testable import SystemdActivation

/// What a service manager passes to a process. Each test runs in its own process, because the
/// environment and descriptor 3 belong to the whole process.
@Suite struct EnvironmentTests {
    @Test func withoutAManagerNothingIsPassed() async {
        await #expect(processExitsWith: .success) {
            let environment = take([:])
            #expect(!environment.notify.isSupervised)
            #expect(environment.watchdogInterval == nil && environment.sockets.isEmpty)
        }
    }

    @Test func anEmptyNotifySocketCountsAsUnset() async {
        await #expect(processExitsWith: .success) {
            #expect(!take(["NOTIFY_SOCKET": ""]).notify.isSupervised)
        }
    }

    @Test func everythingIsRemovedFromTheEnvironment() async {
        await #expect(processExitsWith: .success) {
            let environment = take([
                "NOTIFY_SOCKET": "/run/nobody", "WATCHDOG_USEC": "3000000",
                "WATCHDOG_PID": "\(getpid())",
                // It is meant for another process: neither for this one nor for its children.
                "LISTEN_PID": "1", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "control",
            ])
            #expect(environment.watchdogInterval == .seconds(3))
            #expect(environment.notify.isSupervised && environment.sockets.isEmpty)
        }
    }

    /// The result for WATCHDOG_USEC= and WATCHDOG_PID= (sd_watchdog_enabled(3)).
    @Test func theWatchdogIntervalIsUsedOnlyForThisProcess() async {
        await #expect(processExitsWith: .success) {
            let own = "\(getpid())"
            let table: [(String?, String?, Duration?)] = [
                (nil, nil, nil), (nil, own, nil), ("1500000", nil, .milliseconds(1500)),
                ("1500000", own, .milliseconds(1500)), ("1500000", "1", nil),
                ("1500000", "me", nil), ("0", own, nil), ("-5", own, nil), ("soon", own, nil),
                ("", own, nil), ("18446744073709551615", own, nil),
            ]
            for (microseconds, pid, interval) in table {
                var variables: [String: String] = [:]
                variables["WATCHDOG_USEC"] = microseconds
                variables["WATCHDOG_PID"] = pid
                #expect(
                    take(variables).watchdogInterval == interval,
                    "\(microseconds ?? "unset") for \(pid ?? "anybody")")
            }
        }
    }

    @Test func socketsHaveNamesAndTypesAndAreClosedOnExec() async {
        await #expect(processExitsWith: .success) {
            withInheritedSockets { listening, datagram in
                let sockets = take([
                    "LISTEN_PID": "\(getpid())", "LISTEN_FDS": "2",
                    "LISTEN_FDNAMES": "control:other",
                ]).sockets
                #expect(sockets.map(\.descriptor) == [listening, datagram])
                #expect(sockets.map(\.name) == ["control", "other"])
                #expect(sockets.named("control").map(\.descriptor) == [listening])
                #expect(sockets.named("absent").isEmpty)
                #expect(sockets.map(\.isListeningUnixStream) == [true, false])
                for socket in sockets {
                    #expect(fcntl(socket.descriptor, F_GETFD) & FD_CLOEXEC != 0)
                }
            }
        }
    }

    @Test func socketsWithoutNamesAreUnknown_andTwoMayShareOne() async {
        await #expect(processExitsWith: .success) {
            withInheritedSockets { _, _ in
                let own = "\(getpid())"
                #expect(
                    take(["LISTEN_PID": own, "LISTEN_FDS": "2"]).sockets.map(\.name)
                        == ["unknown", "unknown"])
                let shared = take([
                    "LISTEN_PID": own, "LISTEN_FDS": "2", "LISTEN_FDNAMES": "control:control",
                ])
                #expect(shared.sockets.named("control").map(\.descriptor) == [3, 4])
            }
        }
    }

    @Test func invalidVariablesPassNothing() async {
        await #expect(processExitsWith: .success) {
            let own = "\(getpid())"
            for (pid, count) in [
                ("me", "1"), ("", "1"), (own, "many"), (own, "-1"), (own, "0"), (own, ""),
                (own, "99999999999"),
            ] {
                #expect(
                    take(["LISTEN_PID": pid, "LISTEN_FDS": count]).sockets.isEmpty,
                    "\(count) for \(pid)")
            }
        }
    }
}

/// Every variable of the protocols; each must be removed afterwards.
private let variableNames = [
    "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
]

/// Reads the environment with only these variables of the manager set.
private func take(_ variables: [String: String]) -> SupervisorEnvironment {
    for name in variableNames { unsetenv(name) }
    for (name, value) in variables { setenv(name, value, 1) }
    let environment = SupervisorEnvironment.take()
    for name in variableNames { #expect(getenv(name) == nil, "\(name) is left for children") }
    return environment
}

/// Creates a listening stream socket and a datagram socket at 3 and 4, like a manager. The previous
/// descriptors, perhaps the testing library's own pipe, are restored afterwards.
private func withInheritedSockets(_ body: (Int32, Int32) -> Void) {
    // Far from 3, so that no new or saved descriptor gets these numbers.
    let saved = [Int32(3), 4].map { ($0, fcntl($0, F_DUPFD_CLOEXEC, Int32(100))) }
    for (place, type) in [(Int32(3), SOCK_STREAM), (4, SOCK_DGRAM)] {
        let made = socket(AF_UNIX, Int32(type.rawValue), 0)
        if type == SOCK_STREAM {
            // If only the family is bound, the kernel chooses an abstract name (unix(7)).
            var name = sockaddr()
            name.sa_family = sa_family_t(AF_UNIX)
            #expect(bind(made, &name, socklen_t(MemoryLayout<sa_family_t>.size)) == 0)
            #expect(listen(made, 1) == 0)
        }
        let far = fcntl(made, F_DUPFD, Int32(200))
        if made != place { close(made) }
        #expect(dup2(far, place) == place)
        close(far)
    }
    body(3, 4)
    for (place, copy) in saved {
        if copy >= 0 { dup2(copy, place) } else { close(place) }
    }
}

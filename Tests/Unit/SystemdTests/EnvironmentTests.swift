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
            let sockets = withInheritedSockets {
                take([
                    "LISTEN_PID": "\(getpid())", "LISTEN_FDS": "2",
                    "LISTEN_FDNAMES": "control:other",
                ]).sockets.map {
                    TakenSocket(
                        $0, closesOnExec: fcntl($0.descriptor, F_GETFD) & FD_CLOEXEC != 0)
                }
            }
            #expect(sockets.map(\.descriptor) == [3, 4])
            #expect(sockets.map(\.name) == ["control", "other"])
            #expect(sockets.map(\.isListening) == [true, false])
            #expect(sockets.map(\.closesOnExec) == [true, true])
        }
    }

    @Test func socketsWithoutNamesAreUnknown_andTwoMayShareOne() async {
        await #expect(processExitsWith: .success) {
            let own = "\(getpid())"
            let unnamed = withInheritedSockets {
                take(["LISTEN_PID": own, "LISTEN_FDS": "2"]).sockets
            }
            #expect(unnamed.map(\.name) == ["unknown", "unknown"])
            let shared = withInheritedSockets {
                take([
                    "LISTEN_PID": own, "LISTEN_FDS": "2", "LISTEN_FDNAMES": "control:control",
                ]).sockets
            }
            #expect(shared.named("control").map(\.descriptor) == [3, 4])
            #expect(shared.named("absent").isEmpty)
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

/// A socket as it was when it was taken: the descriptor is valid only then.
private struct TakenSocket {
    let descriptor: Int32
    let name: String
    let isListening: Bool
    let closesOnExec: Bool

    init(_ socket: ListenSocket, closesOnExec: Bool) {
        descriptor = socket.descriptor
        name = socket.name
        isListening = socket.isListeningUnixStream
        self.closesOnExec = closesOnExec
    }
}

/// Runs the body with a listening stream socket and a datagram socket at 3 and 4, as from a manager.
/// The previous descriptors, perhaps the testing library's own pipe, are restored afterwards. If
/// another thread closes one of these numbers meanwhile, because it had a file of its own there, the
/// result does not count, and the body runs again.
private func withInheritedSockets<Result>(_ body: () -> Result) -> Result {
    while true {
        // Far from 3, so that no new or saved descriptor gets these numbers.
        let saved = [Int32(3), 4].map { ($0, fcntl($0, F_DUPFD_CLOEXEC, Int32(100))) }
        let sockets = [(Int32(3), makeSocket(SOCK_STREAM)), (4, makeSocket(SOCK_DGRAM))]
        for (place, socket) in sockets { #expect(dup2(socket, place) == place) }
        let result = body()
        let areThere = sockets.allSatisfy { inode($0) != nil && inode($0) == inode($1) }
        for (place, copy) in saved {
            if copy >= 0 { dup2(copy, place) } else { close(place) }
        }
        for (_, socket) in sockets { close(socket) }
        if areThere { return result }
    }
}

/// A socket with a descriptor far from 3; one for streams listens.
private func makeSocket(_ type: __socket_type) -> Int32 {
    let made = socket(AF_UNIX, Int32(type.rawValue), 0)
    defer { close(made) }
    if type == SOCK_STREAM {
        // If only the family is bound, the kernel chooses an abstract name (unix(7)).
        var name = sockaddr()
        name.sa_family = sa_family_t(AF_UNIX)
        #expect(bind(made, &name, socklen_t(MemoryLayout<sa_family_t>.size)) == 0)
        #expect(listen(made, 1) == 0)
    }
    return fcntl(made, F_DUPFD, Int32(200))
}

/// The number of the file behind a descriptor; nil if it is closed.
private func inode(_ descriptor: Int32) -> UInt? {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? UInt(status.st_ino) : nil
}
